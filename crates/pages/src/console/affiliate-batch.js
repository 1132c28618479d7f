// Several new affiliates at once, one a line, such as from a spreadsheet.

import { forget } from "./affiliate-list.js";
import { columnName, pastedLines } from "./csv.js";
import { affiliateFields } from "./description.js";
import { counted, element, show, value } from "./elements.js";
import { field } from "./fields.js";
import { attempt, refusalMessage } from "./refusals.js";
import { call } from "./requests.js";
import { resultTable } from "./results.js";
import { backLink } from "./visited.js";

const COLUMNS = ["client_affiliate_id", "affiliate_name", "country"];
/** Other names of columns, as in what the lists export. */
const ALIASES = { client_distributor_id: "client_affiliate_id", your_affiliate_id: "client_affiliate_id",
  distributor_name: "affiliate_name", name: "affiliate_name", distributor_status: "status" };

/**
 * The affiliates of a text with the numbers of their lines. If the first line names columns, they decide what each cell is; names that no
 * field has are in `unknown`.
 */
export function affiliateLines(text, fields) {
  const lines = pastedLines(text);
  const names = new Map(fields.flatMap(({ name, label }) => [[columnName(name), name], [columnName(label), name]]));
  for (const [alias, name] of Object.entries(ALIASES)) names.set(columnName(alias), name);
  const first = lines[0]?.cells ?? [];
  const hasHeader = first.length > 0 && first.filter((cell) => names.has(columnName(cell))).length >= Math.min(2, first.length);
  const columns = hasHeader ? first.map((cell) => names.get(columnName(cell)) ?? null) : COLUMNS;
  const items = lines.slice(hasHeader ? 1 : 0).map(({ number, cells }) => {
    const named = columns.map((name, index) => [name, cells[index] ?? ""]).filter(([name, cell]) => name !== null && (cell !== "" || COLUMNS.includes(name)));
    return { number, item: Object.fromEntries(named) };
  });
  return { header: hasHeader ? lines[0].number : null, unknown: hasHeader ? first.filter((_, index) => columns[index] === null && first[index] !== "") : [], items };
}

export async function affiliateBatchView({ signal }) {
  const fields = await affiliateFields();
  const input = element("textarea", { rows: 10, spellcheck: "false", autocomplete: "off" });
  const lines = field("lines", "Affiliates", input, {
    hint: "One a line: your affiliate ID, name and, if you like, a country code of two letters; with tabs, semicolons or commas between them. "
      + "A header line may name other fields and another order, such as client_affiliate_id, affiliate_name, email_one.",
  });
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
    const { header, unknown, items } = affiliateLines(input.value, fields);
    lines.violate([]);
    if (items.length === 0) {
      lines.violate(["Enter at least one line."]);
      input.focus();
      return;
    }
    isSaving = true;
    button.textContent = "Adding…";
    const skipped = header !== null && element("p", {}, `Line ${header} is a header.`,
      unknown.length > 0 && ` Columns that no field has were left out: ${unknown.join(", ")}.`);
    await attempt(signal, async () => {
      const { body } = await call("POST", "api/affiliates", { body: { affiliates: items.map(({ item }) => item) }, signal });
      forget();
      sent = input.value;
      const done = body.filter(({ status }) => status === "ok").length;
      const rows = body.map((result, index) => ({ isDone: result.status === "ok", cells: [
        `Line ${items[index].number}`,
        value(items[index].item.affiliate_name),
        result.status === "ok" ? element("a", { href: `#/affiliates/${result.detail.affiliate_id}` }, "created") : `not created: ${result.detail.msg}`,
      ] }));
      put(element("div", { class: `message ${done === body.length ? "done" : "error"}`, role: "status" },
        element("p", {}, done === body.length ? `All ${counted(done, "affiliate was", "affiliates were")} created.`
          : `${counted(done, "affiliate was", "affiliates were")} created, ${body.length - done} not. Correct those lines and send them again.`),
        skipped, resultTable("Results", ["Line", "Name", "Result"], rows)));
    }, (refusal) => {
      const message = refusalMessage(refusal, refusal.status === 422 ? null : submit);
      const named = Object.entries(refusal.errors).map(([path, texts]) => {
        const index = /^affiliates\.(\d+)/.exec(path)?.[1];
        return `${index === undefined ? path : `Line ${items[index].number}`}: ${texts.join(" ")}`;
      });
      if (named.length > 0) {
        message.append(element("ul", {}, named.map((text) => element("li", {}, text))));
        lines.violate([`${counted(named.length, "value has", "values have")} to be corrected; see above.`]);
      }
      put(message);
    });
    isSaving = false;
    button.textContent = "Add";
  };
  const form = element("form", { novalidate: true, on: { submit: (event) => {
    event.preventDefault();
    if (!isSaving) submit();
  } } }, lines.node, element("p", { class: "actions" }, button, backLink("affiliates")));
  show("Add several affiliates", messages, form);
  return { hasChanges: () => input.value !== sent };
}
