// The filters that apply, each with a way to remove it.

import { element } from "./elements.js";

/** Chips: `filters` have a `text` and an `href`, the address without the filter. Null if there are none. */
export function chips(filters, clearAll) {
  if (filters.length === 0) return null;
  return element("div", { class: "chips" },
    element("ul", { "aria-label": "Filters that apply" }, filters.map(({ text, href }) =>
      element("li", {}, element("bdi", {}, text),
        element("a", { href, title: "Remove", "aria-label": `Remove the filter ${text}` }, element("span", { "aria-hidden": "true" }, "×"))))),
    filters.length > 1 && element("a", { href: clearAll, class: "quiet" }, "Remove all"));
}
