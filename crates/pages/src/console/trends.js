// Shows weekly counts as small charts and a table.

import { count, counted, element, svg, table } from "./elements.js";

const SERIES = [["new_urls", "New URLs"], ["new_infractions", "New infractions"], ["new_cases", "New cases"], ["closed_cases", "Closed cases"]];
/** The list with the records of each series, and the prefix of its date filters. */
const LISTS = {
  new_urls: ["urls", "discovery"], new_infractions: ["urls", "infraction"], new_cases: ["cases", "created"], closed_cases: ["cases", "closed"],
};
const WEEK = 6 * 24 * 60 * 60 * 1000;
const HEIGHT = 40;
const STEP = 10;

function chart(name, title, weeks) {
  const numbers = weeks.map((week) => week[name]);
  const most = Math.max(1, ...numbers);
  const last = numbers.at(-1);
  const summary = `${title} in ${weeks.length} weeks: from ${count(Math.min(...numbers))} to ${count(Math.max(...numbers))} per week, ${count(last)} in the last week.`;
  const columns = weeks.map((week, index) => {
    const height = (HEIGHT * week[name]) / most;
    return svg("g", {}, svg("title", {}, `Week from ${week.from}: ${count(week[name])}`),
      svg("rect", { class: "track", x: index * STEP, y: 0, width: STEP - 2, height: HEIGHT }),
      svg("rect", { class: index === weeks.length - 1 ? "latest" : "", x: index * STEP, y: HEIGHT - height, width: STEP - 2, height }));
  });
  return element("figure", {},
    element("figcaption", {}, element("span", {}, title), element("strong", {}, count(last)), element("span", { class: "hint" }, " this week")),
    svg("svg", { class: "trend", viewBox: `0 0 ${weeks.length * STEP - 2} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": summary }, columns));
}

/** Returns the address of a series' records in a week. */
function address(name, { from }) {
  const [section, filter] = LISTS[name];
  const last = new Date(Date.parse(from) + WEEK).toISOString().slice(0, 10);
  return `#/${section}?${new URLSearchParams({ [`${filter}_after`]: from, [`${filter}_before`]: last })}`;
}

/**
 * Returns the text and address of a link to the URLs with infractions from a week.
 * @returns {[string, string]}
 */
export function infractionUrls(week) {
  return [`See ${counted(week.infraction_urls, "affected URL", "affected URLs")}`, address("new_infractions", week)];
}

/** Returns the cells of a series in a week. Infractions have no list of their own, so a link to their URLs follows. */
function cells(name, week) {
  const link = (number) => element("span", { class: "number" }, element("a", { href: address(name, week) }, count(number)));
  if (name !== "new_infractions") return [link(week[name])];
  return [element("span", { class: "number" }, count(week[name])), link(week.infraction_urls)];
}

const headings = ([name, title]) => (name === "new_infractions" ? [title, "Affected URLs"] : [title]);

/** Returns a section with the trends. */
export function trends(weeks) {
  const rows = weeks.toReversed().map((week) => [week.from, ...SERIES.flatMap(([name]) => cells(name, week))]);
  return element("section", { class: "panel wide" }, element("h2", {}, `Trends over ${weeks.length} weeks`),
    weeks.length > 0 && element("div", { class: "figures" }, SERIES.map(([name, title]) => chart(name, title, weeks))),
    element("details", { class: "plain" }, element("summary", {}, "Show as a table"),
      table("Trends", ["Week from (UTC)", ...SERIES.flatMap(headings)], rows)));
}
