// Vocabularies: the names that fields can have, with their IDs, including the company's custom names.

import { call } from "./requests.js";

/** The vocabulary of each field that contains the ID of a name. */
export const VOCABULARIES = {
  case_status_id: "case_status", sub_status_id: "case_sub_status", notice_status_id: "notice_status", risk_level_id: "risk_level",
  incident_status_id: "url_incident_status", transcription_status_id: "transcription_status",
  infraction_type_id: "infraction_type", infraction_name_id: "infraction_name",
};

/** Returns the entries of each vocabulary, by vocabulary name. */
export async function vocabularies(signal) {
  const { body } = await call("GET", "api/vocabularies", { signal });
  return new Map(body.data.map(({ vocabulary, entries }) => [vocabulary, entries]));
}
