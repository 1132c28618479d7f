// Exports a list as CSV, with progress and a cancel button.

import { alpha2 } from "./countries.js";
import { label, words } from "./description.js";
import { announce, count, counted, element } from "./elements.js";
import { incidentText, infractionText } from "./infractions.js";
import { attempt, rejectionMessage, sentence } from "./rejections.js";
import { patiently, readText } from "./requests.js";

/** Splits streamed CSV into records. Line breaks within quotation marks are part of a cell. */
export function recordSplitter(onRecord) {
  let record = "";
  let isQuoted = false;
  return (piece) => {
    for (const line of piece.split(/(?<=\n)/)) {
      record += line;
      const quotes = line.split('"').length - 1;
      if (quotes % 2 === 1) isQuoted = !isQuoted;
      if (isQuoted || !line.endsWith("\n")) continue;
      onRecord(record);
      record = "";
    }
  };
}

/** The columns with lists in JSON, and the text of an entry. */
const TEXTS = { tags: (tag) => tag, infractions: infractionText, incidents: incidentText };

/** Returns a quoted cell. An apostrophe keeps spreadsheet programs from running text as a formula, as in the service's cells. */
function quoted(text) {
  return `"${/^[=+\-@\t\r\n]/.test(text) ? "'" : ""}${text.replaceAll('"', '""')}"`;
}

/** Returns the cell of a column as an officer reads it. */
function shown(name, cell) {
  if (name in TEXTS && cell !== "") return quoted(JSON.parse(cell.replace(/^"(.*)"$/s, "$1").replaceAll('""', '"')).map(TEXTS[name]).join("; "));
  const content = cell.replaceAll('"', "");
  if (name === "disabled") return words(name, content);
  // Affiliates have numeric country codes.
  return (name === "country" && alpha2(content)) || cell;
}

/** Returns a function that reduces CSV records to some columns. In the first record, it replaces the field names with their labels. */
export function columnPicker(columns) {
  let positions = null;
  return (record) => {
    // A comma before each cell makes all cells alike.
    const cells = `,${record}`.match(/,(?:"[^"]*(?:""[^"]*)*"|[^",\r\n]*)/g).map((cell) => cell.slice(1));
    const isHeader = positions === null;
    // During a rolling upgrade, an older service may not know a column.
    positions ??= columns.map((name) => [name, cells.indexOf(name)]).filter(([, position]) => position >= 0);
    const picked = positions.map(([name, position]) => (isHeader ? label(name) : shown(name, cells[position])));
    return `${picked.join(",")}\r\n`;
  };
}

function save(pieces, name) {
  const address = URL.createObjectURL(new Blob(pieces, { type: "text/csv;charset=utf-8" }));
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** Returns a list's export button and the node for its messages. `source()` returns the `query`, the `columns`, and the `total` if known. */
export function exporter(list, source, signal) {
  let running = null;
  const report = element("div", { class: "export" });
  const button = element("button", { type: "button", on: { click: () => (running === null ? start() : running.abort()) } }, "Export CSV");

  async function start() {
    running = new AbortController();
    const own = AbortSignal.any([running.signal, signal]);
    const meter = element("progress", { max: 1, "aria-label": "Export" });
    const text = element("span", {}, "Exporting…");
    button.textContent = "Cancel export";
    report.replaceChildren(element("p", { class: "actions" }, meter, text));
    await attempt(own, async () => {
      const { query, total, columns } = source();
      // The byte order mark makes spreadsheet programs read UTF-8. The pieces are blobs, which the browser can store on disk.
      /** @type {BlobPart[]} */
      const pieces = ["\uFEFF"];
      // Do not count the header record.
      let written = -1;
      const pick = columnPicker(columns);
      let picked = [];
      const push = recordSplitter((record) => {
        written += 1;
        picked.push(pick(record));
      });
      await patiently(() => readText(`api/${list}`, { query, accept: "text/csv" }, (piece) => {
        push(piece);
        pieces.push(new Blob(picked));
        picked = [];
        if (total) meter.value = Math.min(1, written / total);
        text.textContent = total ? `${count(written)} of ${count(total)}` : `${count(written)} so far`;
      }, own), own, (rejection) => {
        text.textContent = sentence(rejection);
      });
      save(pieces, `${list}-${new Date().toISOString().slice(0, 10)}.csv`);
      report.replaceChildren(element("p", {}, `${counted(written, "record", "records")} exported.`));
      announce(report.textContent);
    }, (rejection) => {
      report.replaceChildren(rejectionMessage(rejection, start));
    });
    if (running.signal.aborted) {
      report.replaceChildren(element("p", {}, "The export was cancelled."));
      announce(report.textContent);
    }
    running = null;
    button.textContent = "Export CSV";
  }
  return { button, report };
}
