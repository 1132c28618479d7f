// Links between pages.

import { count, element } from "./elements.js";

/** Links to the first, previous, next and last page, and where one is. `href` returns the address of a page. */
export function pager(current, last, href) {
  const link = (text, page, isUseful) =>
    element("li", {}, isUseful ? element("a", { href: href(page) }, text) : element("span", { class: "none" }, text));
  return element("nav", { class: "pager", "aria-label": "Pages" }, element("ul", {},
    link("First", 1, current > 1),
    link("Previous", Math.min(current - 1, last), current > 1),
    element("li", {}, `Page ${count(current)} of ${count(last)}`),
    link("Next", current + 1, current < last),
    link("Last", last, current < last)));
}
