// Shows a form with the case or URL fields that officers change. The form shows other people's changes, and does not overwrite them.

import { label, words } from "./description.js";
import { confirmLeave, doneMessage, element, put as show, removeDone, value } from "./elements.js";
import { field, haveValidDates, select, showViolations, WORK_DATES } from "./fields.js";
import { fieldLabel, latestAuthor } from "./history-words.js";
import { entryOf, incidentText, infractionOf, infractionsControl, infractionText } from "./infractions.js";
import { attempt, rejectionMessage, showSaved } from "./rejections.js";
import { call } from "./requests.js";
import { allows, claims } from "./session.js";
import { tagsControl, tagsText } from "./tags.js";
import { hasEnded } from "./timestamps.js";
import { vocabularies } from "./vocabularies.js";
import { suggestWorkers } from "./workers.js";

/**
 * The texts, field vocabularies and editable fields of each list. `others` are the fields that colleagues can change outside the form. It omits
 * dates, because the service sets them together with these fields. Programs constantly change further fields, such as `last_seen`.
 */
export const SECTIONS = {
  cases: {
    title: "Work on this case",
    what: "case",
    names: { case_status: "case_status", sub_status: "case_sub_status", risk_level: "risk_level", notice_status: "notice_status" },
    fields: ["case_status", "sub_status", "case_worker", "risk_level", "notice_status", "follow_up_date", "tags", "note"],
    others: ["distributor_id", "case_country", "submitter", "sub_affiliate_id", "incidents"],
  },
  urls: {
    title: "Review this URL",
    what: "URL",
    names: { incident_status: "url_incident_status" },
    fields: ["incident_status", "infractions", "false_positive", "disabled", "note"],
    others: ["case_id"],
  },
};
/** Fields whose controls hold a list. */
const LISTS = ["tags", "infractions"];
/** Fields that always have a value. */
export const REQUIRED = ["case_status", "incident_status", "disabled"];

/** Returns a field's value as its control stores it. */
function held(record, name) {
  if (name === "tags") return JSON.stringify(record.tags);
  if (name === "infractions") return JSON.stringify(record.infractions.map(entryOf));
  return (name === "follow_up_date" ? record[name]?.slice(0, 10) : record[name]) ?? "";
}

/** Converts a control's value to the form that the service accepts. */
export function sent(name, typed) {
  if (name === "tags") return JSON.parse(typed);
  if (name === "infractions") return JSON.parse(typed).map(infractionOf);
  if (typed === "") return null;
  return name === "follow_up_date" ? `${typed} 00:00:00` : typed;
}

/** Returns a field's choices, or null if it has none. `known` contains the vocabularies. */
export function choices(section, name, known) {
  const { names } = SECTIONS[section];
  if (name in names) return known.get(names[name]).map((entry) => entry.name);
  return ["false_positive", "disabled"].includes(name) ? ["no", "yes"].map((choice) => [choice, words(name, choice)]) : null;
}

export function inputOf(name, choices) {
  if (choices) return select(REQUIRED.includes(name) ? choices : [["", "none"], ...choices]);
  if (name === "note") return element("textarea", { rows: 3, placeholder: "Write a note" });
  return element("input", name === "follow_up_date" ? { type: "date", ...WORK_DATES } : { type: "text", autocomplete: "off" });
}

/** Applies a user's additions and removals to a list that someone else has changed. The lists are JSON text. */
export function merged(before, after, theirs) {
  const [old, mine, others] = [before, after, theirs].map((text) => JSON.parse(text));
  const kept = others.filter((entry) => mine.includes(entry) || !old.includes(entry));
  return JSON.stringify([...kept, ...mine.filter((entry) => !old.includes(entry) && !others.includes(entry))]);
}

/** Returns a field's value in words, as a list. */
function texts(record, name) {
  if (name === "infractions") return record.infractions.map(infractionText);
  if (name === "incidents") return record.incidents.map(incidentText);
  if (name === "tags") return [tagsText(record.tags)];
  return [words(name, record[name === "distributor_id" ? "affiliate_name" : name]) ?? ""].flat();
}

/** Returns the fields that officers work with and that differ between two states of a record. */
export function changedFields(section, before, after) {
  const compared = (record, name) => JSON.stringify(["infractions", "incidents"].includes(name) ? texts(record, name) : record[name]);
  return [...SECTIONS[section].fields, ...SECTIONS[section].others].filter((name) => compared(before, name) !== compared(after, name));
}

