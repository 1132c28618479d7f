// Lets users choose list columns. The browser stores column names for each list, but no record data.

import { element } from "./elements.js";
import { menu } from "./menu.js";
import { store, stored } from "./storage.js";

const KEY = (list) => `compliance-columns-${list}`;

/** Returns the chosen columns that still exist, or the default columns. The first column opens the record, so it is always shown. */
export function chosenColumns(list, known, initial) {
  const kept = stored(KEY(list));
  if (!Array.isArray(kept)) return initial;
  const names = known.filter((name, index) => index === 0 || kept.includes(name));
  return names.length > 1 ? names : initial;
}

/** Returns a column chooser. `known` contains pairs of name and label. `onChange` receives the chosen names in the order of `known`. */
export function columnChooser(list, known, initial, onChange) {
  const names = known.map(([name]) => name);
  const boxes = new Map();
  const set = (chosen) => {
    for (const [name, box] of boxes) box.checked = chosen.includes(name);
  };
  const changed = () => {
    const chosen = names.filter((name, index) => index === 0 || boxes.get(name).checked);
    // If storage is disabled or full, the choice applies only to this view.
    store(KEY(list), chosen);
    onChange(chosen);
  };
  const items = known.slice(1).map(([name, text]) => {
    const box = element("input", { type: "checkbox", on: { change: changed } });
    boxes.set(name, box);
    return element("li", {}, element("label", {}, box, text));
  });
  set(chosenColumns(list, names, initial));
  const all = element("button", { type: "button", on: { click: () => {
    set(names);
    changed();
  } } }, "Select all");
  const reset = element("button", { type: "button", on: { click: () => {
    store(KEY(list), null);
    set(initial);
    onChange(initial);
  } } }, "Reset");
  return menu("Columns", element("ul", {}, items), element("p", { class: "actions" }, all, reset)).node;
}
