// Exports a list as CSV, with progress and a cancel button.

import { announce, count, counted, element } from "./elements.js";
import { attempt, rejectionMessage, sentence } from "./rejections.js";
import { patiently, readText } from "./requests.js";

/** Splits streamed CSV into records. Line breaks within quotation marks belong to a cell. */
export function recordSplitter(onRecord) {
  let rest = "";
  let isQuoted = false;
  return (piece) => {
    const text = rest + piece;
    let start = 0;
    for (let position = rest.length; position < text.length; position += 1) {
      if (text[position] === '"') isQuoted = !isQuoted;
      else if (text[position] === "\n" && !isQuoted) {
        onRecord(text.slice(start, position + 1));
        start = position + 1;
      }
    }
    rest = text.slice(start);
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

/** Returns a list's export button, and the node for its messages. `source()` returns the filters as `query`, and the `total` if known. */
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
      const { query, total } = source();
      // The byte order mark makes spreadsheet programs read UTF-8. The pieces are blobs, which the browser can store on disk.
      /** @type {BlobPart[]} */
      const pieces = ["\uFEFF"];
      // Do not count the header record.
      let written = -1;
      const push = recordSplitter(() => {
        written += 1;
      });
      await patiently(() => readText(`api/${list}`, { query, accept: "text/csv" }, (piece) => {
        push(piece);
        pieces.push(new Blob([piece]));
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
