// Files of spreadsheets: their texts, or why they have none.

import { element } from "./elements.js";
import { field, select } from "./fields.js";

const ENCODINGS = [["", "UTF-8 or UTF-16"], ["windows-1252", "Windows-1252 (Excel on Windows)"], ["macintosh", "Mac Roman (Excel on a Mac)"]];
const MARKS = [["utf-8", [0xef, 0xbb, 0xbf]], ["utf-16le", [0xff, 0xfe]], ["utf-16be", [0xfe, 0xff]]];
const SAVE = "save it as CSV UTF-8 and choose that file, or copy its cells and paste them";
const FOREIGN = [
  [/^PK\x03\x04/, `is an Excel workbook: ${SAVE}.`],
  [/^\xd0\xcf\x11\xe0/, `is an Excel 97 workbook (.xls), or a workbook with a password: ${SAVE}.`],
  [/^%PDF/, "is a PDF: export CSV."],
  [/^\s*</, "is HTML or XML: export CSV."],
];

const begins = (bytes, beginning) => beginning.every((byte, index) => bytes[index] === byte);

/** UTF-16 by the zero bytes of its first characters, if it has no mark. */
function wide(bytes) {
  const zeros = [...bytes.subarray(0, 4)].map((byte) => Number(byte === 0)).join("");
  return { "0101": "utf-16le", 1010: "utf-16be" }[zeros] ?? null;
}

/** The first line that is not UTF-8, and its cell in both encodings that it may have. */
function notUtf8(bytes) {
  const latin = new TextDecoder("latin1").decode(bytes);
  const ends = /\r\n|\r|\n/g;
  let start = 0;
  for (let number = 1; ; number += 1) {
    const end = ends.exec(latin);
    const line = bytes.subarray(start, end?.index ?? bytes.length);
    const cells = [];
    for (let from = 0, to = 0; to <= line.length; to += 1) {
      if (to === line.length || ',;\t|"'.includes(String.fromCharCode(line[to]))) {
        cells.push(line.subarray(from, to));
        from = to + 1;
      }
    }
    const cell = cells.find((content) => !isUtf8(content));
    if (cell) {
      const [windows, mac] = ["windows-1252", "macintosh"].map((encoding) => new TextDecoder(encoding).decode(cell));
      return `is not UTF-8: line ${number} has "${windows}" if it is Windows-1252 and "${mac}" if it is Mac Roman: choose the encoding.`;
    }
    start = ends.lastIndex;
  }
}

function isUtf8(bytes) {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the text of a file, or a problem: the rest of a sentence that begins with the file name. The console never guesses an encoding.
 */
export function textOf(bytes, encoding = "") {
  const head = String.fromCharCode(...bytes.subarray(0, 256));
  const foreign = FOREIGN.find(([beginning]) => beginning.test(head));
  if (foreign) return { problem: foreign[1] };
  const known = MARKS.find(([, mark]) => begins(bytes, mark))?.[0] ?? (encoding || wide(bytes));
  if (!known && !isUtf8(bytes)) return { problem: notUtf8(bytes) };
  return { text: new TextDecoder(known ?? "utf-8").decode(bytes) };
}

/** A field that reads a file into the text area `target`. */
export function fileField(target) {
  const input = element("input", { type: "file", accept: ".csv,.tsv,.txt,text/csv,text/plain,text/tab-separated-values" });
  const encodings = select(ENCODINGS);
  const encoding = field("encoding", "Encoding of the file", encodings);
  const file = field("file", "From a file", input, { hint: "CSV or text. The console copies its lines to the field above, where you can check them." });
  encoding.node.hidden = true;
  const read = async () => {
    const [chosen] = input.files;
    if (!chosen) return;
    const { text, problem } = textOf(new Uint8Array(await chosen.arrayBuffer()), encodings.value);
    if (problem === undefined) target.value = text;
    else if (problem.includes("encoding")) encoding.node.hidden = false;
    file.violate(problem === undefined ? [] : [`${chosen.name} ${problem}`]);
  };
  input.addEventListener("change", () => {
    encodings.value = "";
    encoding.node.hidden = true;
    read();
  });
  encodings.addEventListener("change", read);
  return [file.node, encoding.node];
}
