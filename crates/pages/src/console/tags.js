// Shows a list as chips with remove buttons, and a field for the next entry.

import { element, value } from "./elements.js";

/**
 * Returns the control for a list of strings. `set` and `get` use JSON text. The field's value counts as the last entry. `one` and `many`
 * name the entries, and `shown` returns an entry's text.
 */
export function chipsControl(input, one, many, shown = (entry) => entry) {
  const list = element("ul", { "aria-label": `Chosen ${many}` });
  let entries = [];
  const get = () => JSON.stringify([...new Set([...entries, input.value.trim()])].filter((entry) => entry !== ""));
  function set(text) {
    entries = JSON.parse(text);
    input.value = "";
    list.hidden = entries.length === 0;
    list.replaceChildren(...entries.map((entry) => element("li", {}, value(shown(entry)), element("button", { type: "button", needs: "cases", "aria-label": `Remove the ${one} ${shown(entry)}`, on: { click: () => {
      set(JSON.stringify(JSON.parse(get()).filter((other) => other !== entry)));
      input.focus();
    } } }, "×"))));
  }
  return { input, list, get, set };
}

/** Lists tags in a sentence. Quotes tags that contain a comma. */
export function tagsText(tags) {
  return tags.map((tag) => (tag.includes(",") ? `“${tag}”` : tag)).join(", ");
}

/** Returns the control for tags. Enter adds the typed tag, and Backspace removes the last tag. */
export function tagsControl() {
  const input = element("input", { type: "text", autocomplete: "off", placeholder: "Add a tag", enterkeyhint: "done", on: {
    keydown: (event) => {
      if (event.key === "Enter" && !event.isComposing && input.value.trim() !== "") {
        event.preventDefault();
        control.set(control.get());
      } else if (event.key === "Backspace" && input.value === "" && !event.repeat) {
        control.set(JSON.stringify(JSON.parse(control.get()).slice(0, -1)));
      }
    },
  } });
  const control = chipsControl(input, "tag", "tags");
  return control;
}
