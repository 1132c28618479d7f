// Computes case charts from the case list.

import { parameters } from "./description.js";
import { bars } from "./bars.js";
import { announce, count, counted, element, show } from "./elements.js";
import { attempt, rejectionMessage } from "./rejections.js";
import { call } from "./requests.js";
import { instant } from "./timestamps.js";

// Charts cover the newest 5,000 cases.
const PAGES = 25;
const PAGE_SIZE = 200;
const DAY = 24 * 60 * 60 * 1000;
/** @type {[string, number][]} */
const AGES = [["up to a week", 7], ["up to 30 days", 30], ["up to 90 days", 90], ["up to a year", 365], ["more than a year", Infinity]];
const NONE = "none";

/** Counts names. Entries are in the given `order`, or else sorted by descending count. */
function numbers(names, order = []) {
  const found = new Map(order.map((name) => [name, 0]));
  for (const name of names) found.set(name ?? NONE, (found.get(name ?? NONE) ?? 0) + 1);
  const entries = [...found];
  return order.length > 0 ? entries : entries.sort(([, one], [, other]) => other - one);
}

/** Returns a timestamp's age range, or null if the timestamp is unknown. */
function age(timestamp, now) {
  if (timestamp === null) return null;
  const days = (now - instant(timestamp)) / DAY;
  return AGES.find(([, limit]) => days <= limit)[0];
}

export async function chartsView({ signal }) {
  const filters = await parameters("/api/cases");
  const statuses = filters.find(({ names }) => names)?.names ?? {};
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
    const statusAddress = (name) => {
      const id = Object.keys(statuses).find((key) => statuses[key] === name);
      return id ? `#/cases?case_status_id=${id}` : null;
    };
    content.replaceChildren(
      bars("Infractions by type", "Incidents", numbers(infractions)),
      bars("Cases by status", "Cases", numbers(all.map((record) => record.case_status)), { href: statusAddress }),
      bars("Cases by age", "Cases", numbers(all.map((record) => age(record.created_date, now)), AGES.map(([name]) => name))));
    announce(progress.textContent);
  };
  const start = () => attempt(signal, read, (rejection) => {
    progress.textContent = "";
    content.replaceChildren(rejectionMessage(rejection, start));
  });
  await start();
}