/**
 * Creates the form for a record of `cases` or `urls`. Its parts are the `properties` and the box for the next `note`, which are saved
 * together. `reload(message, isNote)` shows the record again with a message at the properties or the note. `changed` shows the record
 * around these parts again after someone else has changed it.
 */
export async function work(section, id, first, signal, { reload, changed }) {
  const { title, what, fields } = SECTIONS[section];
  const known = await vocabularies(signal);
  let { record, tag } = first;
  const me = claims().subject;
  const isAllowed = allows("cases");
  const assign = element("button", { type: "button", on: { click: () => {
    box = messages;
    controls.get("case_worker").set(me);
    if (changes().every(([name]) => name === "case_worker")) save();
    else say("Nothing was saved yet. Press Save to assign the case to you, together with your other changes.");
  } } }, "Assign to me");
  const controls = new Map(fields.map((name) => {
    if (LISTS.includes(name)) {
      const { input, list, add, get, set } = name === "tags" ? tagsControl() : infractionsControl(known);
      return [name, { ...field(name, label(name), input, { extra: [add, list] }), get, set }];
    }
    const input = inputOf(name, choices(section, name, known));
    const set = (text) => {
      input.value = text;
    };
    const extra = name === "case_worker" && [assign, suggestWorkers(input, signal)];
    return [name, { ...field(name, label(name), input, { extra }), get: () => (input.validity.badInput ? "unfinished" : input.value), set }];
  }));
  const note = controls.get("note");
  const filled = new Map();
  let isEditing = false;
  /** Whether a request without a response may have saved the note. */
  let isUnsure = false;
  // Controls can alter text, such as its line endings. Only typed text counts as a change.
  const settle = () => {
    for (const [name, { get }] of controls) filled.set(name, get());
  };
  const fill = () => {
    // Leave the note box empty for the next note.
    for (const [name, { set }] of controls) set(name === "note" && !isEditing ? "" : held(record, name));
    settle();
  };
  const changes = () => [...controls].filter(([name, { get }]) => get() !== filled.get(name));
  const [messages, noteMessages] = [element("div", {}), element("div", {})];
  /** Where the next message appears: next to the button that the user pressed. */
  let box = messages;
  const put = (message) => show(box, message);
  const say = (text) => put(element("div", { class: "message", role: "status" }, element("p", {}, text)));

  /**
   * Shows the other person's changes, and keeps the user's input. `wanted` contains the fields that the request sets, and `done` the message
   * for its success. If nobody else has changed the record, calls `again`, unless the record already has these fields.
   */
  async function showConflict(wanted, done, again) {
    const { body, tag: newTag } = await call("GET", `api/${section}/${id}`, { signal });
    const before = record;
    const typed = changes().map(([name, { get }]) => [name, filled.get(name), get()]);
    [record, tag] = [body.data, newTag];
    // The response to an earlier attempt may have been lost.
    const isSaved = (name) => name in wanted && held(wanted, name) === held(record, name);
    const isDone = Object.keys(wanted).every(isSaved);
    fill();
    for (const [name, old, after] of typed) if (!isSaved(name)) controls.get(name).set(LISTS.includes(name) ? merged(old, after, held(record, name)) : after);
    const shown = (state, name) => value(texts(state, name).join(", "));
    const list = changedFields(section, before, record).filter((name) => !isSaved(name))
      .map((name) => element("li", {}, `${fieldLabel(name)}: `, shown(before, name), " → ", shown(record, name)));
    // Other people's changes do not conflict with a new note. If a response was lost, the note may already be saved.
    const isNote = Object.keys(wanted).join() === "note" && !isEditing && !isUnsure;
    if (list.length > 0) {
      showActions();
      changed(record);
    }
    if (list.length === 0 || isNote) {
      await (isDone ? reloadAfter(done) : again());
      return;
    }
    const who = await latestAuthor(section, id, signal) ?? "someone else";
    put(element("div", { class: "message error", role: "alert" },
      element("p", {}, `${isDone ? "Your change is saved, but" : "Nothing was saved:"} ${who} has changed this ${what}.`),
      element("ul", { "aria-label": "Changes by someone else" }, list),
      !isDone && typed.length > 0 && element("p", {}, "What you typed stays in the form. Save again to apply it.")));
  }

  /** Keeps the user from typing while a request runs, because the page then reloads. */
  const lock = (isLocked) => {
    for (const part of [form, note.node, addNote]) part.inert = isLocked;
  };
  const mayLeave = () => changes().length === 0 || confirmLeave();
  const reloadAfter = (done) => showSaved(done, (text) => reload(text, box === noteMessages), put, signal, mayLeave);
  /** Sends a request that sets the fields in `wanted`, and shows the record again with the message `done`. */
  async function send(method, path, body, done, wanted = body) {
    if (form.inert) return;
    lock(true);
    removeDone();
    // The form may have changed before the user tries again.
    const again = () => {
      if (form.inert) return undefined;
      if (method === "PATCH") return save();
      return changes().length > 0 ? say("Save your changes first. Then try again.") : send(method, path, body, done, wanted);
    };
    const afterConflict = () => {
      lock(false);
      return again();
    };
    try {
      await attempt(signal, async () => {
        const { tag: newTag } = await call(method, path, { body, signal, ifMatch: tag });
        [record, tag] = [{ ...record, ...wanted }, newTag ?? tag];
        settle();
        await reloadAfter(done);
      }, async (rejection) => {
        if (rejection.status === 412) {
          await attempt(signal, () => showConflict(wanted, done, afterConflict), (other) => put(rejectionMessage(other, null)));
          return;
        }
        isUnsure ||= [0, 500, 502, 504].includes(rejection.status);
        const message = rejectionMessage(rejection, [409, 422].includes(rejection.status) ? null : again);
        const links = showViolations(controls, rejection.errors);
        if (links.length > 0) message.append(element("ul", {}, links));
        put(message);
      });
    } finally {
      lock(false);
      showUnsaved();
    }
  }

  const save = () => {
    const edited = changes();
    // Programs can set dates that officers cannot enter.
    if (!haveValidDates(edited.map(([name]) => controls.get(name)))) return;
    const body = Object.fromEntries(edited.map(([name, { get }]) => [name, sent(name, get())]));
    if (Object.keys(body).length > 0) return send("PATCH", `api/${section}/${id}`, body, "Saved.");
    say("Nothing has changed.");
  };
  const action = (name, status, done) => element("button", { type: "button", on: { click: () => {
    box = messages;
    // The page then reloads, which would discard unsaved input.
    if (changes().length > 0) say(`Save your changes first. Then press ${name} again.`);
    else send("POST", `api/cases/${id}/${name.toLowerCase()}`, {}, done, { case_status: status });
  } } }, name);
  const [unsaved, actions] = [element("span", { class: "unsaved", role: "status" }), element("p", { class: "actions" })];
  const showActions = () => {
    const others = hasEnded(record) ? [action("Reopen", "Open", "The case is open again.")]
      : [action("Resolve", "Resolved", "The case is resolved."), action("Close", "Closed", "The case is closed.")];
    actions.replaceChildren(element("button", { type: "submit", class: "primary" }, "Save"), ...(section === "cases" ? others : []), unsaved);
  };
  const showUnsaved = () => {
    const text = changes().length > 0 ? "Not saved yet" : "";
    // Screen readers announce each new text.
    if (unsaved.textContent !== text) unsaved.textContent = text;
    if (text) removeDone();
    assign.hidden = !me || !isAllowed || controls.get("case_worker")?.get() === me;
  };
  const submit = (event) => {
    event.preventDefault();
    box = event.submitter === addNote ? noteMessages : messages;
    save();
  };
  const form = element("form", { id: "work", novalidate: true, "aria-label": title, on: { submit, input: showUnsaved, click: showUnsaved, keyup: showUnsaved } },
  [...controls].map(([name, { node }]) => name !== "note" && node), actions);
  const addNote = element("button", { type: "submit", form: form.id }, "Add the note");
  note.input.setAttribute("form", form.id);
  note.input.addEventListener("input", showUnsaved);
  note.input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit(addNote);
  });
  fill();
  showActions();
  showUnsaved();
  if (!isAllowed) {
    for (const control of /** @type {Iterable<HTMLInputElement>} */ (/** @type {unknown} */ (form.elements))) control.disabled = true;
    actions.replaceChildren(element("span", { class: "hint" }, `You don't have permission to change this ${what}. Ask your operator for the scope cases.`));
  }
  return {
    properties: element("section", { class: "panel properties" }, element("h2", {}, title), messages, form),
    note: element("div", { class: "next-note", needs: "cases" }, noteMessages, note.node, addNote),
    hasChanges: () => changes().length > 0,
    say: (text, isNote) => show(isNote ? noteMessages : messages, doneMessage(text)),
    /** Puts the latest note into the box for editing. */
    editNote: () => {
      if (isEditing || note.get() !== "") return;
      isEditing = true;
      note.set(record.note ?? "");
      filled.set("note", note.get());
    },
  };
}
