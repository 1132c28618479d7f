// Shows the active filters as chips, each with a link that removes the filter.

import { element } from "./elements.js";

/** Returns chips for the filters, or null if there are none. A filter's `href` is the address without that filter. */
export function chips(filters) {
  if (filters.length === 0) return null;
  return element("div", { class: "chips" },
    element("ul", { "aria-label": "Active filters" }, filters.map(({ text, href }) =>
      element("li", {}, element("bdi", {}, text),
        element("a", { href, title: "Remove", "aria-label": `Remove the filter ${text}` }, element("span", { "aria-hidden": "true" }, "×"))))));
}
