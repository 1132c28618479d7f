// Shows the start page: open, overdue and new records, and their trends.

import { affiliateLink } from "./affiliate-lookup.js";
import { badge } from "./badges.js";
import { bars } from "./bars.js";
import { myCases } from "./command-palette.js";
import { count, counted, element, show, table } from "./elements.js";
import { call } from "./requests.js";
import { vocabularies } from "./vocabularies.js";
import { instant, timestamp } from "./timestamps.js";
import { infractionUrls, trends } from "./trends.js";

const DAY = 24 * 60 * 60 * 1000;

const OVERDUE = "#/cases?overdue=yes";
/** URLs with the status In Violation, which has the same ID in every company. */
const WITHOUT_CASE = "#/urls?incident_status_id=3&has_case=no";
const COMING = "#/cases?open=yes&sort_by=follow_up_date&sort_dir=asc";

/** Returns a card with a number that links to its records, and a link to the next action, if there is one. */
function card(title, number, href, hint, [next, address] = []) {
  return element("li", { class: "card" }, element("span", { class: "card-title" }, title),
    href ? element("a", { class: "card-number", href }, count(number)) : element("span", { class: "card-number" }, count(number)),
    element("span", { class: "hint" }, hint), next && element("a", { class: "next", href: address }, next));
}

/** Returns the number of records in the list at this address. */
async function totalAt(address, signal) {
  const [section, query] = address.slice("#/".length).split("?");
  const { body } = await call("GET", `api/${section}`, { query: { ...Object.fromEntries(new URLSearchParams(query)), per_page: 1 }, signal });
  return body.meta.total;
}

/** Returns the UTC date `days` days ago, as `YYYY-MM-DD`. */
function dayBefore(days) {
  return new Date(Date.now() - days * DAY).toISOString().slice(0, 10);
}

const casesWith = (filters) => `#/cases?${new URLSearchParams(filters)}`;
const openCases = (filters) => casesWith({ open: "yes", ...filters });

/** Returns the address of the cases in an age range that match the filters. */
export function ageAddress({ from_days: from, to_days: to }, filters = {}) {
  return casesWith({ ...filters, ...(to === null ? {} : { created_after: dayBefore(to) }), ...(from === 0 ? {} : { created_before: dayBefore(from) }) });
}

export function ageName({ from_days: from, to_days: to }) {
  if (to === null) return `${from} days or more`;
  return from === 0 ? `up to ${to} days` : `${from} to ${to} days`;
}

/** Returns how long a follow-up has been overdue. */
function late(date, now) {
  const days = Math.floor((now - instant(date)) / DAY);
  return days < 1 ? "since today" : counted(days, "day", "days");
}

function overdue({ overdue: all, overdue_cases: cases }, now) {
  const rows = cases.map((record) => [
    element("a", { href: `#/cases/${record.case_id}` }, record.case_id),
    late(record.follow_up_date, now),
    badge(record.risk_level), badge(record.case_status), affiliateLink(record),
    timestamp(record.follow_up_date, { isShort: true }),
  ]);
  return element("section", { class: "panel wide", id: "overdue", tabindex: "-1" }, element("h2", {}, "Overdue follow-ups"),
    rows.length === 0 ? element("p", {}, "No open case is overdue. ", element("a", { href: COMING }, "See which follow-ups come next"), ".")
      : table("Overdue follow-ups", ["Case", "Overdue", "Risk", "Status", "Affiliate", "Follow-up"], rows, { href: (index) => `#/cases/${cases[index].case_id}` }),
    all > cases.length && element("p", {}, `The ${cases.length} oldest of `, element("a", { href: OVERDUE }, `${count(all)} overdue cases`), "."));
}

export async function overviewView({ signal }) {
  const [mine, unassigned] = [myCases(), openCases({ assigned: "no" })];
  const [{ body }, names, own, waiting, violations] = await Promise.all([call("GET", "api/overview", { signal }), vocabularies(signal),
    mine && totalAt(mine, signal), totalAt(unassigned, signal), totalAt(WITHOUT_CASE, signal)]);
  const { cases, urls, infractions, weeks } = body.data;
  const now = Date.now();
  // The last week ends today, like the counts of new records.
  const week = weeks.at(-1);
  const [oldest] = cases.overdue_cases;
  const unseen = names.get("url_incident_status").find(({ name }) => name === "New");
  const riskIds = new Map(names.get("risk_level").map(({ id, name }) => [name, id]));
  const ages = new Map(cases.by_age.map((age) => [ageName(age), ageAddress(age, { open: "yes" })]));
  const risks = cases.by_risk.map(({ risk_level: risk, open }) => [risk, open]);
  show("Overview",
    element("ul", { class: "cards" },
      card("Open cases", cases.open, openCases({}), "not resolved, rejected or closed",
        waiting > 0 ? [`Assign ${counted(waiting, "case", "cases")} without a worker`, unassigned] : undefined),
      mine && card("My open cases", own, mine, "assigned to you", ["See my cases", mine]),
      card("Overdue follow-ups", cases.overdue, OVERDUE, "due today or earlier",
        oldest ? [`Work on case ${oldest.case_id}, the oldest`, `#/cases/${oldest.case_id}`] : ["See what comes next", COMING]),
      card("New URLs", urls.new, week && `#/urls?discovery_after=${week.from}`, `in the last 7 days, of ${count(urls.total)} in total`,
        ["Review URLs with the status New", unseen ? `#/urls?incident_status_id=${unseen.id}` : "#/urls"]),
      card("Violations without a case", violations, WITHOUT_CASE, "URLs in violation, not even in a closed case", violations > 0 ? ["Open their cases", WITHOUT_CASE] : undefined),
      card("New infractions", infractions.new, null, "in the last 7 days", infractionUrls(week))),
    element("div", { class: "panels" },
      bars("Open cases by risk", "Open cases", risks, {
        shown: (risk) => (risk === null ? "not rated" : badge(risk)),
        href: (risk) => openCases({ risk_level_id: risk === null ? 0 : riskIds.get(risk) }),
      }),
      bars("Open cases by age", "Open cases", cases.by_age.map((age) => [ageName(age), age.open]), { href: (name) => ages.get(name) }),
      overdue(cases, now),
      trends(weeks)));
}
