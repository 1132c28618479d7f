// The results of the lines or records of a batch.

import { count, element, table } from "./elements.js";

/** Maximum number of results on a page. Failures come first. */
const MOST = 1000;

/** A table of `rows`, each with its cells and whether it `isDone`. */
export function resultTable(caption, headings, rows) {
  const isCut = rows.length > MOST;
  const shown = isCut ? [...rows.filter(({ isDone }) => !isDone), ...rows.filter(({ isDone }) => isDone)].slice(0, MOST) : rows;
  return [
    isCut && element("p", {}, `You see ${count(MOST)} of ${count(rows.length)} results, failures first.`),
    table(caption, headings, shown.map(({ cells }) => cells)),
  ];
}
