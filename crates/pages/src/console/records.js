// Shows a URL or case, with its history on the left and its editable properties on the right.

import { activity } from "./activity.js";
import { affiliateAddress, affiliateLink } from "./affiliate-lookup.js";
import { badge, isBadge } from "./badges.js";
import { copyButton } from "./copy.js";
import { label, recordFields } from "./description.js";
import { confirmLeave, element, present, table, value } from "./elements.js";
import { incidentAbout, incidentControls, leftInfractions } from "./incidents.js";
import { infractionText } from "./infractions.js";
import { openCase } from "./open-case.js";
import { recordGroups } from "./record-groups.js";
import { call } from "./requests.js";
import { isTimestamp, timestamp } from "./timestamps.js";
import { shortUrl } from "./urls.js";
import { backLink } from "./visited.js";
import { SECTIONS, work } from "./work.js";

/** Returns the parts of a case's title: the affiliate's name, and the types of the infractions. */
function caseParts({ affiliate_name: name, incidents }) {
  return [name ?? "No affiliate", ...new Set(incidents.map(({ infraction_type: type }) => type).filter(Boolean))];
}

/** Returns a case's heading, in which the affiliate's name is a link. */
function caseHeading(record) {
  const [name, ...types] = caseParts(record);
  return [record.affiliate_name ? affiliateLink(record) : name, types.map((type) => [" · ", value(type)])];
}

