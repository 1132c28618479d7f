// Copies record values to the clipboard.

import { announce, element } from "./elements.js";

const SHOWN_FOR = 2000;

/** Returns a button that copies the text, or null if the text or the clipboard is missing. `what` describes the text. */
export function copyButton(text, what) {
  // Browsers expose the clipboard only over HTTPS or on localhost.
  if (!navigator.clipboard || text === null || text === "") return null;
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(String(text));
      button.textContent = "Copied";
      announce(`${what}: copied`);
    } catch {
      button.textContent = "Not allowed";
      announce("The browser does not allow copying.");
    }
    setTimeout(() => {
      button.textContent = "Copy";
    }, SHOWN_FOR);
  };
  const button = element("button", { type: "button", class: "copy", "aria-label": `Copy ${what}`, on: { click: copy } }, "Copy");
  return button;
}
