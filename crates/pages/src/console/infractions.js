// Shows and edits the infractions of a URL.

import { element } from "./elements.js";
import { select } from "./fields.js";
import { chipsControl } from "./tags.js";

/** Returns an infraction's text, such as `Health Claim: weight loss`. */
export function infractionText({ infraction_type: type, infraction_name: name }) {
  return [type, name].filter(Boolean).join(": ");
}

/** Returns an incident's text, such as `URL 12 (Health Claim)`. */
export function incidentText(incident) {
  const infraction = infractionText(incident);
  return `${incident.url_id === null ? incident.reference : `URL ${incident.url_id}`}${infraction && ` (${infraction})`}`;
}

/** Converts an infraction to an entry of the control: the JSON text of its type and name. */
export function entryOf({ infraction_type: type, infraction_name: name }) {
  return JSON.stringify([type, name]);
}

/** Converts an entry of the control to an infraction. */
export function infractionOf(entry) {
  const [type, name] = JSON.parse(entry);
  return { infraction_type: type, infraction_name: name };
}

/** Returns the control for infractions, and the button that adds the chosen one. `known` contains the vocabularies. */
export function infractionsControl(known) {
  const all = known.get("infraction_type").flatMap(({ name: type }) => {
    const named = known.get("infraction_name").filter((entry) => entry.infraction_type === type);
    return [null, ...named.map(({ name }) => name)].map((name) => ({ infraction_type: type, infraction_name: name }));
  });
  const input = select([["", "Choose…"], ...all.map((infraction) => [entryOf(infraction), infractionText(infraction)])]);
  const control = chipsControl(input, "infraction", "infractions", (entry) => infractionText(infractionOf(entry)));
  const add = element("button", { type: "button", needs: "cases", on: { click: () => control.set(control.get()) } }, "Add infraction");
  return { ...control, add };
}
