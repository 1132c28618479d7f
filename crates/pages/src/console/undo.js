// Undoes a change by restoring the earlier values in the record of changes.

import { alpha2 } from "./countries.js";
import { element, removeDone } from "./elements.js";
import { infractionIn } from "./history-parts.js";
import { author, tagsOf, visibleFields } from "./history-words.js";
import { entryOf, infractionOf } from "./infractions.js";
import { attempt, rejectionMessage } from "./rejections.js";
import { call } from "./requests.js";
import { VOCABULARIES } from "./vocabularies.js";

/** The changes that an officer can undo: all changes to a case, and the review of a URL. */
const KINDS = {
  case: { section: "cases", isOwn: () => true },
  url: { section: "urls", isOwn: (field) => ["incident_status_id", "false_positive", "disabled", "note"].includes(field) },
};

/** Converts an earlier value to the form that the service accepts. Returns undefined if the vocabulary no longer has the name. */
function sent(field, before, names) {
  if (field === "tags") return tagsOf(before);
  if (before === null) return null;
  if (field in VOCABULARIES) return names.name(field, before) ?? undefined;
  if (field === "case_country") return alpha2(before);
  return field === "affiliate_id" ? Number(before) : before;
}

/** Returns the fields that undo a change, or null if it cannot be undone. */
function undoing(kind, change, names) {
  const fields = visibleFields(change).filter(({ field }) => kind.isOwn(field));
  const count = fields.length + (change.resource === "url" ? names.parts(change).length : 0);
  const body = Object.fromEntries(fields.map(({ field, before }) => [field in VOCABULARIES ? field.replace(/_id$/, "") : field, sent(field, before, names)]));
  const isPossible = change.operation === "updated" && count > 0 && !Object.values(body).includes(undefined);
  return isPossible ? { fields: new Set(fields.map(({ field }) => field)), body } : null;
}

/** Returns a URL's infractions without the ones a review added and with the ones it removed, or null if it changed none. */
function formerInfractions(record, change, names) {
  const parts = names.parts(change);
  if (change.resource !== "url" || parts.length === 0) return null;
  const of = (operation) => new Set(parts.filter((part) => part.operation === operation).map((part) => entryOf(infractionIn(part, names))));
  const added = of("created");
  const earlier = new Set([...record.infractions.map(entryOf), ...of("deleted")]);
  return [...earlier].filter((entry) => !added.has(entry)).map(infractionOf);
}

/**
 * Returns a button that undoes a change, or null if the change cannot be undone. `later` reads the changes that followed, `put` shows a
 * message, `mayLeave` asks whether to discard unsaved input, and `reload` shows the record again with a message at the history.
 */
export function undoButton({ resource, id, change, names, later, put, mayLeave, reload, signal }) {
  const kind = KINDS[resource];
  const undo = kind ? undoing(kind, change, names) : null;
  if (undo === null) return null;
  const path = `api/${kind.section}/${id}`;
  let isRunning = false;

  async function run(isSure) {
    // Read the tag first. A change after this read fails the PATCH with 412.
    const { body, tag } = await call("GET", path, { signal });
    const followed = isSure ? [] : (await later(change.position)).filter(({ fields }) => fields.some(({ field }) => undo.fields.has(field)));
    if (followed.length > 0) {
      await names.learn(followed);
      const lines = followed.reverse().flatMap((other) => other.fields.filter(({ field }) => undo.fields.has(field)).map((field) => element("li", {}, author(other), " ", names.phrase(other, field))));
      put(element("div", { class: "message error", role: "alert" },
        element("p", {}, "Nothing was undone: these fields have changed again."),
        element("ul", { "aria-label": "Later changes" }, lines),
        element("p", {}, element("button", { type: "button", on: { click: () => start(true) } }, "Undo anyway"))));
      return;
    }
    const infractions = formerInfractions(body.data, change, names);
    await call("PATCH", path, { body: { ...undo.body, ...(infractions && { infractions }) }, signal, ifMatch: tag });
    await reload("The change was undone.", true);
  }

  async function start(isSure) {
    if (isRunning || !mayLeave()) return;
    isRunning = true;
    removeDone();
    await attempt(signal, () => run(isSure), async (rejection) => {
      // Someone else changed the record first. Check again whether that change concerns these fields.
      if (rejection.status === 412) await attempt(signal, () => run(false), (again) => put(rejectionMessage(again, null)));
      else put(rejectionMessage(rejection, null));
    });
    isRunning = false;
  }
  return element("button", { type: "button", "aria-label": `Undo the change of ${change.time}`, on: { click: () => start(false) } }, "Undo");
}