const KINDS = {
  urls: {
    schema: "ComplianceUrl", resource: "url", kind: "URL", key: "id", badges: ["incident_status"],
    name: ({ url }) => shortUrl(url),
    found: { name: "infractions", title: "Infractions", none: "No infractions were found.", columns: ["infraction_type", "infraction_name", "created_date"] },
  },
  cases: {
    schema: "ComplianceCase", resource: "case", kind: "Case", key: "case_id", badges: ["case_status", "risk_level"],
    name: (record) => caseParts(record).join(" · "),
    found: { name: "incidents", title: "Incidents", none: "The case has no incidents.", columns: ["content", "infraction", "incident_type", "actions"] },
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
/** Maximum number of incidents with the beginning of their URL's text, and its maximum length. */
const MOST_EXCERPTS = 10;
const LONGEST_EXCERPT = 200;

function shown(name, record) {
  const content = record[name];
  if (name === "distributor_id") return element("a", { href: `#/affiliates/${content}` }, content);
  if (isBadge(name)) return badge(content);
  if (isTimestamp(name)) return timestamp(content);
  // URLs are plain text, so that nobody visits a monitored page by accident.
  return value(content);
}

/** Returns the beginning of a URL's text, which appears when it has loaded. */
function excerpt(id, signal) {
  const node = element("p", { class: "excerpt" });
  call("GET", `api/urls/${id}`, { signal }).then(({ body: { data: { transcription_text: text } } }) => {
    if (text) node.append(value(text.length > LONGEST_EXCERPT ? `${text.slice(0, LONGEST_EXCERPT)}…` : text));
  }, () => node.remove());
  return node;
}

/** Returns a cell in the infraction or incident table. `remove` returns the button that removes the item. */
function foundCell(item, name, remove) {
  if (name === "created_date") return timestamp(item[name], { isShort: true });
  if (name === "incident_type") return label(item[name]);
  if (name === "infraction") return value(infractionText(item));
  if (name === "actions") return [item.url_id !== null && copyButton(item.url, `the URL ${item.url_id}`), " ", remove(item)];
  if (name !== "content") return value(item[name]);
  if (item.url_id === null) return element("div", { class: "incident", title: item.reference }, value(item.reference));
  return element("div", { class: "incident", title: item.url }, element("a", { href: `#/urls/${item.url_id}` }, `URL ${item.url_id}`), " ", value(item.url));
}

/** Returns the button that opens a case about a URL, and the node for its messages. */
function openCaseAbout(record, signal, hasChanges) {
  const left = leftInfractions(record);
  return openCase({ client_affiliate_id: record.affiliate_id }, [incidentAbout(record)], signal, hasChanges,
    { what: "URL", filter: { url_id: record.id }, done: left ? `The case was opened ${left}.` : undefined });
}

/** Returns the view of a record in `urls` or `cases`. */
export function recordView(section, id) {
  const { schema, resource, kind, key, badges, name, found } = KINDS[section];
  return async ({ signal }) => {
    let form = null;
    const incidents = section === "cases" ? incidentControls(id, signal, { hasChanges: () => form.hasChanges(), reload: () => render(null) }) : null;
    const mayLeave = () => !form.hasChanges() || confirmLeave();
    const render = async (message, isNote = false) => {
      const [fields, { body, tag }] = await Promise.all([recordFields(schema), call("GET", `api/${section}/${id}`, { signal })]);
      const show = (record, isAgain) => {
        const isUrl = section === "urls";
        const isHeading = isUrl && record.url.length <= LONGEST_URL;
        const heading = element("h1", { tabindex: "-1", class: isUrl && "address" }, isUrl ? value(isHeading ? record.url : name(record)) : caseHeading(record));
        const areUrls = record[found.name].every(({ incident_type: type }) => type === "url");
        const columns = found.columns.filter((field) => field !== "incident_type" || !areUrls);
        const rows = record[found.name].map((item) => columns.map((field) => foundCell(item, field, incidents?.remove)));
        record.incidents?.slice(0, MOST_EXCERPTS).forEach(({ url_id: url }, index) => {
          if (url !== null) rows[index][0] = [rows[index][0], excerpt(url, signal)];
        });
        const opening = isUrl && record.affiliate_name ? openCaseAbout(record, signal, () => form.hasChanges()) : null;
        const left = new Set([found.name, key, "affiliate_name", "case_id", isHeading ? "url" : "", ...SECTIONS[section].fields]);
        const others = fields.filter((field) => !left.has(field.name)).map((field) => ({ ...field, label: label(field.name) }));
        const isContent = (field) => CONTENT.includes(field) && Boolean(record[field]);
        const groups = (chosen, isWanted) => recordGroups(chosen, others.filter((field) => isWanted(field.name)), (field) => record[field], (field) => shown(field, record));
        const top = window.scrollY;
        present(`${isUrl ? "" : `${kind} ${id} · `}${name(record)} · ${record[badges[0]]}`, heading,
          element("p", { class: "crumbs" }, backLink(section), element("span", { class: "kind" }, element("span", {}, `${kind} ${id}`), " ", copyButton(id, "ID")),
            opening?.button ?? (isUrl && element("span", { class: "hint", needs: "cases" }, "You cannot open a case, because the URL has no affiliate."))),
          element("div", { class: "title" }, heading, isUrl && copyButton(record.url, "URL")),
          element("div", { class: "head" }, badges.filter((field) => record[field]).map((field) => badge(record[field])),
            record.affiliate_name && [isUrl && affiliateLink(record), element("a", { href: affiliateAddress(record, "cases") }, "Cases of this affiliate"),
              element("a", { href: affiliateAddress(record, "urls") }, "URLs of this affiliate")],
            isUrl && record.case_id !== null && [element("span", {}, "Last attached to ", element("a", { href: `#/cases/${record.case_id}` }, `Case ${record.case_id}`)),
              element("a", { href: `#/cases?url_id=${id}` }, "Cases of this URL")]),
          opening?.messages,
          element("div", { class: "desk" },
            element("div", { class: "found" }, element("h2", {}, found.title),
              rows.length > 0 ? table(found.title, columns.map((field) => (field === "actions" ? element("span", { class: "hidden-text" }, "Actions") : label(field))), rows) : element("p", {}, found.none), incidents?.add, groups([["Content", isContent]], isContent)),
            element("aside", { "aria-label": "Properties" }, form.properties, groups(DETAILS, (field) => !isContent(field))),
            activity(resource, id, signal, { record, mayLeave, reload: render, note: form.note, editNote: form.editNote })));
        // Keep the scroll position after a save or a conflict.
        if (isAgain) window.scrollTo(0, top);
      };
      form = await work(section, id, { record: body.data, tag }, signal, { reload: render, changed: (record) => show(record, true) });
      show(body.data, Boolean(message));
      if (message) form.say(message, isNote);
    };
    await render(null);
    return { hasChanges: () => form.hasChanges() };
  };
}
