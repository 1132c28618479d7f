// Adds several affiliates together, one per line, such as from a spreadsheet.

import { affiliateLines } from "./affiliate-lines.js";
import { forget } from "./affiliate-list.js";
import { affiliateFields } from "./description.js";
import { counted, element, show, value } from "./elements.js";
import { field, select } from "./fields.js";
import { attempt, rejectionMessage } from "./rejections.js";
import { call } from "./requests.js";
import { resultTable } from "./results.js";
import { fileField } from "./sheets.js";
import { backLink } from "./visited.js";

export async function affiliateBatchView({ signal }) {
  const fields = await affiliateFields();
  const input = element("textarea", { rows: 10, spellcheck: "false", autocomplete: "off" });
  const lines = field("lines", "Affiliates", input, {
    hint: "One affiliate per line: your affiliate ID, the name and, if you like, the country (name or two-letter code). Separate them with tabs, semicolons or commas. "
      + "For other fields, begin with a line that names the columns, such as client_affiliate_id, affiliate_name, email_one.",
  });
  const dates = field("dates", "Dates such as 1/5/2026", select([["", "choose"], ["dmy", "the day is first"], ["mdy", "the month is first"]]));
  dates.node.hidden = true;
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
    const { header, unknown, items, problem, isOpen, problems } = affiliateLines(input.value, fields, dates.input.value || null);
    lines.violate([]);
    dates.node.hidden &&= !isOpen;
    if (problem !== null) {
      lines.violate([problem]);
      (isOpen ? dates.input : input).focus();
      return;
    }
    if (problems.length > 0) {
      put(element("div", { class: "message error", role: "alert" }, element("p", {}, "Nothing was sent. Correct these lines."),
        element("ul", {}, problems.map(({ number, name, reason }) => element("li", {}, `Line ${number}: ${name && `${name}: `}${reason}`)))));
      return;
    }
    isSaving = true;
    button.textContent = "Adding…";
    const skipped = header !== null && element("p", {}, `Line ${header} is a header.`,
      unknown.length > 0 && ` You cannot set these columns, so the console ignored them: ${unknown.join(", ")}.`);
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
          : `${counted(done, "affiliate was", "affiliates were")} created, ${body.length - done} ${body.length - done === 1 ? "was" : "were"} not. Correct these lines and add them again.`),
        skipped, resultTable("Results", ["Line", "Name", "Result"], rows)));
    }, (rejection) => {
      const message = rejectionMessage(rejection, rejection.status === 422 ? null : submit);
      const named = Object.entries(rejection.errors).map(([path, texts]) => {
        const index = /^affiliates\.(\d+)/.exec(path)?.[1];
        return `${index === undefined ? path : `Line ${items[index].number}`}: ${texts.join(" ")}`;
      });
      if (named.length > 0) {
        message.append(element("ul", {}, named.map((text) => element("li", {}, text))));
        lines.violate([`Correct ${counted(named.length, "value", "values")}: see the message above.`]);
      }
      put(message);
    });
    isSaving = false;
    button.textContent = "Add";
  };
  const form = element("form", { novalidate: true, on: { submit: (event) => {
    event.preventDefault();
    if (!isSaving) submit();
  } } }, lines.node, fileField(input), dates.node, element("p", { class: "actions" }, button, backLink("affiliates")));
  show("Add several affiliates", messages, form);
  return { hasChanges: () => input.value !== sent };
}
