// The changes of a record, newest first. They are read when somebody asks for them, since the token needs the scope `audit`.

import { element, table, value } from "./elements.js";
import { refusalMessage } from "./refusals.js";
import { call, Refusal } from "./requests.js";
import { timestamp } from "./timestamps.js";

const MOST = 50;
// Of a longer text, the beginning is shown.
const LONGEST = 200;

function short(text) {
  return value(text !== null && text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);
}

function row({ time, subject, operation, fields }) {
  const changed = fields.map(({ field, before, after }) =>
    element("li", {}, element("code", {}, field), ": ", operation === "updated" && [short(before), " → "], short(after ?? (operation === "deleted" ? before : null))));
  return [timestamp(time), value(subject), operation, element("ul", {}, changed)];
}

/** A section with a button, which shows the changes of the record of a kind: `affiliate`, `url` or `case`. */
export function history(resource, id, signal) {
  const content = element("div", { class: "results" });
  const rows = [];
  let before;
  const read = async () => {
    button.disabled = true;
    try {
      const { body } = await call("GET", "api/audit", { query: { resource, id, limit: MOST, ...(before ? { before } : {}) }, signal });
      rows.push(...body.data.changes.map(row));
      before = body.data.next;
      content.replaceChildren(rows.length > 0 ? table("Changes", ["Time", "By", "What", "Fields"], rows) : element("p", {}, before === null ? "No changes are kept." : "None of the newest changes is of this record."));
      button.textContent = "Show older changes";
      button.hidden = before === null;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Refusal)) throw error;
      content.replaceChildren(error.status === 403 ? element("p", {}, "Your sign-in may not see the history.") : refusalMessage(error, read));
    } finally {
      button.disabled = false;
    }
  };
  const button = element("button", { type: "button", on: { click: read } }, "Show changes");
  return element("section", {}, element("h2", {}, "History"), content, button);
}
