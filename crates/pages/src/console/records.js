// One URL or one case, with what was found.

import { affiliateAddress, affiliateLink } from "./affiliate-lookup.js";
import { badge, isBadge } from "./badges.js";
import { copyButton } from "./copy.js";
import { label, recordFields } from "./description.js";
import { doneMessage, element, show, table, value } from "./elements.js";
import { history } from "./history.js";
import { openCase } from "./open-case.js";
import { recordGroups } from "./record-groups.js";
import { call } from "./requests.js";
import { isTimestamp, timestamp } from "./timestamps.js";
import { backLink } from "./visited.js";
import { work } from "./work.js";

const KINDS = {
  urls: {
    schema: "ComplianceUrl",
    title: (record) => `URL ${record.id}`,
    found: { name: "infractions", title: "Infractions", none: "No infractions were found.", columns: ["infraction_type", "infraction_name", "created_date"] },
  },
  cases: {
    schema: "ComplianceCase",
    title: (record) => `Case ${record.case_id}`,
    found: { name: "incidents", title: "Incidents", none: "The case has no incidents.", columns: ["incident_id", "incident_type", "content", "infraction_type", "infraction_name"] },
  },
};

/** The fields in groups. The last group has all fields that no other group names. */
const GROUPS = [
  ["Summary", ["id", "case_id", "url", "domain", "incident_status", "case_status", "sub_status", "risk_level", "notice_status", "case_worker", "submitter", "tags", "disabled", "false_positive", "country", "case_country"]],
  ["Dates", isTimestamp],
  ["Content", ["landing_page", "note", "video_path", "transcription_text", "transcription_status"]],
  ["Affiliate and contact", () => true],
];

/** The fields that are badges at the head of a record. */
const HEAD = { urls: ["incident_status"], cases: ["case_status", "risk_level"] };

function shown(name, record) {
  const content = record[name];
  if (Array.isArray(content)) {
    return content.length > 0 ? element("ul", { class: "tags" }, content.map((tag) => element("li", {}, value(tag)))) : value(null);
  }
  if (name === "case_id" && content !== null && "id" in record) return element("a", { href: `#/cases/${content}` }, content);
  if (name === "affiliate_name") return affiliateLink(record);
  if (name === "distributor_id") return element("a", { href: `#/affiliates/${content}` }, content);
  if (isBadge(name)) return badge(content);
  if (isTimestamp(name)) return timestamp(content);
  // Addresses are text, not links: nobody should visit a monitored page by accident.
  return value(content);
}

/** A cell about something that was found. */
function foundCell(item, name) {
  if (name === "created_date") return timestamp(item[name], { isShort: true });
  if (name !== "content") return value(item[name]);
  if (item.url_id === null) return value(item.reference);
  return [element("a", { href: `#/urls/${item.url_id}` }, `URL ${item.url_id}`), " ", value(item.url), " ", copyButton(item.url, `the URL ${item.url_id}`)];
}

/** The view of one record: `urls` or `cases`, and its ID. */
export function recordView(section, id) {
  const { schema, title, found } = KINDS[section];
  return async ({ signal }) => {
    let form = null;
    const render = async (message) => {
      const [fields, { body, tag }] = await Promise.all([recordFields(schema), call("GET", `api/${section}/${id}`, { signal })]);
      const record = body.data;
      form = await work(section, id, { record, tag }, signal, render);
      const rows = record[found.name].map((item) => found.columns.map((name) => foundCell(item, name)));
      const affiliate = record.affiliate_name;
      const done = message && doneMessage(message);
      const [infraction] = record.infractions ?? [];
      const opening = section === "urls" && affiliate ? openCase({ client_affiliate_id: record.affiliate_id },
        [{ incident_type: "url", url_id: record.id, infraction_type: infraction?.infraction_type, infraction_name: infraction?.infraction_name }], signal) : null;
      show(title(record),
        element("div", { class: "head" }, HEAD[section].map((name) => record[name] && badge(record[name])),
          affiliate && element("span", {}, affiliateLink(record)),
          section === "urls" && record.case_id !== null && element("a", { href: `#/cases/${record.case_id}` }, `Case ${record.case_id}`)),
        element("p", { class: "actions" }, backLink(section),
          affiliate && element("a", { href: affiliateAddress(record, "cases") }, "Cases of this affiliate"),
          affiliate && element("a", { href: affiliateAddress(record, "urls") }, "URLs of this affiliate"), opening?.button),
        opening?.messages, done,
        element("section", {}, element("h2", {}, found.title),
          rows.length > 0 ? table(found.title, found.columns.map(label), rows) : element("p", {}, found.none)),
        form.node,
        recordGroups(GROUPS, fields.filter(({ name }) => name !== found.name).map((field) => ({ ...field, label: label(field.name) })),
          (name) => record[name], (name) => shown(name, record)),
        history(section === "urls" ? "url" : "case", id, signal, { mayLeave, reload: render }));
      done?.focus();
    };
    const mayLeave = () => !form.hasChanges() || confirm("Leave without saving your changes?");
    await render(null);
    return { hasChanges: () => form.hasChanges() };
  };
}
