// Global keyboard shortcuts: `/` focuses the search field, and Ctrl+K or Cmd+K opens the command palette.

import { openPalette } from "./command-palette.js";
import { token } from "./session.js";

const isTyping = (node) => node.closest("input:not([type=checkbox]), textarea, select, [contenteditable]") !== null;

/** Handles the shortcuts while a user is signed in. */
export function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    if (token() === null || event.defaultPrevented || event.isComposing || event.altKey) return;
    const isCommand = event.ctrlKey || event.metaKey;
    if (isCommand && !event.shiftKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      openPalette();
    } else if (event.key === "/" && !isCommand && !isTyping(event.target) && document.querySelector("dialog[open]") === null) {
      /** @type {HTMLInputElement | null} */
      const field = document.querySelector("#finder input");
      if (!field) return;
      event.preventDefault();
      field.focus();
      field.select();
    }
  });
}
