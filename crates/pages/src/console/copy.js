// Buttons that copy a text of a record.

import { announce, element } from "./elements.js";

const SHOWN_FOR = 2000;

/** A button that copies a text, or null if the browser does not let pages copy. `what` names the text. */
export function copyButton(text, what) {
  // Pages without TLS have no clipboard, except on the same machine.
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
