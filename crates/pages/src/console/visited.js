// The last address of each list with its filters, so that a record links back to the list that it was opened from.

import { element } from "./elements.js";

const NAMES = { affiliates: "affiliates", urls: "URLs", cases: "cases" };
const last = new Map();

export function remember(hash) {
  const section = hash.replace(/^#\/?/, "").split("?")[0];
  if (section in NAMES) last.set(section, hash);
}

/** Forgets all addresses, such as at the end of a session. */
export function forgetVisited() {
  last.clear();
}

/** A link back to the list of a section as it was. */
export function backLink(section) {
  const hash = last.get(section) ?? `#/${section}`;
  return element("a", { href: hash, class: "back" }, element("span", { "aria-hidden": "true" }, "← "),
    hash.includes("?") ? `Back to the ${NAMES[section]}` : `All ${NAMES[section]}`);
}
