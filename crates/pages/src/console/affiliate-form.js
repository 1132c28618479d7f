// The form that creates or edits an affiliate.

import { capital } from "./badges.js";
import { alpha2, countries } from "./countries.js";
import { affiliateFields } from "./description.js";
import { confirmLeave, doneMessage, element, put, removeDone, show, tell, value } from "./elements.js";
import { field, haveValidDates, select, showViolations } from "./fields.js";
import { latestAuthor } from "./history-words.js";
import { attempt, rejectionMessage, showSaved } from "./rejections.js";
import { call } from "./requests.js";
import { backLink } from "./visited.js";

/** Fields whose names differ between responses and requests. */
export const READ_AS = { client_affiliate_id: "client_distributor_id", affiliate_name: "distributor_name", status: "distributor_status" };
/** Hints for officers. The descriptions in the OpenAPI document are for developers. */
const HINTS = {
  affiliate_name: "Each affiliate has a different name.",
  client_affiliate_id: "Several affiliates can have the same ID.",
  replicated_website: "The affiliate's own copy of your website",
  upline: "Your affiliate ID for the affiliate above this one",
};
/** Groups of fields. The last group contains all remaining fields. */
/** @type {[string, string[] | null][]} */
export const GROUPS = [
  ["Affiliate", ["affiliate_name", "client_affiliate_id", "first_name", "last_name", "status", "start_date", "company_name", "notes"]],
  ["Contact", ["email_one", "email_two", "phone_one", "phone_two", "address", "city", "state", "zip", "country"]],
  ["Web", ["replicated_website", "facebook", "instagram", "youtube", "twitter", "tiktok", "pintrest"]],
  ["Program", null],
];

function inputOf({ name, choices, pattern, maxLength }) {
  if (choices) return select([["", "none"], ...choices.map((choice) => [choice, capital(choice)])]);
  if (name === "start_date") return element("input", { type: "date" });
  if (name === "country") return select([["", "none"], ...countries(pattern).map(([code, text]) => [code, `${text} (${code})`])]);
  return maxLength > 500 ? element("textarea", { rows: 3 }) : element("input", { type: "text", autocomplete: "off" });
}

function controlsOf(fields) {
  return new Map(fields.map((description) => {
    const { name, label, isRequired } = description;
    return [name, { ...field(name, label, inputOf(description), { hint: HINTS[name], isRequired }), isRequired }];
  }));
}

/** Returns the groups. A new affiliate's later groups are folded. */
function fieldsets(controls, isNew) {
  const left = new Set(controls.keys());
  return GROUPS.map(([title, names]) => {
    const chosen = (names ?? [...left]).filter((name) => left.delete(name));
    const grid = element("div", { class: "grid" }, chosen.map((name) => controls.get(name).node));
    if (isNew && ["Web", "Program"].includes(title)) return element("details", { class: "panel" }, element("summary", {}, title), grid);
    return element("fieldset", {}, element("legend", {}, title), grid);
  });
}

/** Returns the ID of the affiliate that an error message names, or null. */
export function ownerIn(message) {
  return /Its ID is (\d+)\./.exec(message)?.[1] ?? null;
}

/** Returns the ID of the affiliate that already has the name, or null. */
function ownerOf({ status, message }) {
  return status === 409 ? ownerIn(message) : null;
}

/** Returns a record's value as the form shows it. */
function valueOf(record, name) {
  const stored = record?.[READ_AS[name] ?? name] ?? null;
  return name === "country" ? alpha2(stored) : stored ?? "";
}

function valuesOf(record, controls) {
  return new Map([...controls.keys()].map((name) => [name, valueOf(record, name)]));
}

/**
 * Returns a form with these fields. `save` receives the changed values. `reload` then shows the record again with a message. `reread` returns
 * the current record after someone else has changed it. With `cancel`, the form has a button that calls it.
 */
