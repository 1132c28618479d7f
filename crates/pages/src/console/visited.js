// Remembers the last address of each list with its filters, so records can link back to it.

import { element } from "./elements.js";

const NAMES = { affiliates: "affiliates", urls: "URLs", cases: "cases" };
const last = new Map();

export function remember(hash) {
  const section = hash.replace(/^#\/?/, "").split("?")[0];
  if (section in NAMES) last.set(section, hash);
}

/** Forgets all addresses at the end of a session. */
export function forgetVisited() {
  last.clear();
}

/** Returns a link back to the last state of a list. */
export function backLink(section) {
  const hash = last.get(section) ?? `#/${section}`;
  return element("a", { href: hash, class: "back" }, element("span", { "aria-hidden": "true" }, "← "),
    hash.includes("?") ? `Back to the ${NAMES[section]}` : `All ${NAMES[section]}`);
}
