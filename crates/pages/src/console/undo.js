// Undoes a change by restoring the earlier values in the record of changes.

import { alpha2 } from "./countries.js";
import { element, removeDone } from "./elements.js";
import { infractionIn } from "./history-parts.js";
import { author, tagsOf, visibleFields } from "./history-words.js";
import { entryOf } from "./infractions.js";
import { attempt, rejectionMessage, showSaved } from "./rejections.js";
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

/** Returns the request body that undoes a change, and the earlier values by field, or null if it cannot be undone. */
function undoing(change, names) {
  const kind = KINDS[change.resource];
  if (!kind) return null;
  const fields = visibleFields(change).filter(({ field }) => kind.isOwn(field));
  const count = fields.length + (change.resource === "url" ? names.parts(change).length : 0);
  const body = Object.fromEntries(fields.map(({ field, before }) => [field in VOCABULARIES ? field.replace(/_id$/, "") : field, sent(field, before, names)]));
  // Incidents have their own operations, so the history cannot undo their changes.
  const isPossible = change.operation === "updated" && count > 0 && (change.resource === "url" || names.parts(change).length === 0) && !Object.values(body).includes(undefined);
  return isPossible ? { fields: new Map(fields.map(({ field, before }) => [field, before])), body } : null;
}

/** Returns whether the record still has the values that a change set. `changes` contains this change and all later ones, newest first. */
export function isCurrent(change, changes, names) {
  const fields = changes.flatMap((each) => each.fields);
  const parts = changes.flatMap((each) => names.parts(each));
  const about = (part) => entryOf(infractionIn(part, names));
  return visibleFields(change).every(({ field, after }) => !KINDS[change.resource].isOwn(field) || fields.find((each) => each.field === field).after === after)
    && (change.resource !== "url" || names.parts(change).every((part) => parts.find((each) => about(each) === about(part)).operation === part.operation));
}

/** Returns a URL's infractions without the ones a review added and with the ones it removed, or null if they are the same. */
function formerInfractions(record, change, names) {
  const parts = names.parts(change);
  if (change.resource !== "url") return null;
  const byEntry = (infractions) => new Map(infractions.map((infraction) => [entryOf(infraction), infraction]));
  const of = (operation) => byEntry(parts.filter((part) => part.operation === operation).map((part) => infractionIn(part, names)));
  const [added, current] = [of("created"), byEntry(record.infractions)];
  const earlier = new Map([...of("deleted"), ...current].filter(([entry]) => !added.has(entry)));
  return earlier.size === current.size && [...earlier.keys()].every((entry) => current.has(entry)) ? null : [...earlier.values()];
}

/**
 * Returns a button that undoes a change, or null if the change cannot be undone. `changes` contains this change and all later ones, newest
 * first. `later` reads the changes that followed, `put` shows a message, `mayLeave` asks whether to discard unsaved input, and `reload` shows the record again with a message at the history.
 */
export function undoButton({ resource, id, change, changes, names, later, put, mayLeave, reload, signal }) {
  const undo = undoing(change, names);
  if (undo === null || !isCurrent(change, changes, names)) return null;
  const path = `api/${KINDS[resource].section}/${id}`;
  let isRunning = false;

  /** Undoes the change, unless the fields have changed since the user last saw their changes. `seen` is the last position that the user saw. */
  async function run(seen) {
    // Read the tag first. A change after this read fails the PATCH with 412.
    const { body, tag } = await call("GET", path, { signal });
    const followed = (await later(change.position)).filter(({ fields }) => fields.some(({ field }) => undo.fields.has(field)));
    const infractions = formerInfractions(body.data, change, names);
    const last = (name) => followed.flatMap(({ fields }) => fields).find(({ field }) => field === name);
    // The response to an earlier attempt may have been lost.
    const isUndone = infractions === null && [...undo.fields].every(([field, before]) => last(field)?.after === before);
    const position = followed[0]?.position ?? seen;
    if (!isUndone && position > seen) {
      await names.learn(followed);
      const lines = followed.reverse().flatMap((other) => other.fields.filter(({ field }) => undo.fields.has(field)).map((field) => element("li", {}, author(other), " ", names.phrase(other, field))));
      put(element("div", { class: "message error", role: "alert" },
        element("p", {}, "Nothing was undone: these fields have changed again."),
        element("ul", { "aria-label": "Later changes" }, lines),
        element("p", {}, element("button", { type: "button", on: { click: () => start(position) } }, "Undo anyway"))));
      return;
    }
    if (!isUndone) await call("PATCH", path, { body: { ...undo.body, ...(infractions && { infractions }) }, signal, ifMatch: tag });
    await showSaved("The change was undone.", (done) => reload(done, true), put, signal, mayLeave);
  }

  async function start(seen) {
    if (isRunning || !mayLeave()) return;
    isRunning = true;
    removeDone();
    await attempt(signal, () => run(seen), async (rejection) => {
      // Someone else changed the record first. Check again whether that change concerns these fields.
      if (rejection.status === 412) await attempt(signal, () => run(seen), (again) => put(rejectionMessage(again, null)));
      else put(rejectionMessage(rejection, null));
    });
    isRunning = false;
  }
  return element("button", { type: "button", needs: "cases", "aria-label": `Undo the change of ${change.time}`, on: { click: () => start(change.position) } }, "Undo");
}
