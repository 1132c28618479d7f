// Long texts, such as transcripts: over the whole width, folded if they are very long, in a box that scrolls.

import { count, element, value } from "./elements.js";

const LONG = 200;
/** Longer texts are folded at first. */
export const VERY_LONG = 4000;

/** Whether a value is too long for a place among other fields. */
export function isLong(content) {
  return typeof content === "string" && (content.length > LONG || content.split("\n", 4).length > 3);
}

/** The text with its name. A folded text becomes part of the page when it is opened. */
export function longText(name, content) {
  const box = element("div", { class: "long-text", role: "region", tabindex: "0", "aria-label": name });
  const fill = () => box.hasChildNodes() || box.append(value(content));
  const isFolded = content.length > VERY_LONG;
  if (!isFolded) fill();
  return element("details", { class: "long", open: !isFolded, on: { toggle: fill } },
    element("summary", {}, name, element("span", { class: "hint" }, ` ${count(Array.from(content).length)} characters`)), box);
}
