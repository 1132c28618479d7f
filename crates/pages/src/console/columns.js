// Lets users choose list columns. The browser stores column names for each list, but no record data.

import { element } from "./elements.js";

const KEY = (list) => `compliance-columns-${list}`;

/** Returns the chosen columns that still exist, or the default columns. The first column opens the record, so it is always shown. */
export function chosenColumns(list, known, initial) {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY(list)));
    if (Array.isArray(kept)) {
      const names = known.filter((name, index) => index === 0 || kept.includes(name));
      if (names.length > 1) return names;
    }
  } catch {
    // Storage is disabled, or contains invalid data.
  }
  return initial;
}

function keep(list, names) {
  try {
    if (names === null) localStorage.removeItem(KEY(list));
    else localStorage.setItem(KEY(list), JSON.stringify(names));
  } catch {
    // If storage is disabled or full, the choice applies only to this view.
  }
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
    keep(list, chosen);
    onChange(chosen);
  };
  const items = known.slice(1).map(([name, text]) => {
    const box = element("input", { type: "checkbox", on: { change: changed } });
    boxes.set(name, box);
    return element("li", {}, element("label", {}, box, text));
  });
  set(chosenColumns(list, names, initial));
  const reset = element("button", { type: "button", on: { click: () => {
    keep(list, null);
    set(initial);
    onChange(initial);
  } } }, "Reset");
  const details = element("details", { class: "menu" }, element("summary", {}, "Columns"),
    element("div", { class: "menu-body", role: "group", "aria-label": "Columns" }, element("ul", {}, items), reset));
  const close = () => {
    details.open = false;
    details.querySelector("summary").focus();
  };
  details.addEventListener("keydown", (event) => event.key === "Escape" && details.open && close());
  details.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !details.contains(/** @type {Node} */ (event.relatedTarget))) details.open = false;
  });
  return details;
}
