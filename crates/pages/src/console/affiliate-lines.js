// Affiliates in a pasted text.

import { countryCode } from "./countries.js";
import { cellText, columnName, headed, openQuote, pastedLines, tableText } from "./csv.js";
import { day, orderOf } from "./dates.js";

const IDENTIFIER = "client_affiliate_id";
const COLUMNS = [IDENTIFIER, "affiliate_name", "country"];
/** A line without one of these cells is damaged: spreadsheets leave out empty cells only. */
const REQUIRED = [IDENTIFIER, "affiliate_name"];
/** Names of fields in lists that differ from their names in requests. */
const READ_AS = { client_distributor_id: IDENTIFIER, distributor_name: "affiliate_name", distributor_status: "status" };
/** Other headings: the console's own list headings, and usual headings. */
const ALIASES = { ...READ_AS, name: "affiliate_name", affiliate_status: "status", email: "email_one", phone: "phone_one", company: "company_name",
  postal_code: "zip", pinterest: "pintrest", international_affiliate: "international_distributor" };
/** Fields of lists that the service assigns. */
const READ_ONLY = ["id", "client_id"];
/** A column without a heading, as pandas names it. */
const UNNAMED = /^(?:unnamed:\s*\d+)?$/i;
/** What a spreadsheet shows instead of a value that it cannot compute. */
const ERRORS = ["#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NUM!", "#NULL!"];

/**
 * Returns the field of each column that the first line names, or null for a column without a field. Null if the first line is an affiliate.
 */
function columnsOf(first, fields) {
  const names = new Map(fields.flatMap(({ name, label }) => [[columnName(name), name], [columnName(label), name]]));
  for (const [alias, name] of Object.entries(ALIASES)) names.set(columnName(alias), name);
  const named = first.filter((cell) => !UNNAMED.test(cell));
  const isRead = (cell) => READ_ONLY.some((name) => columnName(name) === columnName(cell));
  const isKnown = (cell) => names.has(columnName(cell)) || isRead(cell);
  if (named.length === 0 || named.filter(isKnown).length < Math.min(2, named.length)) return null;
  return first.map((cell) => (UNNAMED.test(cell) ? null : names.get(columnName(cell)) ?? null));
}

/** Why the columns cannot be used, if they cannot. */
function columnProblem(first, columns) {
  const second = columns.findIndex((name, index) => name !== null && columns.indexOf(name) < index);
  if (second >= 0) {
    const one = columns.indexOf(columns[second]);
    return `In the header, the columns ${one + 1} ("${first[one]}") and ${second + 1} ("${first[second]}") are the same field, ${columns[second]}: remove one of them.`;
  }
  return columns.includes(IDENTIFIER) ? null : `In the header, no column is the field ${IDENTIFIER}; the columns are: ${first.join(", ")}.`;
}

/**
 * Returns the affiliates of a text with their line numbers. If the first line names columns, it determines the field of each cell.
 * `unknown` has the column names without a field. In a whole export of the service, spaces around texts belong to them. `dates` is the
 * order of day and month, `dmy` or `mdy`, for dates that do not show it. `problem` says why the whole text cannot be used, with `isOpen` if
 * `dates` solves it. `problems` says why some lines cannot be used.
 */
export function affiliateLines(text, fields, dates = null) {
  const { plain, separator } = tableText(text);
  const nothing = { header: null, unknown: [], items: [], problems: [] };
  if (/^\s*(?:\[\s*[{\]]|\{\s*")/.test(plain)) return { ...nothing, problem: "This is JSON or NDJSON; export CSV." };
  const table = pastedLines(plain, separator ?? headed(plain));
  const given = columnsOf(table[0]?.cells ?? [], fields);
  const lines = given ? table : pastedLines(plain, separator ?? undefined);
  if (lines.length === (given ? 1 : 0)) return { ...nothing, problem: given ? "There are no lines below the header." : "Enter at least one line; the file is empty." };
  const cut = openQuote(plain, separator ?? headed(plain));
  if (cut !== null) return { ...nothing, problem: `The quote is never closed: the file ends within the quoted cell that begins on line ${cut}.` };
  const columns = given ?? COLUMNS;
  const first = lines[0].cells;
  const wrong = given && columnProblem(first, columns);
  if (wrong) return { ...nothing, problem: wrong };
  const body = lines.slice(given ? 1 : 0);
  const dayColumn = columns.indexOf("start_date");
  const order = dates === null ? orderOf(body.map(({ number, cells }) => ({ line: number, text: cells[dayColumn] ?? "" }))) : { order: dates };
  if (order.problem) return { ...nothing, ...order };

  const width = first.findLastIndex((cell) => cell !== "") + 1;
  const required = columns.findLastIndex((name) => REQUIRED.includes(name)) + 1;
  const isCut = !/[\r\n]$/.test(plain);
  const isExact = given !== null && fields.every(({ name }) => columns.includes(name))
    && first.every((cell) => READ_ONLY.includes(cell) || READ_AS[cell] !== undefined || fields.some(({ name }) => name === cell));
  const content = (name, cell, exact) => {
    if (!isExact && ERRORS.includes(cell)) throw new RangeError(`The cell has the error ${cell} of a formula; correct it in the spreadsheet.`);
    if (name === "country") return countryCode(cell);
    if (name === "start_date") return day(cellText(cell), order.order);
    return cellText(isExact ? exact : cell);
  };
  const problems = [];
  const items = body.map(({ number, cells, exact }) => {
    const item = {};
    if (given && (cells.length < required || cells.slice(first.length).some((cell) => cell !== ""))) {
      problems.push({ number, name: "", reason: `The line has ${cells.length} cells, and the header has ${first.length}; is a separator or a quote missing?` });
      return { number, item };
    }
    if (given && cells.length < width && isCut && number === body.at(-1).number) {
      problems.push({ number, name: "", reason: `The line has ${cells.length} cells and no line end, and the header has ${first.length}; was the file cut off?` });
      return { number, item };
    }
    for (const [index, name] of columns.entries()) {
      if (name === null) continue;
      try {
        const value = content(name, cells[index] ?? "", exact[index] ?? "");
        if (value !== "" || COLUMNS.includes(name)) item[name] = value;
      } catch (error) {
        problems.push({ number, name, reason: error.message });
      }
    }
    return { number, item };
  });
  const unknown = given ? first.filter((cell, index) => columns[index] === null && !UNNAMED.test(cell)) : [];
  return { header: given ? lines[0].number : null, unknown, items, problems, problem: null };
}
