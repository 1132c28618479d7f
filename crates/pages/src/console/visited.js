// The last address of each list with its filters, so that a record leads back to where it was found.

import { element } from "./elements.js";

const NAMES = { affiliates: "affiliates", urls: "URLs", cases: "cases" };
const last = new Map();

export function remember(hash) {
  const section = hash.replace(/^#\/?/, "").split("?")[0];
  if (section in NAMES) last.set(section, hash);
}

/** Forgets all, as at the end of a session. */
export function forgetVisited() {
  last.clear();
}

/** A link back to the list of a section as it was. */
export function backLink(section) {
  const hash = last.get(section) ?? `#/${section}`;
  return element("a", { href: hash, class: "back" }, element("span", { "aria-hidden": "true" }, "← "),
    hash.includes("?") ? `Back to the ${NAMES[section]}` : `All ${NAMES[section]}`);
}
