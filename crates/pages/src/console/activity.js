// Shows a record's history, newest first: notes and changes, with author and time. Requires the `audit` scope, or `cases` for a case or URL.

import { counted, element, put as show, value } from "./elements.js";
import { partWords } from "./history-parts.js";
import { author, DATES, names as namesOf, operationName, visibleFields } from "./history-words.js";
import { longText, VERY_LONG } from "./long-text.js";
import { attempt, rejectionMessage } from "./rejections.js";
import { call } from "./requests.js";
import { allows } from "./session.js";
import { agoNode } from "./timestamps.js";
import { undoButton } from "./undo.js";

const MOST = 50;
/** Maximum number of further requests that look for the author of the latest note, with 100 changes each. */
const FURTHER = 4;

const noteOf = ({ resource, fields }) => (resource === "affiliate" ? null : fields.find(({ field }) => field === "note")?.after ?? null);
const quote = (text) => element("blockquote", {}, text.length > VERY_LONG ? longText("Note", text) : value(text));

/** Returns whether a change sets the note of an earlier change again, such as by undoing a later one. */
export function restoresNote(change, changes) {
  const note = noteOf(change);
  return note !== null && changes.some((other) => other.position < change.position && noteOf(other) === note);
}

/** Describes a change: returns a sentence, and a list of details if several fields changed. */
function describe(change, names, isRestored) {
  const note = noteOf(change);
  const written = isRestored ? "set the note to an earlier text" : "wrote a note";
  const fields = visibleFields(change).filter(({ field }) => note === null || field !== "note");
  const own = change.operation === "updated" ? fields.filter(({ field }) => !DATES.includes(field)) : fields;
  // Show changed dates only if nothing else has changed with them.
  const phrases = [...(own.length > 0 || note !== null ? own : fields).map((field) => names.phrase(change, field)), ...names.parts(change).map((part) => partWords(part, names))];
  const list = element("ul", { class: "changes" }, phrases.map((phrase) => element("li", {}, phrase)));
  if (change.operation !== "updated") {
    return [operationName(change), phrases.length > 0 && element("details", {}, element("summary", {}, counted(phrases.length, "field", "fields")), list)];
  }
  if (phrases.length === 0) return [note === null ? `changed ${change.resource === "case" ? "its incidents" : "its related records"}` : written, null];
  return phrases.length === 1 && note === null ? [phrases[0], null] : [note === null ? `made ${phrases.length} changes` : written, list];
}

/**
 * Returns a section with the notes and changes of an `affiliate`, `url` or `case`. With `page`, users can undo changes. `page` contains the
 * `record` and the form's `note` box. Its `mayLeave` asks whether to discard unsaved input, `reload` shows the record again with a
 * message, and `editNote` puts the latest note into the box.
 */
export function activity(resource, id, signal, page = null) {
  const names = namesOf(signal);
  const messages = element("div", {});
  const list = element("ol", { class: "activity", "aria-label": "Changes", "aria-busy": "true" });
  const latest = page?.record.note ? element("li", {}, element("p", {}, "Latest note"), quote(page.record.note)) : null;
  const isLatest = (change) => noteOf(change) === page.record.note;
  /** The shown changes, and their nodes in the list. */
  const entries = [];
  let before = null;

  async function read(position, limit = MOST) {
    const { body } = await call("GET", "api/audit", { query: { resource, id, limit, ...(position === null ? {} : { before: position }) }, signal });
    return body.data;
  }
  /** Returns all changes to the record after a position, newest first. */
  async function later(position) {
    const found = [];
    for (let next = null; next === null || next > position;) {
      const answer = await read(next, 100);
      found.push(...answer.changes.filter((change) => change.position > position));
      if (answer.next === null) break;
      next = answer.next;
    }
    return found;
  }
  const put = (message) => show(messages, message);
  const entry = (change) => {
    const note = noteOf(change);
    const changes = entries.map((other) => other.change);
    const isRestored = restoresNote(change, changes);
    const [sentence, details] = describe(change, names, isRestored);
    const undo = page && undoButton({ resource, id, change, changes, names, later, put, signal, ...page });
    return element("li", {},
      element("p", {}, element("strong", {}, author(change)), " ", sentence, " · ", agoNode(change.time), undo && [" ", undo]),
      note !== null && quote(note), details);
  };

  let isReading = false;
  const readMore = async () => {
    if (isReading) return;
    isReading = true;
    await attempt(signal, async () => {
      let { changes, next } = await read(before);
      for (let times = 0; latest !== null && before === null && next !== null && times < FURTHER && !changes.some(isLatest); times += 1) {
        const further = await read(next, 100);
        [changes, next] = [[...changes, ...further.changes], further.next];
      }
      await names.learn(changes);
      const hadFocus = document.activeElement === button;
      const shown = entries.length;
      entries.push(...changes.map((change) => ({ change, node: null })));
      for (const each of entries) {
        // Older changes can show that an entry only restores its note.
        if (each.node !== null && !restoresNote(each.change, changes)) continue;
        const node = entry(each.change);
        if (each.node === null) list.append(node);
        else each.node.replaceWith(node);
        each.node = node;
      }
      // The latest note without its author follows the changes, because it is older.
      if (latest !== null) {
        if (entries.some(({ change }) => isLatest(change))) latest.remove();
        else list.append(latest);
      }
      before = next;
      button.hidden = next === null;
      if (hadFocus) (entries[shown]?.node.querySelector("a, button, summary") ?? button).focus();
      if (list.childElementCount === 0) messages.replaceChildren(element("p", { class: "hint" }, next === null ? "No recorded changes." : "No recent changes to this record."));
    }, (rejection) => {
      if (rejection.status !== 403) {
        put(rejectionMessage(rejection, readMore));
        return;
      }
      // The next note would replace the latest one, which this user cannot see in the history, so show it in the box.
      page?.editNote();
      refuse();
    });
    list.removeAttribute("aria-busy");
    isReading = false;
  };
  const scope = resource === "affiliate" ? "audit" : "cases";
  const refuse = () => {
    switcher.hidden = true;
    messages.replaceChildren(element("p", { class: "hint" }, `You don't have permission to see the history. Ask your operator for a token or role with the scope ${scope}.`));
    list.removeAttribute("aria-busy");
  };
  const button = element("button", { type: "button", hidden: true, on: { click: readMore } }, "Show older changes");
  if (latest) list.append(latest);
  const switcher = element("button", { type: "button", on: { click: () => {
    switcher.textContent = list.classList.toggle("only-notes") ? "Show all changes" : "Show only notes";
  } } }, "Show only notes");
  if (allows("audit") || allows(scope)) readMore();
  else refuse();
  return element("section", { class: "story" }, element("h2", {}, page ? "Notes and history" : "History"), page?.note, messages, page && element("p", {}, switcher), list, button);
}
