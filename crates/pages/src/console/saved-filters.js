// Saves a list's filters under names. The browser stores them per company.

import { announce, element } from "./elements.js";
import { menu } from "./menu.js";
import { claims } from "./session.js";
import { store, stored } from "./storage.js";

const KEY = (section) => `compliance-filters-${claims().company}-${section}`;
const LONGEST = 60;

/** Returns the saved filters: pairs of name and query. */
function read(section) {
  const kept = stored(KEY(section));
  return Array.isArray(kept) ? kept.filter((pair) => Array.isArray(pair) && pair.length === 2 && pair.every((part) => typeof part === "string")) : [];
}

/** Returns the current list's filters, without the page number. */
function current() {
  const query = new URLSearchParams(location.hash.split("?")[1] ?? "");
  query.delete("page");
  return String(query);
}

/** Returns a menu that applies, saves and deletes filters of `affiliates`, `urls` or `cases`, or null if the token contains no company. */
export function savedFilters(section) {
  if (claims().company === null) return null;
  const list = element("ul", {});
  const none = element("p", { class: "hint" }, "You have no saved filters yet.");
  const input = element("input", { type: "text", "aria-label": "Name for these filters", placeholder: "Name for these filters", maxlength: LONGEST, autocomplete: "off" });
  const render = () => {
    const pairs = read(section);
    none.hidden = pairs.length > 0;
    list.hidden = pairs.length === 0;
    list.replaceChildren(...pairs.map(([name, query]) => element("li", {},
      element("a", { href: `#/${section}${query === "" ? "" : `?${query}`}`, on: { click: close } }, element("bdi", {}, name)),
      element("button", { type: "button", "aria-label": `Delete ${name}`, on: { click: () => {
        const rest = read(section).filter(([other]) => other !== name);
        store(KEY(section), rest.length > 0 ? rest : null);
        render();
        announce(`${name}: deleted`);
        input.focus();
      } } }, "Delete"))));
  };
  const save = (event) => {
    event.preventDefault();
    const name = input.value.trim();
    if (name === "") {
      announce("Enter a name.");
      input.focus();
      return;
    }
    const others = read(section).filter(([other]) => other !== name);
    const pairs = [...others, [name, current()]].sort(([one], [other]) => one.localeCompare(other, "en"));
    announce(store(KEY(section), pairs) ? `${name}: saved` : "This browser cannot save filters.");
    input.value = "";
    render();
  };
  const form = element("form", { novalidate: true, "aria-label": "Save filters", on: { submit: save } }, input, element("button", { type: "submit" }, "Save"));
  const { node, close } = menu("Saved filters", none, list, form);
  node.classList.add("saved");
  node.addEventListener("toggle", () => node.open && render());
  render();
  return node;
}
