// Comma-separated values: written for spreadsheets, and read from what is pasted out of them.

/** What begins as a formula, behind any number of apostrophes: so `cellText` finds the original of every cell. */
const FORMULA = /^'*[=+\-@\t\r\n]/;

/**
 * A cell. Spreadsheets run what begins as a formula, and records hold what strangers wrote: an apostrophe makes it text. Quotation marks
 * are around whatever some of them take for the end of a cell, since a formula could begin behind it.
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

/**
 * What separates the cells of a pasted text: tabs and semicolons if there are any outside of quotation marks, or else commas. A first line
 * with commas alone decides for all, such as that of an export, whose texts may have semicolons; one with bars alone does, too.
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
