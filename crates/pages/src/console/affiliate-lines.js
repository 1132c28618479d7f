// Affiliates in a pasted text.

import { alpha2 } from "./countries.js";
import { cellText, columnName, pastedLines } from "./csv.js";

const COLUMNS = ["client_affiliate_id", "affiliate_name", "country"];
/** Other names of columns, as in what the lists export. */
const ALIASES = { client_distributor_id: "client_affiliate_id", your_affiliate_id: "client_affiliate_id",
  distributor_name: "affiliate_name", name: "affiliate_name", distributor_status: "status" };

/** Fields of lists that the service assigns. */
const READ_ONLY = ["id", "client_id"];

/**
 * The affiliates of a text with the numbers of their lines. If the first line names columns, they decide what each cell is; names that no
 * field has are in `unknown`, and of two columns of one field the second is in `repeated`. If all are names of fields, as in an export, the
 * cells are taken with the spaces around them. `isJson` says that the text is not lines of cells.
 */
export function affiliateLines(text, fields) {
  const lines = pastedLines(text.replace(/^\uFEFF/, ""));
  const names = new Map(fields.flatMap(({ name, label }) => [[columnName(name), name], [columnName(label), name]]));
  for (const [alias, name] of Object.entries(ALIASES)) names.set(columnName(alias), name);
  const first = lines[0]?.cells ?? [];
  const hasHeader = first.length > 0 && first.filter((cell) => names.has(columnName(cell))).length >= Math.min(2, first.length);
  const columns = hasHeader ? first.map((cell) => names.get(columnName(cell)) ?? null) : COLUMNS;
  const isExport = hasHeader && first.every((cell) => READ_ONLY.includes(cell) || ALIASES[cell] !== undefined || fields.some(({ name }) => name === cell));
  const repeated = columns.find((name, index) => name !== null && columns.indexOf(name) < index) ?? null;
  const items = lines.slice(hasHeader ? 1 : 0).map(({ number, cells, exact }) => {
    const content = (name, cell = "") => (name === "country" && /^\d+$/.test(cell) ? alpha2(cell) || cell : cellText(cell));
    const named = columns.map((name, index) => [name, content(name, (isExport ? exact : cells)[index])]).filter(([name, cell]) => name !== null && (cell !== "" || COLUMNS.includes(name)));
    return { number, item: Object.fromEntries(named) };
  });
  return { isJson: /^\uFEFF?\s*(?:\[\s*[{\]]|\{\s*")/.test(text), header: hasHeader ? lines[0].number : null, unknown: hasHeader ? first.filter((_, index) => columns[index] === null && first[index] !== "") : [], repeated, items };
}
