// Searches the full text of all pages. The build creates the index.

import { element } from "../console/elements.js";

/** Maximum number of results. */
const MOST = 12;

/** Returns the sections that contain all words, heading matches first. */
function matches(sections, words) {
  const has = (text) => words.every((word) => text.toLowerCase().includes(word));
  const found = sections.filter(({ title, heading, text }) => has(`${title} ${heading} ${text}`));
  const inHeading = ({ title, heading }) => has(`${title} ${heading}`);
  return [...found.filter(inHeading), ...found.filter((section) => !inHeading(section))];
}

export function startSearch() {
  const [field, list, count] = ["search", "found", "found-count"].map((id) => document.getElementById(id));
  const root = `${document.documentElement.dataset.root}docs`;
  let index;

  const show = async () => {
    const text = field.value;
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    let links = [];
    let message = "";
    if (words.length) {
      try {
        index ??= import("./search-index.js");
        const found = matches((await index).default, words);
        links = found.slice(0, MOST).map(({ page, title, anchor, heading }) => {
          const href = `${root}${page && `/${page}`}${anchor && `#${anchor}`}`;
          const name = heading === title ? title : `${title}: ${heading}`;
          return element("li", {}, element("a", { href }, name));
        });
        message = `${found.length} found`;
      } catch {
        index = undefined;
        message = "Search is not available.";
      }
    }
    // The user may have changed the search text while the index was loading.
    if (field.value !== text) return;
    list.replaceChildren(...links);
    count.textContent = message;
  };

  field.addEventListener("input", show);
  field.closest("div").hidden = false;
}
