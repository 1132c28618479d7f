// Work on a case or a URL: a form of the fields that officers change. It shows changes by another person and does not overwrite them.

import { label } from "./description.js";
import { element, put as show, removeDone, value } from "./elements.js";
import { field, select, showViolations } from "./fields.js";
import { attempt, rejectionMessage } from "./rejections.js";
import { call } from "./requests.js";
import { claims } from "./session.js";
import { vocabularies } from "./vocabularies.js";

/** Each list: what its records are called, the vocabularies of its fields, and the fields that officers change. */
export const SECTIONS = {
  cases: {
    title: "Work on this case",
    what: "case",
    names: { case_status: "case_status", sub_status: "case_sub_status", risk_level: "risk_level", notice_status: "notice_status" },
    fields: ["case_worker", "case_status", "sub_status", "risk_level", "notice_status", "follow_up_date", "tags", "note"],
  },
  urls: {
    title: "Review this URL",
    what: "URL",
    names: { incident_status: "url_incident_status" },
    fields: ["incident_status", "false_positive", "disabled", "note"],
  },
};
/** The case statuses in which a case has ended. */
const ENDED = ["Resolved", "Closed", "Rejected", "Invalid", "Duplicate"];
/** Fields that always have a value. */
const REQUIRED = ["case_status", "incident_status", "disabled"];

/** A tag on its own line. A tag with line ends or outer spaces is quoted, as in JSON. */
const tagLine = (tag) => (/[\r\n]|^["\s]|\s$/.test(tag) ? JSON.stringify(tag) : tag);

/** The tag of a line. */
function tagOf(line) {
  try {
    const tag = JSON.parse(line);
    return typeof tag === "string" && tagLine(tag) === line ? tag : line;
  } catch {
    return line;
  }
}

/** The value of a field as its control shows it. */
export function text(record, name) {
  const content = record[name];
  if (name === "tags") return content.map(tagLine).join("\n");
  if (name === "follow_up_date") return content === null ? "" : content.replace(" ", "T").slice(0, 16);
  return content ?? "";
}

/** The value of a control in the form that the service accepts. */
export function sent(name, typed) {
  if (name === "tags") return typed.split("\n").map((line) => line.trim()).filter((line) => line !== "").map(tagOf);
  if (name === "follow_up_date" && typed !== "") return `${typed.replace("T", " ")}:00`;
  return typed === "" ? null : typed;
}

/** The names that a field can have, or null. `known` are the vocabularies. */
export function choices(section, name, known) {
  const { names } = SECTIONS[section];
  if (name in names) return known.get(names[name]).map((entry) => entry.name);
  return ["false_positive", "disabled"].includes(name) ? ["yes", "no"] : null;
}

export function inputOf(name, choices) {
  if (choices) return select(REQUIRED.includes(name) ? choices : [["", "none"], ...choices]);
  if (name === "note" || name === "tags") return element("textarea", { rows: 3 });
  if (name === "follow_up_date") return element("input", { type: "datetime-local" });
  return element("input", { type: "text", autocomplete: "off" });
}

/** The changes of the fields between two states of a record, in words. */
function differences(names, before, after) {
  const changed = names.filter((name) => text(before, name) !== text(after, name));
  return changed.map((name) => element("li", {}, `${label(name)}: `, value(text(before, name)), " → ", value(text(after, name))));
}

/**
 * The form for a record of `cases` or `urls` with its tag. `reload` shows the record again, with a message.
 * @returns {Promise<{node: HTMLElement, hasChanges: () => boolean}>}
 */
export async function work(section, id, first, signal, reload) {
  const { title, what, fields } = SECTIONS[section];
  const known = await vocabularies(signal);
  let { record, tag } = first;
  const choicesOf = (name) => choices(section, name, known);
  const controls = new Map(fields.map((name) => {
    const hint = { follow_up_date: "In UTC.", tags: "One per line." }[name];
    const me = claims().subject;
    const extra = name === "case_worker" && me && element("button", { type: "button", on: { click: () => {
      controls.get(name).input.value = me;
    } } }, "Assign to me");
    return [name, field(name, label(name), inputOf(name, choicesOf(name)), { hint, extra })];
  }));
  const filled = new Map();
  // A control can show a text differently, such as with other line ends. Only typed text counts as a change.
  const settle = () => {
    for (const [name, { input }] of controls) filled.set(name, input.value);
  };
  const fill = () => {
    for (const [name, { input }] of controls) input.value = text(record, name);
    settle();
  };
  const changes = () => [...controls].filter(([name, { input }]) => input.value !== filled.get(name));
  const messages = element("div", {});
  const put = (message) => show(messages, message);

  /** Shows the changes of another person, and keeps what was typed. If only a program has changed the record, calls `again`. */
  async function showConflict(again) {
    const { body, tag: newTag } = await call("GET", `api/${section}/${id}`, { signal });
    const list = differences(fields, record, body.data);
    const typed = new Map(changes().map(([name, { input }]) => [name, input.value]));
    [record, tag] = [body.data, newTag];
    fill();
    for (const [name, entry] of typed) controls.get(name).input.value = entry;
    if (list.length === 0) {
      await again();
      return;
    }
    put(element("div", { class: "message error", role: "alert" },
      element("p", {}, `Nothing was saved: another person has changed this ${what}.`),
      element("ul", { "aria-label": "Changes by another person" }, list),
      element("p", {}, "What you typed stays in the form. Save again to apply it.")));
  }

  let isSaving = false;
  async function send(method, path, body, done) {
    if (isSaving) return;
    isSaving = true;
    removeDone();
    await attempt(signal, async () => {
      await call(method, path, { body, signal, ifMatch: tag });
      settle();
      await reload(done);
    }, async (rejection) => {
      if (rejection.status === 412) {
        isSaving = false;
        await attempt(signal, () => showConflict(() => send(method, path, body, done)), (again) => put(rejectionMessage(again, null)));
        return;
      }
      const message = rejectionMessage(rejection, [409, 422].includes(rejection.status) ? null : () => send(method, path, body, done));
      const links = showViolations(controls, rejection.errors);
      if (links.length > 0) message.append(element("ul", {}, links));
      put(message);
    });
    isSaving = false;
  }

  const save = () => {
    const body = Object.fromEntries(changes().map(([name, { input }]) => [name, sent(name, input.value)]));
    if (Object.keys(body).length > 0) send("PATCH", `api/${section}/${id}`, body, "Saved.");
    else put(element("div", { class: "message", role: "status" }, element("p", {}, "Nothing has changed.")));
  };
  const action = (name, done) => element("button", { type: "button", on: { click: () => {
    // The page is shown again afterwards, without what was typed.
    if (changes().length > 0) put(element("div", { class: "message", role: "status" }, element("p", {}, `Save your changes first. Then press ${name} again.`)));
    else send("POST", `api/cases/${id}/${name.toLowerCase()}`, {}, done);
  } } }, name);
  const actions = section === "cases" && (ENDED.includes(record.case_status) ? [action("Reopen", "The case is open again.")]
    : [action("Resolve", "The case is resolved."), action("Close", "The case is closed.")]);
  const node = element("section", { class: "panel" }, element("h2", {}, title), messages,
    element("form", { novalidate: true, "aria-label": title, on: { submit: (event) => {
      event.preventDefault();
      save();
    } } }, element("div", { class: "grid" }, [...controls.values()].map((control) => control.node)),
    element("p", { class: "actions" }, element("button", { type: "submit", class: "primary" }, "Save"), actions)));
  fill();
  return { node, hasChanges: () => changes().length > 0 };
}
