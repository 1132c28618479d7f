// Several new affiliates at once, one a line, such as from a spreadsheet.

import { affiliateLines } from "./affiliate-lines.js";
import { forget } from "./affiliate-list.js";
import { affiliateFields } from "./description.js";
import { counted, element, show, value } from "./elements.js";
import { field } from "./fields.js";
import { attempt, refusalMessage } from "./refusals.js";
import { call } from "./requests.js";
import { resultTable } from "./results.js";
import { backLink } from "./visited.js";

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
    const { isJson, header, unknown, repeated, items } = affiliateLines(input.value, fields);
    lines.violate([]);
    if (isJson) {
      lines.violate(["This is JSON or NDJSON; export CSV."]);
      input.focus();
      return;
    }
    if (repeated !== null) {
      lines.violate([`Two columns are the field ${repeated}; leave one out.`]);
      input.focus();
      return;
    }
    if (items.length === 0) {
      lines.violate(["Enter at least one line."]);
      input.focus();
      return;
    }
    isSaving = true;
    button.textContent = "Adding…";
    const skipped = header !== null && element("p", {}, `Line ${header} is a header.`,
      unknown.length > 0 && ` Columns that cannot be set were left out: ${unknown.join(", ")}.`);
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
