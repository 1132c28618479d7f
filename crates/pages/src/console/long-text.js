// Shows long texts, such as transcripts, at full width in a scrolling box. Very long texts are collapsed.

import { count, element, value } from "./elements.js";

const LONG = 200;
/** Maximum length of expanded text. */
export const VERY_LONG = 4000;

/** Returns whether a value is too long to show among other fields. */
export function isLong(content) {
  return typeof content === "string" && (content.length > LONG || content.split("\n", 4).length > 3);
}

/** Returns the text with its name. A collapsed text is added to the page when the user opens it. */
export function longText(name, content) {
  const box = element("div", { class: "long-text", role: "region", tabindex: "0", "aria-label": name });
  const fill = () => box.hasChildNodes() || box.append(value(content));
  const isFolded = content.length > VERY_LONG;
  if (!isFolded) fill();
  return element("details", { class: "long", open: !isFolded, on: { toggle: fill } },
    element("summary", {}, name, element("span", { class: "hint" }, ` ${count(Array.from(content).length)} characters`)), box);
}
