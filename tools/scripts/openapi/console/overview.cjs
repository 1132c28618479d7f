// Checks the start page and the charts.
"use strict";

const assert = require("node:assert/strict");
const { becomes, picture } = require("../browser.cjs");
const { base, api, changing, checked, columnOf, heading, onRecord, section } = require("./common.cjs");

/** Checks that the start page shows the service's numbers, and links to the records. */
async function overview(page) {
  const { data } = await api("GET", "overview");
  const [mine, unassigned] = await Promise.all(["case_worker=bea", "assigned=no"].map(async (filter) => (await api("GET", `cases?open=yes&per_page=1&${filter}`)).meta.total));
  const violations = (await api("GET", "urls?incident_status_id=3&has_case=no&per_page=1")).meta.total;
  await section(page, "Overview");
  await heading(page, "Overview");
  const cards = async () => Object.fromEntries(await page.locator(".card").evaluateAll((nodes) =>
    nodes.map((node) => [node.children[0].textContent, node.children[1].textContent])));
  const text = (number) => number.toLocaleString("en");
  await becomes(cards, {
    "Open cases": text(data.cases.open), "My open cases": text(mine), "Overdue follow-ups": text(data.cases.overdue),
    "New URLs": text(data.urls.new), "Violations without a case": text(violations), "New infractions": text(data.infractions.new),
  });
  await picture(page, "console-overview.png");
  const numbers = (title) => page.getByRole("table", { name: title }).locator("td.number").allInnerTexts();
  await becomes(() => numbers("Open cases by risk"), data.cases.by_risk.map(({ open }) => text(open)));
  await becomes(() => numbers("Open cases by age"), data.cases.by_age.map(({ open }) => text(open)));
  for (const [name, title] of [["new_urls", "New URLs"], ["new_infractions", "New infractions"], ["new_cases", "New cases"], ["closed_cases", "Closed cases"]]) {
    const values = data.weeks.map((week) => week[name]);
    await page.getByRole("img", { name: `${title} in 12 weeks: from ${text(Math.min(...values))} to ${text(Math.max(...values))} per week, ${text(values.at(-1))} in the last week.` }).waitFor();
  }
  await page.getByText("Show as a table").click();
  await becomes(() => columnOf(page, "Trends", 2), data.weeks.map((week) => text(week.new_urls)).reverse());
  await becomes(() => columnOf(page, "Trends", 1), data.weeks.map((week) => week.from).reverse());
  await checked(page, "overview");
  // Every number links to exactly that many records.
  await becomes(() => columnOf(page, "Trends", 3), data.weeks.map((week) => text(week.new_infractions)).reverse());
  await becomes(() => columnOf(page, "Trends", 4), data.weeks.map((week) => text(week.infraction_urls)).reverse());
  const at = text(data.infractions.urls);
  await page.locator(".card").filter({ hasText: "New infractions" }).getByRole("link", { name: `See ${at} affected URL${at === "1" ? "" : "s"}` }).waitFor();
  // Each card suggests a next step.
  assert.equal(await page.locator(".card .next").count(), 4 + [unassigned, violations].filter((number) => number > 0).length);
  await page.route(/api\/cases\?.*assigned=no/, (route) => route.fulfill({ json: { data: [], meta: { total: 1200 } } }));
  await page.reload();
  await page.getByRole("link", { name: "Assign 1,200 cases without a worker" }).waitFor();
  await page.unroute(/api\/cases\?.*assigned=no/);
  await page.reload();
  await page.getByText("Show as a table").click();
  const figures = await page.locator("a.card-number, table.chart th a, table td .number a").evaluateAll((links) => links.map((link) => {
    const number = link.closest("tr.chart-row, table.chart tr")?.querySelector("td.number") ?? link;
    return [link.getAttribute("href"), number.textContent];
  }));
  assert.ok(figures.length > 40, `only ${figures.length} linked numbers`);
  for (const [href, number] of figures) {
    const [path, query] = href.slice(2).split("?");
    assert.equal(text((await api("GET", `${path}?${query}&per_page=1`)).meta.total), number, href);
  }

  // Overdue follow-ups link to their cases and affiliates. They depend on the day, so this check adds two.
  const [one] = (await api("GET", "cases?open=yes&per_page=1")).data;
  const dueOn = new Date(Date.now() - 3 * 24 * 60 * 60 * 1000 - 60_000).toISOString().slice(0, 19).replace("T", " ");
  const cases = [{ ...one, follow_up_date: dueOn, risk_level: "Critical" }, { ...one, case_id: one.case_id + 1, case_status: "Open", risk_level: null, follow_up_date: dueOn }];
  await changing(page, "**/api/overview", (found) => Object.assign(found.cases, { overdue: 30, overdue_cases: cases }), async () => {
    await page.reload();
    await heading(page, "Overview");
    await page.getByText("The 2 oldest of 30 overdue cases.").waitFor();
    await becomes(() => columnOf(page, "Overdue follow-ups", 2), ["3 days", "3 days"]);
    await becomes(() => columnOf(page, "Overdue follow-ups", 3), ["Critical", "–\nno value"]);
    await checked(page, "overview with overdue follow-ups");
    await page.getByRole("region", { name: "Overdue follow-ups" }).getByRole("link", { name: String(one.case_id), exact: true }).click();
    await onRecord(page, `Case ${one.case_id}`);
  });
  await section(page, "Overview");
  await heading(page, "Overview");
  await page.locator(".card").filter({ hasText: "New URLs" }).getByRole("link").first().click();
  await page.waitForURL(/urls\?discovery_after=\d{4}-\d\d-\d\d$/);
  await heading(page, /^(URLs 1–|There|No URLs)/, 2);
}

