// Adds one or many URLs, one per line, such as from a spreadsheet.

import { columnName, pastedLines, tableText } from "./csv.js";
import { append, counted, element, show, value } from "./elements.js";
import { field } from "./fields.js";
import { attempt, rejectionMessage } from "./rejections.js";
import { call } from "./requests.js";
import { resultTable } from "./results.js";
import { fileField } from "./sheets.js";
import { backLink } from "./visited.js";

const HEADERS = new Set(["url", "urls", "link", "links", "address", "addresses", "website", "websites", "webaddress", "page"]);

/**
 * The URLs of a text: the number of the line, and the URL. A line outside of a table is one URL, with its commas and semicolons. In a
 * table, the URLs are in the column with the header `URL`, or else in the first column. A header line is skipped.
 */
export function urlLines(pasted) {
  const { plain: text, separator } = tableText(pasted);
  const tabbed = pastedLines(text, "\t");
  const isHeader = (cells) => cells.some((cell) => HEADERS.has(columnName(cell))) && !cells.some((cell) => cell.includes("://"));
  const byOther = separator ?? [";", ","].find((separator) => {
    const [first] = pastedLines(text.slice(0, text.indexOf("\n") + 1 || undefined), separator);
    return first !== undefined && first.cells.length > 1 && isHeader(first.cells);
  });
  const lines = byOther ? pastedLines(text, byOther) : tabbed;
  const hasHeader = lines.length > 0 && isHeader(lines[0].cells);
  const index = hasHeader ? lines[0].cells.findIndex((cell) => HEADERS.has(columnName(cell))) : 0;
  const items = lines.slice(hasHeader ? 1 : 0).map(({ number, cells }) => ({ number, url: cells[index] ?? "" }));
  return { header: hasHeader ? lines[0].number : null, items };
}

export async function addUrlsView({ signal }) {
  const input = element("textarea", { rows: 10, spellcheck: "false", autocomplete: "off" });
  const lines = field("lines", "URLs", input, { hint: "One URL per line, each with http:// or https://. The console ignores a header line and other columns." });
  const button = element("button", { type: "submit", class: "primary" }, "Add");
  const messages = element("div", {});
  let isSaving = false;
  let sent = "";

  const put = (node) => {
    node.tabIndex = -1;
    messages.replaceChildren(node);
    node.focus();
  };
  const submit = async () => {
    const { header, items } = urlLines(input.value);
    lines.violate([]);
    if (items.length === 0) {
      lines.violate(["Enter at least one URL."]);
      input.focus();
      return;
    }
    isSaving = true;
    button.textContent = "Adding…";
    const skipped = header !== null && element("p", {}, `Line ${header} is a header and was ignored.`);
    await attempt(signal, async () => {
      const { body } = await call("POST", "api/urls", { body: { urls: items.map(({ url }) => ({ url })) }, signal });
      sent = input.value;
      const added = body.filter(({ status }) => status === "ok").length;
      const rows = body.map((result, index) => ({ isDone: result.status === "ok", cells: [
        `Line ${items[index].number}`,
        element("span", { class: "cut" }, value(items[index].url.slice(0, 300))),
        result.status === "ok" ? element("a", { href: `#/urls/${result.detail.url_id}` }, `added as URL ${result.detail.url_id}`)
          : result.code === "1023" ? "already exists, skipped" : `not added: ${result.detail.msg}`,
      ] }));
      put(element("div", { class: "message done", role: "status" },
        element("p", {}, `${counted(added, "URL was", "URLs were")} added`, added < body.length && `, ${body.length - added} ${body.length - added === 1 ? "was" : "were"} not`, "."),
        skipped, resultTable("Results", ["Line", "URL", "Result"], rows)));
    }, (rejection) => {
      const message = rejectionMessage(rejection, rejection.status === 422 ? null : submit);
      const named = Object.entries(rejection.errors).map(([path, texts]) => {
        const index = /^urls\.(\d+)/.exec(path)?.[1];
        return [index === undefined ? path : `Line ${items[index].number}`, index === undefined ? "" : items[index].url.slice(0, 300), texts.join(" ")];
      });
      if (named.length > 0) {
        append(message, resultTable("Lines to correct", ["Line", "URL", "Why"], named.map(([line, url, why]) => (
          { isDone: false, cells: [line, element("span", { class: "cut" }, value(url)), why] }))));
        lines.violate([`Correct ${counted(named.length, "line", "lines")}: see the message above.`]);
      }
      put(message);
    });
    isSaving = false;
    button.textContent = "Add";
  };
  const form = element("form", { novalidate: true, on: { submit: (event) => {
    event.preventDefault();
    if (!isSaving) submit();
  } } }, lines.node, fileField(input), element("p", { class: "actions" }, button, backLink("urls")));
  show("Add URLs", messages, form);
  return { hasChanges: () => input.value !== sent };
}