export function affiliateForm({ fields, title, record, signal, save, reload = () => {}, reread = null, cancel = null }) {
  const controls = controlsOf(fields);
  let saved = valuesOf(record, controls);
  const messages = element("div", {});
  const typed = () => new Map([...controls].map(([name, { input }]) => [name, input.value]));
  const set = (values) => {
    for (const [name, { input }] of controls) input.value = values.get(name) ?? "";
    // Controls can alter text, for example by removing line breaks. Only typed text counts as a change.
    saved = typed();
  };
  const changes = () => [...controls].filter(([name, { input }]) => input.validity.badInput || input.value !== saved.get(name));

  /** Shows the other person's changes, and keeps the user's input. If nobody else has changed the record, saves the rest of the input. */
  async function showConflict() {
    const [before, mine] = [saved, new Map(changes().map(([name, { input }]) => [name, input.value]))];
    set(valuesOf(await reread(), controls));
    // The response to an earlier attempt may have been lost.
    const list = [...saved].filter(([name, text]) => text !== before.get(name) && text !== mine.get(name)).map(([name, text]) => (
      element("li", {}, `${fields.find((each) => each.name === name).label}: `, value(before.get(name)), " → ", value(text))));
    for (const [name, text] of mine) controls.get(name).input.value = text;
    const isDone = changes().length === 0;
    if (list.length === 0) {
      await (isDone ? showRecord() : submit());
      return;
    }
    const who = await latestAuthor("affiliates", record.id, signal) ?? "someone else";
    put(messages, element("div", { class: "message error", role: "alert" },
      element("p", {}, `${isDone ? "Your change is saved, but" : "Nothing was saved:"} ${who} has changed this affiliate.`),
      element("ul", { "aria-label": "Changes by someone else" }, list),
      !isDone && element("p", {}, "What you typed stays in the form. Save again to apply it.")));
  }
  const mayLeave = () => changes().length === 0 || confirmLeave();
  const showRecord = () => showSaved("Saved.", reload, (message) => put(messages, message), signal, mayLeave);
  const button = element("button", { type: "submit", class: "primary" }, "Save");
  let isSaving = false;

  const submit = async () => {
    removeDone();
    if (!haveValidDates([...controls.values()])) return;
    const body = {};
    // An empty string clears an optional field. The service rejects empty required fields.
    for (const [name, { input }] of changes()) body[name] = input.value === "" && !controls.get(name).isRequired ? null : input.value;
    if (record && Object.keys(body).length === 0) {
      put(messages, doneMessage("Nothing has changed."));
      return;
    }
    isSaving = true;
    button.textContent = "Saving…";
    await attempt(signal, async () => {
      await save(body);
      saved = typed();
      await showRecord();
    }, async (rejection) => {
      if (rejection.status === 412) {
        await attempt(signal, showConflict, (again) => put(messages, rejectionMessage(again, null)));
        return;
      }
      const message = rejectionMessage(rejection, [409, 422].includes(rejection.status) ? null : submit);
      const owner = ownerOf(rejection);
      const links = showViolations(controls, rejection.status === 409 ? { affiliate_name: ["This name is taken."] } : rejection.errors);
      if (owner) message.append(element("p", {}, element("a", { href: `#/affiliates/${owner}` }, `Open affiliate ${owner}`)));
      else if (links.length > 0) message.append(element("ul", {}, links));
      for (const group of form.querySelectorAll("details")) group.open ||= group.querySelector("[aria-invalid]") !== null;
      put(messages, message);
    });
    isSaving = false;
    button.textContent = "Save";
  };
  const form = element("form", { class: "form", novalidate: true, "aria-label": title, on: { input: removeDone, submit: (event) => {
    event.preventDefault();
    if (!isSaving) submit();
  } } }, fieldsets(controls, record === null), element("p", { class: "actions" }, button,
    cancel ? element("button", { type: "button", on: { click: cancel } }, "Cancel") : backLink("affiliates")));
  const node = element("div", {}, messages, form);
  set(saved);
  return { node, hasChanges: () => changes().length > 0 };
}

/**
 * Creates an affiliate. Returns its ID, and a message for the user. If a response was lost, the user may have already created the affiliate
 * with this name.
 */
async function create(body, signal) {
  try {
    const { body: created } = await call("POST", "api/affiliates", { body, signal });
    return [created.detail.affiliate_id, "The affiliate was created."];
  } catch (rejection) {
    const id = ownerOf(rejection);
    if (!id) throw rejection;
    const { body: { data: existing } } = await call("GET", `api/affiliates/${id}`, { signal });
    if (!Object.entries(body).every(([name, typed]) => valueOf(existing, name).trim() === typed.trim())) throw rejection;
    return [id, "An affiliate with these values already exists."];
  }
}

/** Shows the view that creates an affiliate. */
export async function newAffiliateView({ signal }) {
  const title = "New affiliate";
  const form = affiliateForm({ fields: await affiliateFields(), title, record: null, signal, save: async (body) => {
    const [id, message] = await create(body, signal);
    const address = `#/affiliates/${id}`;
    tell(address, message);
    location.hash = address;
  } });
  show(title, form.node);
  return form;
}