/** Checks that a slow list shows one loading message. */
async function loading(page) {
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  await page.route("**/api/cases?*", async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(`${base}/console#/cases`);
  const results = page.getByRole("region", { name: "Results" });
  await becomes(() => results.getAttribute("aria-busy"), "true");
  const note = await results.evaluate((node) => {
    const { content, display } = getComputedStyle(node, "::before");
    return [content, display !== "none"];
  });
  assert.deepEqual(note, ['"Loading…"', true]);
  // Only one message is visible.
  assert.equal(await page.evaluate(`Array.from(document.querySelectorAll("[aria-busy]"), (node) => getComputedStyle(node, "::before").content)
    .filter((content) => content.includes("Loading")).length`), 1);
  release();
  await heading(page, /^Cases 1–/, 2);
  await becomes(() => results.getAttribute("aria-busy"), null);
  await page.unroute("**/api/cases?*");
}

async function charts(page) {
  const all = (await api("GET", "cases?per_page=200")).data;
  const expected = (names) => Object.fromEntries(names.map((name) => [name ?? "none", String(names.filter((other) => other === name).length)]));
  const shown = async (title) => {
    const chart = page.getByRole("table", { name: title });
    const cells = async (selector) => chart.locator(selector).allInnerTexts();
    const [names, numbers] = [await cells("tbody th"), await cells("tbody td.number")];
    return Object.fromEntries(names.map((name, index) => [name.trim(), numbers[index]]));
  };
  await section(page, "Charts");
  await page.getByText("Based on all 10 cases.").and(page.locator("p")).waitFor();
  await becomes(() => shown("Infractions by type"), expected(all.flatMap((record) => record.incidents.map((incident) => incident.infraction_type))));
  await becomes(() => shown("Cases by status"), expected(all.map((record) => record.case_status)));
  await becomes(async () => Object.values(await shown("Cases by age")).map(Number).reduce((one, other) => one + other, 0), 10);
  // Names link to their cases. Ages have the same names as on the overview.
  assert.ok((await page.getByRole("table", { name: "Cases by age" }).locator("th a").allInnerTexts()).join().startsWith("up to 7 days,8 to 30 days,31 to 90 days"));
  for (const title of ["Cases by status", "Cases by age"]) {
    const links = await page.getByRole("table", { name: title }).locator("tbody tr").evaluateAll((lines) => lines.map((line) => [line.querySelector("a").getAttribute("href"), line.querySelector(".number").textContent]));
    for (const [href, number] of links) assert.equal(String((await api("GET", `${href.slice(2)}&per_page=1`)).meta.total), number, href);
  }
  assert.ok(await page.getByRole("table", { name: "Infractions by type" }).getByRole("link").count() > 0);
  await checked(page, "charts");
  await page.getByRole("table", { name: "Cases by status" }).getByRole("link").first().click();
  await page.waitForURL(/case_status_id=/);
}

module.exports = { overview, loading, charts };
