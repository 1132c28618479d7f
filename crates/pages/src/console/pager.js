// Builds page links and a page number field.

import { count, element } from "./elements.js";

/** Returns links to the first, previous, next and last page, and a field for the page number. `href` returns the address of a page. */
export function pager(current, last, href) {
  const link = (text, page, isUseful) =>
    element("li", {}, isUseful ? element("a", { href: href(page) }, text) : element("span", { class: "none" }, text));
  const number = element("input", { type: "number", min: 1, max: last, value: current, "aria-label": "Page", inputmode: "numeric" });
  const jump = element("form", { novalidate: true, on: { submit: (event) => {
    event.preventDefault();
    const page = Math.trunc(Number(number.value));
    if (page >= 1) location.hash = href(Math.min(page, last));
    else number.reportValidity();
  } } }, "Page ", number, ` of ${count(last)}`);
  return element("nav", { class: "pager", "aria-label": "Pages" }, element("ul", {},
    link("First", 1, current > 1),
    link("Previous", Math.min(current - 1, last), current > 1),
    element("li", {}, last > 1 ? jump : "Page 1 of 1"),
    link("Next", current + 1, current < last),
    link("Last", last, current < last)));
}
