// A list as a file for spreadsheets: the records that match the filters, page by page, with progress and a way to stop.

import { csvLine } from "./csv.js";
import { announce, count, counted, element } from "./elements.js";
import { attempt, rejectionMessage, sentence } from "./rejections.js";
import { call, Rejection } from "./requests.js";

const PAGE_SIZE = 200;
/** How often a request is sent while the company's limit is used up or the service is not available. */
const ATTEMPTS = 20;

/** A field as the text of a cell: lists are joined. */
function plain(content) {
  if (!Array.isArray(content)) return content;
  return content.map((item) => (item !== null && typeof item === "object"
    ? Object.values(item).filter((part) => part !== null).join(": ") : item)).join("; ");
}

/** Waits, at most until the signal aborts. */
function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, seconds * 1000);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    }, { once: true });
  });
}

/** Sends a request until it is accepted, with the waits that the service asks for. */
export async function patiently(send, signal, onWait) {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof Rejection) || ![429, 503].includes(error.status) || attempts === ATTEMPTS) throw error;
      onWait(sentence(error));
      await pause(Math.min(error.retryAfter ?? 1, 60), signal);
    }
  }
}

/**
 * Reads every page of a list and passes on its records, each once: records that are added during this time move other records to the next
 * page.
 */
export async function readPages(path, query, key, onPage, signal, onWait) {
  const seen = new Set();
  for (let page = 1, last = 1; page <= last; page += 1) {
    const send = () => call("GET", path, { query: { ...query, per_page: PAGE_SIZE, page }, signal });
    const { body } = await patiently(send, signal, onWait);
    last = body.meta.last_page;
    const records = body.data.filter((record) => !seen.has(record[key]));
    for (const record of records) seen.add(record[key]);
    onPage(records, body.meta.total);
  }
}

function save(pieces, name) {
  const address = URL.createObjectURL(new Blob(pieces, { type: "text/csv;charset=utf-8" }));
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/**
 * The button that writes the file, and the node for its messages. `source` returns the fields as names, and `read`: a function of
 * `(onRecords(records, total), signal, onWait)`.
 */
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
    const { fields, read } = source();
    // The mark at the beginning has spreadsheets read it as UTF-8. Each page becomes a piece, which the browser can keep on disk.
    const pieces = ["\uFEFF", csvLine(fields)];
    let written = 0;
    await attempt(own, async () => {
      await read((records, total) => {
        pieces.push(new Blob([records.map((record) => csvLine(fields.map((name) => plain(record[name])))).join("")]));
        written += records.length;
        if (total) meter.value = Math.min(1, written / total);
        text.textContent = total ? `${count(written)} of ${count(total)}` : `${count(written)} so far`;
      }, own, (reason) => {
        text.textContent = reason;
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
