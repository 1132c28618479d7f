// Builds DOM nodes from text, so response content never becomes markup.

/** Returns an element with these attributes and children. Children are nodes or strings. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "onclick") made.addEventListener("click", value);
    else if (value !== false && value !== undefined) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

/** Returns a button that copies text, or an empty string if the browser does not allow copying. */
export function copyButton(text, of) {
  if (!navigator.clipboard) return "";
  const button = element("button", {
    type: "button",
    class: "copy",
    "aria-label": `Copy ${of}`,
    onclick: async () => {
      await navigator.clipboard.writeText(text());
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 2000);
    },
  }, "Copy");
  return button;
}
