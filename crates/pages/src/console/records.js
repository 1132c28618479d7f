// One URL or one case, with what was found.

import { label, recordFields } from "./description.js";
import { element, show, table, value } from "./elements.js";
import { call } from "./requests.js";

const KINDS = {
  urls: {
    schema: "ComplianceUrl",
    title: (record) => `URL ${record.id}`,
    found: { name: "infractions", title: "Infractions", none: "No infractions were found.", columns: ["infraction_type", "infraction_name", "created_date"] },
  },
  cases: {
    schema: "ComplianceCase",
    title: (record) => `Case ${record.case_id}`,
    found: { name: "incidents", title: "Incidents", none: "The case has no incidents.", columns: ["incident_id", "incident_type", "infraction_type", "infraction_name"] },
  },
};

/** The fields in groups. What no group names is in the last one. */
const GROUPS = [
  ["Summary", ["id", "case_id", "url", "domain", "incident_status", "case_status", "sub_status", "risk_level", "notice_status", "case_worker", "submitter", "tags", "disabled", "false_positive", "country", "case_country"]],
  ["Dates (UTC)", (name) => name.endsWith("_date") && name !== "start_date" || name === "last_seen"],
  ["Content", ["landing_page", "note", "video_path", "transcription_text", "transcription_status"]],
  ["Affiliate and contact", () => true],
];

function shown(name, record) {
  const content = record[name];
  if (Array.isArray(content)) {
    return content.length > 0 ? element("ul", { class: "tags" }, content.map((tag) => element("li", {}, value(tag)))) : value(null);
  }
  if (name === "case_id" && content !== null && "id" in record) return element("a", { href: `#/cases/${content}` }, content);
  // Addresses are text, not links: nobody should visit what is monitored by accident.
  return value(content);
}

function groups(fields, record) {
  const left = new Map(fields.map((field) => [field.name, field]));
  return GROUPS.map(([title, names]) => {
    const chosen = Array.isArray(names) ? names.filter((name) => left.has(name)) : [...left.keys()].filter(names);
    const list = chosen.map((name) => {
      const { hint } = left.get(name);
      left.delete(name);
      return element("div", {}, element("dt", { title: hint }, label(name)), element("dd", {}, shown(name, record)));
    });
    return list.length > 0 && element("section", {}, element("h2", {}, title), element("dl", {}, list));
  });
}

/** The view of one record: `urls` or `cases`, and its ID. */
export function recordView(section, id) {
  const { schema, title, found } = KINDS[section];
  return async ({ signal }) => {
    const [fields, { body }] = await Promise.all([recordFields(schema), call("GET", `api/${section}/${id}`, { signal })]);
    const record = body.data;
    const rows = record[found.name].map((item) => found.columns.map((name) => value(item[name])));
    show(title(record),
      element("p", {}, element("a", { href: `#/${section}` }, section === "urls" ? "All URLs" : "All cases")),
      element("section", {}, element("h2", {}, found.title),
        rows.length > 0 ? table(found.title, found.columns.map(label), rows) : element("p", {}, found.none)),
      groups(fields.filter(({ name }) => name !== found.name), record));
  };
}
