// Draws accessible bar charts: tables with a bar in each row.

import { count, element, svg } from "./elements.js";

/**
 * Returns a section with a bar for each entry. `href` returns the link for a name, or null.
 * @param {string} title
 * @param {string} unit
 * @param {[string, number][]} entries
 * @param {{href?: (name: string) => string | null, shown?: (name: string) => any}} options
 */
export function bars(title, unit, entries, { href = () => null, shown = (name) => element("bdi", {}, name) } = {}) {
  const most = Math.max(1, ...entries.map(([, number]) => number));
  const rows = entries.map(([name, number]) => {
    const address = href(name);
    const bar = svg("svg", { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" },
      svg("rect", { class: "track", x: 0, y: 0, width: 100, height: 10 }),
      svg("rect", { x: 0, y: 0, width: (100 * number) / most, height: 10 }));
    return element("tr", {},
      element("th", { scope: "row" }, address ? element("a", { href: address }, shown(name)) : shown(name)),
      element("td", { class: "number" }, count(number)),
      element("td", { class: "bar-cell" }, bar));
  });
  if (rows.length === 0) return element("section", { class: "panel" }, element("h2", {}, title), element("p", {}, "Nothing to show."));
  return element("section", { class: "panel" }, element("h2", {}, title), element("table", { class: "chart" },
    element("caption", { class: "hidden-text" }, title),
    element("thead", { class: "hidden-text" }, element("tr", {}, element("th", { scope: "col" }, title), element("th", { scope: "col" }, unit), element("td", {}))),
    element("tbody", {}, rows)));
}
