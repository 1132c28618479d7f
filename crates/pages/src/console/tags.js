// Shows tags as chips with remove buttons, and a field for the next tag.

import { element, value } from "./elements.js";

/** Returns the control for a tag list. `set` and `get` use JSON text. Typed text counts as the last tag. */
export function tagsControl() {
  const input = element("input", { type: "text", autocomplete: "off", placeholder: "Add a tag", enterkeyhint: "done", on: {
    keydown: (event) => {
      if (event.key === "Enter" && !event.isComposing && input.value.trim() !== "") {
        event.preventDefault();
        set(get());
      } else if (event.key === "Backspace" && input.value === "" && tags.length > 0) {
        set(JSON.stringify(tags.slice(0, -1)));
      }
    },
  } });
  const list = element("ul", { "aria-label": "Chosen tags" });
  let tags = [];
  const get = () => JSON.stringify([...tags, input.value.trim()].filter((tag, index, all) => tag !== "" && all.indexOf(tag) === index));
  function set(text) {
    tags = JSON.parse(text);
    input.value = "";
    list.hidden = tags.length === 0;
    list.replaceChildren(...tags.map((tag) => element("li", {}, value(tag), element("button", { type: "button", "aria-label": `Remove the tag ${tag}`, on: { click: () => {
      set(JSON.stringify(JSON.parse(get()).filter((other) => other !== tag)));
      input.focus();
    } } }, "×"))));
  }
  return { input, list, get, set };
}
