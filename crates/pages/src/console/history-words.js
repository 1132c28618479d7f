// Describes changes in words, with names instead of the IDs and codes in the record of changes.

import { countryName } from "./countries.js";
import { label, words } from "./description.js";
import { element, value } from "./elements.js";
import { partsOf } from "./history-parts.js";
import { call, Rejection } from "./requests.js";
import { claims } from "./session.js";
import { tagsText } from "./tags.js";
import { isTimestamp, timestamp } from "./timestamps.js";
import { VOCABULARIES, vocabularies } from "./vocabularies.js";

/** Fields that every change to a record updates. */
const INTERNAL = new Set(["etag", "last_updated_date"]);
/** Dates that the service sets together with other fields of a case. */
export const CASE_DATES = ["first_action_date", "reviewed_date", "flagged_date", "resolved_date", "closed_date"];
/** All dates that the service sets together with other fields. */
export const DATES = [...CASE_DATES, "last_review_date"];
const LABELS = { affiliate_id: "Affiliate", distributor_id: "Affiliate", case_id: "Case" };
const CREATED = { case: "opened the case", url: "added the URL" };
// Longer texts are truncated.
const LONGEST = 200;

/** Describes an operation other than an update. */
export function operationName({ operation, resource }) {
  return operation === "created" && resource in CREATED ? CREATED[resource] : `${operation} the ${resource === "url" ? "URL" : resource}`;
}

/** Returns the changed fields, without internal fields. */
export function visibleFields({ fields }) {
  return fields.filter(({ field }) => !INTERNAL.has(field));
}

/** Returns the label of a changed field. */
export function fieldLabel(field) {
  return LABELS[field] ?? label(field in VOCABULARIES ? field.replace(/_id$/, "") : field);
}

/** Parses the JSON text of a tag list. */
export function tagsOf(text) {
  return text === null ? [] : JSON.parse(text);
}

async function affiliateName(id, signal) {
  try {
    const { body } = await call("GET", `api/affiliates/${id}`, { signal });
    return body.data.distributor_name;
  } catch (error) {
    // The affiliate was erased or cannot be read now, so the history shows only its ID.
    if (!(error instanceof Rejection)) throw error;
    return null;
  }
}

/**
 * Returns functions that describe changes. Call `learn` first: it reads the names and part changes that `changes` need. `name` returns the
 * name for a vocabulary ID, or null. `phrase` describes a field change. `parts` returns the part changes made with a change.
 */
export function names(signal) {
  let known = null;
  const affiliates = new Map();
  const parts = new Map();

  /** Returns the part changes made with a change. A request that changes other fields of a case does not change its incidents. */
  const partsWith = (change) => (change.resource === "case" && visibleFields(change).some(({ field }) => !CASE_DATES.includes(field)) ? [] : partsOf(change, signal));

  async function learn(changes) {
    const ids = changes.flatMap(({ fields }) => fields.filter(({ field }) => field === "affiliate_id").flatMap(({ before, after }) => [before, after]));
    const unknown = [...new Set(ids)].filter((id) => id !== null && !affiliates.has(id));
    for (const [index, found] of (await Promise.all(changes.map(partsWith))).entries()) parts.set(changes[index].position, found);
    const found = await Promise.all([
      known ?? vocabularies(signal),
      ...unknown.map((id) => affiliateName(id, signal)),
    ]);
    [known] = found;
    for (const [index, id] of unknown.entries()) affiliates.set(id, found[index + 1]);
  }

  const name = (field, id) => known.get(VOCABULARIES[field])?.find((entry) => String(entry.id) === id)?.name ?? null;

  function shown(field, text) {
    if (text === null) return value(null);
    if (field in VOCABULARIES) return value(name(field, text) ?? `ID ${text}`);
    if (field === "affiliate_id") return element("a", { href: `#/affiliates/${text}` }, value(affiliates.get(text) ?? `Affiliate ${text}`));
    if (field === "case_id") return element("a", { href: `#/cases/${text}` }, `Case ${text}`);
    if (field === "country" || field === "case_country") return value(countryName(text));
    if (field === "tags") return value(tagsText(tagsOf(text)));
    if (isTimestamp(field)) return timestamp(text);
    if (field === "disabled") return value(words(field, text));
    return value(text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);
  }

  /** Describes a field change, such as `changed Risk level from High to Low`. */
  function phrase({ operation }, { field, before, after }) {
    const name = fieldLabel(field);
    if (operation !== "updated") return [`${name}: `, shown(field, after ?? before)];
    const isEmpty = (text) => text === null || text === "[]";
    if (isEmpty(before)) return [`set ${name} to `, shown(field, after)];
    return isEmpty(after) ? [`removed ${name}, which was `, shown(field, before)] : [`changed ${name} from `, shown(field, before), " to ", shown(field, after)];
  }
  return { learn, name, phrase, parts: ({ position }) => parts.get(position) ?? [] };
}

/** Returns the author of a change. */
export function author({ subject, request_id: request }) {
  if (subject) return value(subject);
  return element("span", { class: "none" }, request === null ? "another program" : "a token without a subject");
}

/** Returns the name of the other person who made the latest change to a record of `section`, or null if the history does not say. */
export async function latestAuthor(section, id, signal) {
  try {
    const { body } = await call("GET", "api/audit", { query: { resource: section.slice(0, -1), id, limit: 1 }, signal });
    const subject = body.data.changes[0]?.subject ?? null;
    return subject === claims().subject ? null : subject;
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    return null;
  }
}
