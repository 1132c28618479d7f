// Shows the results of a batch or bulk change.

import { count, element, table } from "./elements.js";

/** Maximum number of results in a table. */
const MOST = 1000;

/** Returns a table of `rows`, which have `cells` and `isDone`. Truncates long tables, and lists their failures first. */
export function resultTable(caption, headings, rows) {
  const isCut = rows.length > MOST;
  const shown = isCut ? [...rows.filter(({ isDone }) => !isDone), ...rows.filter(({ isDone }) => isDone)].slice(0, MOST) : rows;
  return [
    isCut && element("p", {}, `Showing ${count(MOST)} of ${count(rows.length)} results, failures first.`),
    table(caption, headings, shown.map(({ cells }) => cells)),
  ];
}
