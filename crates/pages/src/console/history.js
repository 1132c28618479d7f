// The changes of a record, newest first. The console reads them only on request, because the token needs the scope `audit`.

import { counted, element, put as show, table } from "./elements.js";
import { partLine } from "./history-parts.js";
import { author, names as namesOf, operationName, visibleFields } from "./history-words.js";
import { attempt, rejectionMessage } from "./rejections.js";
import { call } from "./requests.js";
import { timestamp } from "./timestamps.js";
import { undoButton } from "./undo.js";

const MOST = 20;

/** The changed fields, one per line. A new or deleted record has many, so they are folded. */
function lines(change, names) {
  const fields = visibleFields(change);
  const parts = names.parts(change);
  if (change.operation === "updated" && fields.length + parts.length === 0) return change.resource === "case" ? "its incidents" : "its related records";
  const list = element("ul", { class: "changes" }, fields.map((field) => names.line(change, field)), parts.map((part) => partLine(part, names)));
  if (change.operation === "updated" || fields.length < 2) return list;
  return element("details", {}, element("summary", {}, counted(fields.length, "field", "fields")), list);
}

/**
 * A section with a button, which shows the changes of the record of a kind: `affiliate`, `url` or `case`. With `page`, changes can be
 * undone: it has `mayLeave`, which asks whether the page may lose what was typed, and `reload`, which shows the record with a message.
 */
export function history(resource, id, signal, page = null) {
  const names = namesOf(signal);
  const messages = element("div", {});
  const content = element("div", { class: "results" });
  const rows = [];
  let before = null;

  async function read(position) {
    const { body } = await call("GET", "api/audit", { query: { resource, id, limit: MOST, ...(position === null ? {} : { before: position }) }, signal });
    return body.data;
  }
  /** All changes of the record after a position, newest first. */
  async function later(position) {
    const found = [];
    for (let next = null; next === null || next > position;) {
      const answer = await read(next);
      found.push(...answer.changes.filter((change) => change.position > position));
      if (answer.next === null) break;
      next = answer.next;
    }
    return found;
  }
  const put = (message) => show(messages, message);
  const row = (change) => {
    const undo = page && undoButton({ resource, id, change, names, later, put, signal, ...page });
    return [timestamp(change.time), author(change), [operationName(change.operation), undo && [" ", undo]], lines(change, names)];
  };

  let isReading = false;
  const readMore = async () => {
    if (isReading) return;
    isReading = true;
    await attempt(signal, async () => {
      const { changes, next } = await read(before);
      await names.learn(changes);
      rows.push(...changes.map(row));
      before = next;
      content.replaceChildren(rows.length > 0 ? table("Changes", ["Time", "By", "What", "Fields"], rows)
        : element("p", {}, before === null ? "No changes are recorded." : "None of the newest changes concern this record."));
      button.textContent = "Show older changes";
      const hadFocus = document.activeElement === button;
      button.hidden = before === null;
      if (hadFocus && button.hidden) content.querySelector(".scroll")?.focus();
    }, (rejection) => content.replaceChildren(rejection.status === 403
      ? element("p", {}, "You don't have permission to see the history. Ask your operator for a token or role with the scope audit.") : rejectionMessage(rejection, readMore)));
    isReading = false;
  };
  const button = element("button", { type: "button", on: { click: readMore } }, "Show changes");
  return element("section", {}, element("h2", {}, "History"), messages, content, button);
}
