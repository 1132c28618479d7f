// Elements are made from texts: nothing that a response holds becomes markup.

/** An element with attributes, properties and children; texts are also children. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "onclick") made.addEventListener("click", value);
    else if (value !== false && value !== undefined) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

/** A button that copies a text; none where the browser does not allow it. */
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
