// Comma-separated values: written for spreadsheets, and read from text that was pasted from them.

/** A text that begins like a formula, after any number of apostrophes, so that `cellText` restores every text. */
const FORMULA = /^'*[=+\-@\t\r\n]/;

/**
 * Returns a cell. Spreadsheets run a text that begins like a formula, and records contain text from strangers, so an apostrophe makes such
 * a cell text. Characters that some spreadsheet treats as the end of a cell are quoted, because a formula could begin after them.
 */
export function csvCell(content) {
  if (content === null || content === undefined) return "";
  let text = String(content);
  if (FORMULA.test(text)) text = `'${text}`;
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The text of a cell, without the apostrophe before a formula. */
export function cellText(cell) {
  return cell.startsWith("'") && FORMULA.test(cell.slice(1)) ? cell.slice(1) : cell;
}

/** A line of cells. */
export function csvLine(cells) {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

/** How Excel names the separator of a file, in a line before the header. */
const SEPARATOR_LINE = /^"?sep=(.)"?(?=\r?\n|$)/i;

/** Returns a text without its quoted parts, except line ends. */
const unquoted = (text) => text.replaceAll(/"(?:[^"]|"")*"/g, (quoted) => quoted.replaceAll(/[^\n]/g, ""));

/**
 * Returns a text without a byte order mark and without old Mac line ends, and the separator that its first line names. That line becomes
 * blank.
 */
export function tableText(text) {
  let plain = text.replace(/^\uFEFF/, "");
  const ends = plain.replaceAll(/"(?:[^"]|"")*"/g, "");
  if (ends.includes("\r") && !ends.includes("\n")) plain = plain.replaceAll("\r", "\n");
  const named = SEPARATOR_LINE.exec(plain);
  return named === null ? { plain, separator: null } : { plain: plain.slice(named[0].length), separator: named[1] };
}

/** The separator of a text with a header: the most frequent one of its first line. */
export function headed(text) {
  const [first] = unquoted(text).trimStart().split("\n", 1);
  const counts = ["\t", ";", ",", "|"].map((separator) => [separator, first.split(separator).length]);
  // If several are equally frequent, the first one wins: names contain commas more often than tabs and semicolons.
  const [separator, count] = counts.reduce((best, next) => (next[1] > best[1] ? next : best));
  return count > 1 ? separator : ",";
}

/** The line of a cell whose quotation mark is never closed, or null. */
export function openQuote(text, separator) {
  const plain = unquoted(text);
  const at = plain.lastIndexOf('"');
  const before = plain.slice(0, Math.max(at, 0)).trimEnd();
  const isStart = at >= 0 && (/\n\s*$/.test(plain.slice(0, at)) || before === "" || before.endsWith(separator));
  return isStart ? plain.slice(0, at).split("\n").length : null;
}

/**
 * Returns the separators of a pasted text: tabs and semicolons if it has any outside of quotation marks, otherwise commas. If the first
 * line has only commas, or only vertical bars, it decides for all lines: texts of an export can contain semicolons.
 */
function separatorsOf(text) {
  const plain = text.replace(/"(?:[^"]|"")*"/g, "");
  const [first] = plain.split("\n", 1);
  if (/^[^\t;,]*\|[^\t;,]*$/.test(first)) return "|";
  return /[\t;]/.test(first.includes(",") ? first : plain) ? "\t;" : ",";
}

/**
 * The lines of a pasted text that are not empty: the number of the line at which each begins, its cells, and the same cells with the
 * spaces around them (`exact`). A cell in quotation marks may hold separators, line ends and doubled quotation marks.
 */
export function pastedLines(text, separators = separatorsOf(text)) {
  const lines = [];
  /** A cell in quotation marks. */
  const whole = separators === "|" ? /^"(?:[^"]|"")*"[ \r]*(?:$|[\n|])/ : /^"(?:[^"]|"")*"[ \r]*(?:$|[\n\t;,])/;
  let number = 1;
  let line = { number, cells: [], exact: [] };
  let cell = "";
  let quoted = null;
  let isQuoted = false;
  const endCell = () => {
    line.exact.push(quoted ?? cell.replace(/\r$/, ""));
    line.cells.push((quoted ?? cell).trim());
    cell = "";
    quoted = null;
  };
  const endLine = () => {
    endCell();
    if (line.cells.some((content) => content !== "")) lines.push(line);
    line = { number: number + 1, cells: [], exact: [] };
  };
  for (let position = 0; position < text.length; position += 1) {
    const character = text[position];
    if (isQuoted) {
      if (character !== '"') quoted += character;
      else if (text[position + 1] === '"') quoted += text[position += 1];
      else isQuoted = false;
      if (character === "\n") number += 1;
    } else if (character === '"' && cell.trim() === "" && whole.test(text.slice(position, position + 10_000))) {
      quoted = "";
      isQuoted = true;
    } else if (separators.includes(character)) {
      endCell();
    } else if (character === "\n") {
      endLine();
      number += 1;
    } else {
      cell += character;
    }
  }
  endLine();
  return lines;
}

/** A name of a column for comparison: `Affiliate name`, `affiliate_name` and `AFFILIATE-NAME` are the same. */
export function columnName(text) {
  return text.normalize("NFKC").toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, "");
}
