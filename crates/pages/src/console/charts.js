// Computes case charts from the case list.

import { bars } from "./bars.js";
import { announce, count, counted, element, show } from "./elements.js";
import { ageAddress, ageName } from "./overview.js";
import { attempt, rejectionMessage } from "./rejections.js";
import { call } from "./requests.js";
import { instant } from "./timestamps.js";
import { vocabularies } from "./vocabularies.js";

// Charts cover the newest 5,000 cases.
const PAGES = 25;
const PAGE_SIZE = 200;
const DAY = 24 * 60 * 60 * 1000;
const AGES = [[0, 7], [8, 30], [31, 90], [91, 365], [366, null]].map(([from_days, to_days]) => ({ from_days, to_days }));
const NONE = "none";

/** Counts names. Entries are in the given `order`, or else sorted by descending count. */
function numbers(names, order = []) {
  const found = new Map(order.map((name) => [name, 0]));
  for (const name of names) found.set(name ?? NONE, (found.get(name ?? NONE) ?? 0) + 1);
  const entries = [...found];
  return order.length > 0 ? entries : entries.sort(([, one], [, other]) => other - one);
}

/** Returns the name of a timestamp's age range, or null if the timestamp is unknown. Lists filter by day, so the age counts days in UTC. */
function age(timestamp, now) {
  if (timestamp === null) return null;
  const days = Math.floor(now / DAY) - Math.floor(instant(timestamp) / DAY);
  return ageName(AGES.find(({ to_days: to }) => to === null || days <= to));
}

export async function chartsView({ signal }) {
  const known = await vocabularies(signal);
  const progress = element("p", {});
  const content = element("div", { class: "panels" });
  show("Charts", progress, content);

  // After a rejection, "Try again" continues with the failed page.
  const cases = new Map();
  let page = 1;
  let total = 0;
  const read = async () => {
    content.replaceChildren();
    for (; page <= PAGES; page += 1) {
      progress.textContent = cases.size > 0 ? `Loading: ${count(cases.size)} of ${count(total)} cases…` : "Loading…";
      const query = { per_page: PAGE_SIZE, page, sort_by: "id", sort_dir: "desc" };
      const { body } = await call("GET", "api/cases", { query, signal });
      // A case created between two requests moves other cases to the next page, so cases can repeat.
      for (const record of body.data) cases.set(record.case_id, record);
      total = body.meta.total;
      if (page >= body.meta.last_page) break;
    }
    const all = [...cases.values()];
    const now = Date.now();
    const infractions = all.flatMap((record) => record.incidents).map((incident) => incident.infraction_type);
    progress.textContent = all.length < total
      ? `Based on the newest ${count(all.length)} of ${count(total)} cases.`
      : `Based on ${all.length === 1 ? "the only case" : `all ${counted(all.length, "case", "cases")}`}.`;
    /** Returns a function that returns the address of the cases with a name from a vocabulary. */
    const casesWith = (vocabulary) => (name) => {
      const entry = known.get(vocabulary).find((each) => each.name === name);
      return entry ? `#/cases?${vocabulary}_id=${entry.id}` : null;
    };
    const ages = new Map(AGES.map((range) => [ageName(range), ageAddress(range)]));
    content.replaceChildren(
      bars("Infractions by type", "Incidents", numbers(infractions), { href: casesWith("infraction_type") }),
      bars("Cases by status", "Cases", numbers(all.map((record) => record.case_status)), { href: casesWith("case_status") }),
      bars("Cases by age", "Cases", numbers(all.map((record) => age(record.created_date, now)), [...ages.keys()]), { href: (name) => ages.get(name) ?? null }));
    announce(progress.textContent);
  };
  const start = () => attempt(signal, read, (rejection) => {
    progress.textContent = "";
    content.replaceChildren(rejectionMessage(rejection, start));
  });
  await start();
}
