// Shows a URL or case, with its history on the left and its editable properties on the right.

import { activity } from "./activity.js";
import { affiliateAddress, affiliateLink } from "./affiliate-lookup.js";
import { badge, isBadge } from "./badges.js";
import { copyButton } from "./copy.js";
import { label, recordFields } from "./description.js";
import { element, present, table, value } from "./elements.js";
import { openCase } from "./open-case.js";
import { recordGroups } from "./record-groups.js";
import { call } from "./requests.js";
import { isTimestamp, timestamp } from "./timestamps.js";
import { shortUrl } from "./urls.js";
import { backLink } from "./visited.js";
import { SECTIONS, work } from "./work.js";

const KINDS = {
  urls: {
    schema: "ComplianceUrl", resource: "url", kind: "URL", key: "id", badges: ["incident_status"],
    name: ({ url }) => shortUrl(url),
    found: { name: "infractions", title: "Infractions", none: "No infractions were found.", columns: ["infraction_type", "infraction_name", "created_date"] },
  },
  cases: {
    schema: "ComplianceCase", resource: "case", kind: "Case", key: "case_id", badges: ["case_status", "risk_level"],
    name: ({ affiliate_name: name, incidents }) => [name ?? "No affiliate", ...new Set(incidents.map(({ infraction_type: type }) => type).filter(Boolean))].join(" · "),
    found: { name: "incidents", title: "Incidents", none: "The case has no incidents.", columns: ["content", "infraction_type", "infraction_name", "incident_type"] },
  },
};

/** Field groups below the form. The last group contains all remaining fields. */
const DETAILS = [
  ["Details", (name) => isTimestamp(name) || ["domain", "country", "submitter", "case_country", "transcription_status", "video_path"].includes(name)],
  ["Affiliate and contact", () => true],
];
/** Fields with a monitored page's content, shown if they have a value. */
const CONTENT = ["url", "landing_page", "transcription_text"];
/** Maximum length of a URL in a heading. */
const LONGEST_URL = 500;

function shown(name, record) {
  const content = record[name];
  if (name === "distributor_id") return element("a", { href: `#/affiliates/${content}` }, content);
  if (isBadge(name)) return badge(content);
  if (isTimestamp(name)) return timestamp(content);
  // URLs are plain text, so that nobody visits a monitored page by accident.
  return value(content);
}

/** Returns a cell in the infraction or incident table. */
function foundCell(item, name) {
  if (name === "created_date") return timestamp(item[name], { isShort: true });
  if (name === "incident_type") return label(item[name]);
  if (name !== "content") return value(item[name]);
  if (item.url_id === null) return value(item.reference);
  return [element("a", { href: `#/urls/${item.url_id}` }, `URL ${item.url_id}`), " ", value(item.url), " ", copyButton(item.url, `the URL ${item.url_id}`)];
}

/** Returns the view of a record in `urls` or `cases`. */
export function recordView(section, id) {
  const { schema, resource, kind, key, badges, name, found } = KINDS[section];
  return async ({ signal }) => {
    let form = null;
    const mayLeave = () => !form.hasChanges() || confirm("Leave without saving your changes?");
    const render = async (message, isNote = false) => {
      const [fields, { body, tag }] = await Promise.all([recordFields(schema), call("GET", `api/${section}/${id}`, { signal })]);
      const record = body.data;
      const [statuses, foundPart] = [element("div", { class: "head" }), element("div", {})];
      const isHeading = section === "urls" && record.url.length <= LONGEST_URL;
      const heading = element("h1", { tabindex: "-1", class: section === "urls" && "address" });
      const title = (current) => `${kind === "URL" ? "" : `${kind} ${id} · `}${name(current)} · ${current[badges[0]]}`;
      const showCurrent = (current) => {
        document.title = `${title(current)} – Compliance console`;
        heading.replaceChildren(value(isHeading ? current.url : name(current)));
        const rows = current[found.name].map((item) => found.columns.map((field) => foundCell(item, field)));
        foundPart.replaceChildren(element("h2", {}, found.title), rows.length > 0 ? table(found.title, found.columns.map(label), rows) : element("p", {}, found.none));
        statuses.replaceChildren(...badges.filter((field) => current[field]).map((field) => badge(current[field])));
        if (current.affiliate_name) {
          statuses.append(affiliateLink(current), element("a", { href: affiliateAddress(current, "cases") }, "Cases of this affiliate"),
            element("a", { href: affiliateAddress(current, "urls") }, "URLs of this affiliate"));
        }
        if (section === "urls" && current.case_id !== null) statuses.append(element("a", { href: `#/cases/${current.case_id}` }, `Case ${current.case_id}`));
      };
      form = await work(section, id, { record, tag }, signal, { reload: render, changed: showCurrent });
      const [infraction] = record.infractions ?? [];
      const opening = section === "urls" && record.affiliate_name ? openCase({ client_affiliate_id: record.affiliate_id },
        [{ incident_type: "url", url_id: record.id, infraction_type: infraction?.infraction_type, infraction_name: infraction?.infraction_name }], signal,
        () => form.hasChanges(), record.case_id) : null;
      const left = new Set([found.name, key, "affiliate_name", "case_id", isHeading ? "url" : "", ...SECTIONS[section].fields]);
      const others = fields.filter((field) => !left.has(field.name)).map((field) => ({ ...field, label: label(field.name) }));
      const isContent = (field) => CONTENT.includes(field) && Boolean(record[field]);
      const groups = (chosen, isWanted) => recordGroups(chosen, others.filter((field) => isWanted(field.name)), (field) => record[field], (field) => shown(field, record));
      const top = window.scrollY;
      showCurrent(record);
      present(title(record), heading,
        element("p", { class: "crumbs" }, backLink(section), element("span", { class: "kind" }, element("span", {}, `${kind} ${id}`), " ", copyButton(id, "ID")), opening?.button),
        element("div", { class: "title" }, heading, section === "urls" && copyButton(record.url, "URL")),
        statuses, opening?.messages,
        element("div", { class: "desk" },
          element("div", { class: "found" }, foundPart, groups([["Content", isContent]], isContent)),
          element("aside", { "aria-label": "Properties" }, form.properties, groups(DETAILS, (field) => !isContent(field))),
          activity(resource, id, signal, { record, mayLeave, reload: render, note: form.note, editNote: form.editNote })));
      if (!message) return;
      // Keep the scroll position after a save.
      window.scrollTo(0, top);
      form.say(message, isNote);
    };
    await render(null);
    return { hasChanges: () => form.hasChanges() };
  };
}
