// Shows statuses and risk levels as colored badges. The text alone carries the meaning.

import { element, value } from "./elements.js";

const TONES = {
  bad: ["Critical", "In Violation", "Blocked", "Escalated", "suspended", "terminated", "Failed"],
  warn: ["High", "Open", "In Progress", "probation", "Reminder Sent", "Final Notice", "Awaiting Evidence", "Awaiting Response"],
  new: ["New", "Medium", "Sent", "Pending", "Queued", "Under Review"],
  good: ["Low", "Approved", "Remediated", "Resolved", "active", "Acknowledged", "Responded", "Completed", "Content Removed"],
};
const TONE = new Map(Object.entries(TONES).flatMap(([tone, names]) => names.map((name) => [name, tone])));
const FIELDS = new Set(["risk_level", "case_status", "sub_status", "notice_status", "incident_status", "transcription_status",
  "distributor_status", "status"]);

/** Capitalizes the first letter, like the names in vocabularies. */
export function capital(text) {
  return text[0].toUpperCase() + text.slice(1);
}

/** Returns whether a field is shown as a badge. */
export function isBadge(name) {
  return FIELDS.has(name);
}

/** Returns a badge, which is gray for custom names, or a dash for an empty value. */
export function badge(text) {
  if (text === null || text === undefined || text === "") return value(null);
  return element("span", { class: `badge ${TONE.get(text) ?? "plain"}` }, element("bdi", {}, capital(text)));
}
