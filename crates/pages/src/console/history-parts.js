// Finds changes to a case's incidents or a URL's infractions that a request made together with a change to the record.

import { element, value } from "./elements.js";
import { infractionText } from "./infractions.js";
import { call, Rejection } from "./requests.js";

const PARTS = {
  case: { resource: "incident", parent: "case_id" },
  url: { resource: "infraction", parent: "url_id" },
};
const OPERATIONS = { created: "added", deleted: "removed" };
const MOST = 100;
/** Maximum time between the changes of one transaction, in seconds. */
const SPAN = 2;

/** Adds seconds to a service timestamp. */
function shifted(text, seconds) {
  return new Date(Date.parse(`${text.replace(" ", "T")}Z`) + seconds * 1000).toISOString().slice(0, 19).replace("T", " ");
}

const valueOf = (part, name) => {
  const found = part.fields.find(({ field }) => field === name);
  return found?.after ?? found?.before ?? null;
};

/** Returns the incident or infraction changes made with this change to the record, or an empty list if they cannot be read. */
export async function partsOf({ resource, id, operation, request_id: request, time }, signal) {
  const kind = PARTS[resource];
  if (!kind || operation !== "updated" || request === null) return [];
  try {
    const query = { resource: kind.resource, request_id: request, from: shifted(time, -SPAN), to: shifted(time, SPAN), limit: MOST };
    const { body } = await call("GET", "api/audit", { query, signal });
    return body.data.changes.filter((part) => part.operation in OPERATIONS && valueOf(part, kind.parent) === String(id));
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    return [];
  }
}

/** Returns the infraction in a part. */
export function infractionIn(part, names) {
  const [type, name] = ["infraction_type_id", "infraction_name_id"].map((field) => names.name(field, valueOf(part, field)));
  return { infraction_type: type, infraction_name: name, created_date: valueOf(part, "created_date") };
}

/** Describes a change to a part, such as `added the incident URL 12 (Health Claim)`. */
export function partWords(part, names) {
  const infraction = infractionText(infractionIn(part, names));
  const start = `${OPERATIONS[part.operation]} the ${part.resource} `;
  if (part.resource === "infraction") return [start, value(infraction)];
  const url = valueOf(part, "url_id");
  return [start, url === null ? value(valueOf(part, "reference")) : element("a", { href: `#/urls/${url}` }, `URL ${url}`),
    infraction && [" (", value(infraction), ")"]];
}
