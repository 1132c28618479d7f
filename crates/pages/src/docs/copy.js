// Copies samples and responses to the clipboard.

import { element } from "../console/elements.js";

/** Returns a button that copies text, or an empty string if the browser does not allow copying. */
export function copyButton(text, of) {
  if (!navigator.clipboard) return "";
  const button = element("button", {
    type: "button",
    class: "copy",
    "aria-label": `Copy ${of}`,
    on: { click: async () => {
      await navigator.clipboard.writeText(text());
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 2000);
    } },
  }, "Copy");
  return button;
}
