// Builds menus: boxes over the page that a button opens.

import { element } from "./elements.js";

/** Returns a menu, and a function that closes it. Escape and leaving the menu also close it. */
export function menu(title, ...content) {
  const summary = element("summary", { class: "button" }, title);
  const node = element("details", { class: "menu" }, summary, element("div", { class: "menu-body", role: "group", "aria-label": title }, content));
  const close = () => {
    node.open = false;
    summary.focus();
  };
  node.addEventListener("keydown", (event) => event.key === "Escape" && node.open && close());
  node.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !node.contains(/** @type {Node} */ (event.relatedTarget))) node.open = false;
  });
  return { node, close };
}
