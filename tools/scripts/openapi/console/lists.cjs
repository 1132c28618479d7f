// Checks the URL and case lists.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const { becomes } = require("../browser.cjs");
const { base, PHONE, WIDE, api, changing, checked, column, filters, heading, message, onRecord, rows, section } = require("./common.cjs");

async function lists(page) {
  await section(page, "URLs");
  await heading(page, "URLs 1–20 of 30", 2);
  await checked(page, "URLs");
  const documented = JSON.parse(fs.readFileSync("docs/openapi.json", "utf8"));
  for (const path of ["/api/urls", "/api/cases"]) {
    const names = documented.paths[path].get.parameters.filter((parameter) => parameter.in === "query" && !["page", "per_page", "changed_after", "sort_by", "sort_dir"].includes(parameter.name));
    await page.goto(`${base}/console#${path.slice(4)}`);
    await heading(page, /^(URLs|Cases) 1–/, 2);
    await filters(page);
    for (const { name } of names) await becomes(() => page.locator(`form.filters #field-${name}`).count(), 1, `${path} ${name}`);
    // A column header offers each of the service's sort orders, except by infraction type, which no column shows.
    await page.locator("summary", { hasText: "Columns" }).click();
    for (const box of await page.getByRole("group", { name: "Columns" }).getByRole("checkbox").all()) await box.check();
    for (const order of documented.paths[path].get.parameters.find(({ name }) => name === "sort_by").schema.enum.filter((name) => name !== "infraction_type")) {
      await becomes(() => page.locator(`thead a[href*="sort_by=${order}&"]`).count(), 1, `${path} ${order}`);
    }
    await page.getByRole("button", { name: "Reset" }).click();
  }
  await section(page, "URLs");
  await heading(page, "URLs 1–20 of 30", 2);
  const pages = page.getByRole("navigation", { name: "Pages" });
  await pages.getByRole("link", { name: "Next" }).click();
  await heading(page, "URLs 21–30 of 30", 2);
  await becomes(() => rows(page).count(), 10);
  await becomes(() => page.evaluate("document.activeElement.textContent.slice(0, 7)"), "URLs 21");
  await page.goBack();
  await heading(page, "URLs 1–20 of 30", 2);
  await pages.getByLabel("Page").fill("2");
  await page.keyboard.press("Enter");
  await heading(page, "URLs 21–30 of 30", 2);
  await pages.getByLabel("Page").fill("99");
  await page.keyboard.press("Enter");
  await page.waitForURL(/page=2/);
  await section(page, "URLs");
  await heading(page, "URLs 1–20 of 30", 2);

  const same = async (path) => {
    const expected = (await api("GET", path)).data.map((record) => String(record.id ?? record.case_id));
    // The previous results may still be visible.
    await page.waitForFunction((ids) => {
      const cells = Array.from(document.querySelectorAll("tbody tr > :first-child"), (cell) => cell.textContent);
      return JSON.stringify(cells) === ids;
    }, JSON.stringify(expected)).catch(async () => assert.deepEqual(await column(page, 1), expected, path));
  };
  const form = page.getByRole("form", { name: "Filters" });
  await filters(page);
  await checked(page, "filters");
  // The usual filters apply immediately, and keep the others.
  await form.getByLabel("Monitoring").selectOption({ label: "On" });
  await page.waitForURL(/disabled=no/);
  await form.getByLabel("Incident status", { exact: true }).selectOption({ label: "In Violation" });
  await page.waitForURL(/incident_status_id=3/);
  for (const direction of ["descending", "ascending"]) {
    await page.getByRole("columnheader", { name: "Last seen" }).getByRole("link").click();
    await page.locator(`th[aria-sort=${direction}]`).filter({ hasText: "Last seen" }).waitFor();
  }
  await page.getByLabel("Records per page").selectOption("10");
  await form.getByLabel("Discovery from").fill("2020-01-01");
  await form.getByLabel("Discovery until").fill("2030-01-01");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.waitForURL(/per_page=10/);
  await heading(page, /^URLs 1–/, 2);
  await same("urls?disabled=no&incident_status_id=3&sort_by=last_seen&sort_dir=asc&per_page=10&discovery_after=2020-01-01&discovery_before=2030-01-01");
  await becomes(async () => [...new Set(await column(page, 3))], ["In Violation"]);
  await page.getByRole("link", { name: "Clear all" }).click();
  await heading(page, "URLs 1–20 of 30", 2);
  await page.getByRole("columnheader", { name: "Discovery date" }).getByRole("link").click();
  await page.locator("th[aria-sort=descending]").filter({ hasText: "Discovery date" }).waitFor();
  await same("urls?sort_by=discovery_dt&sort_dir=desc&per_page=20");
  await form.getByLabel("Affiliate", { exact: true }).fill("1");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.waitForURL(/distributor_id=1/);
  await heading(page, /^(URLs 1–\d+ of \d$|No URLs)/, 2);
  await same("urls?distributor_id=1&sort_by=discovery_dt&per_page=20");
  await form.getByLabel("Affiliate", { exact: true }).fill("no such affiliate");
  await page.getByRole("button", { name: "Apply" }).click();
  await message(page, "No affiliate name or ID contains this text.");
  await page.goto(`${base}/console#/urls?distributor_id=abc`);
  await message(page, "Some values are not valid.");
  await becomes(async () => await form.locator("#field-distributor_id-error").innerText() !== "", true);
  await form.getByLabel("Affiliate", { exact: true }).fill("");
  await form.getByLabel("Incident status", { exact: true }).selectOption("other");
  await form.getByLabel("ID of another incident status").fill("1000");
  await page.getByRole("button", { name: "Apply" }).click();
  await heading(page, "No URLs match these filters", 2);
  await checked(page, "URLs without a match");
  await page.goto(`${base}/console#/urls?page=99`);
  await heading(page, "No URLs on this page (30 in total)", 2);
  await page.goto(`${base}/console#/urls/1`);
  await onRecord(page, "URL 1");
  await heading(page, "Infractions", 2);
  await checked(page, "a URL");

  await section(page, "Cases");
  await heading(page, "Cases 1–10 of 10", 2);
  await checked(page, "cases");
  await filters(page);
  await form.getByLabel("Case status", { exact: true }).selectOption({ label: "Open" });
  await page.waitForURL(/case_status_id=2/);
  await form.getByLabel("Created from").pressSequentially("1218");
  await page.getByRole("button", { name: "Apply" }).click();
  await message(page, "This date is incomplete or does not exist.");
  await form.getByLabel("Created from").fill("2020-01-01");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.waitForURL(/created_after=2020-01-01/);
  await heading(page, /^Cases 1/, 2);
  await page.getByRole("columnheader", { name: "Created date" }).getByRole("link").click();
  await page.waitForURL(/sort_by=created_dt/);
  await page.locator("th[aria-sort=descending]").filter({ hasText: "Created date" }).waitFor();
  await same("cases?case_status_id=2&created_after=2020-01-01&sort_by=created_dt&per_page=20");
  await page.goto(`${base}/console#/cases?open=yes&risk_level_id=0`);
  await page.getByText("Risk level: none").waitFor();
  await same("cases?open=yes&risk_level_id=0");
  for (const [name, sort] of [["Risk level", "risk_level"], ["Case worker", "case_worker"], ["Follow-up date", "follow_up_date"]]) {
    await page.goto(`${base}/console#/cases`);
    await page.getByRole("columnheader", { name }).getByRole("link").click();
    await page.locator("th[aria-sort=descending]").filter({ hasText: name }).waitFor();
    await same(`cases?sort_by=${sort}&per_page=20`);
  }
  // The infraction filter also offers the company's own names.
  const addName = (found) => found.find(({ vocabulary }) => vocabulary === "infraction_type").entries.push({ id: 1000, name: "Own claim" });
  await changing(page, "**/api/vocabularies", addName, async () => {
    await page.reload();
    await heading(page, /^Cases 1–/, 2);
    await filters(page);
    for (const [name, id] of [["Trademark", 4], ["Own claim", 1000]]) {
      await form.getByLabel("Infraction type", { exact: true }).selectOption({ label: name });
      await page.getByRole("button", { name: "Apply" }).click();
      await page.waitForURL(new RegExp(`infraction_type_id=${id}`));
      await page.getByRole("list", { name: "Active filters" }).getByText(`Infraction type: ${name}`).waitFor();
    }
  });
}

/** Assigns several cases to a worker, and undoes the change. */
async function several(page) {
  await page.goto(`${base}/console#/cases?open=yes`);
  // The reload discards the previous list.
  await page.reload();
  await heading(page, /^Cases 1–/, 2);
  const ids = (await column(page, 1)).slice(0, 2);
  const workers = async () => Promise.all(ids.map(async (id) => (await api("GET", `cases/${id}`)).data.case_worker));
  const before = await workers();
  for (const id of ids) await page.getByLabel(`Select case ${id}`).check();
  await page.getByText("2 cases selected").waitFor();
  // The bar stays in view.
  await page.setViewportSize({ ...WIDE, height: 400 });
  for (const place of [0, 1e6]) {
    await page.evaluate((top) => window.scrollTo(0, top), place);
    const { y, height } = await page.locator(".selection").boundingBox();
    assert.ok(y > 0 && y + height <= 400, `the bar is at ${y} px`);
  }
  await page.setViewportSize(WIDE);
  // Without a field, or a complete value, the page says what is missing.
  const set = (text) => page.getByRole("button", { name: text, exact: true }).click();
  const value = (name) => page.locator(".selection").getByLabel(name, { exact: true });
  await set("Set");
  await message(page, "Choose a field.");
  await page.getByLabel("Field to set").selectOption("risk_level");
  await set("Set");
  await message(page, "Enter or choose a value.");
  await checked(page, "a missing value for several cases");
  await page.getByLabel("Field to set").selectOption("follow_up_date");
  await value("Follow-up date").pressSequentially("1218");
  await set("Set");
  await message(page, "This date is incomplete or does not exist.");
  const risks = async () => Promise.all(ids.map(async (id) => (await api("GET", `cases/${id}`)).data.risk_level));
  const rated = await risks();
  await page.getByLabel("Field to set").selectOption("risk_level");
  await set("Remove risk level");
  await message(page, "Risk level removed from 2 cases.");
  assert.deepEqual(await risks(), [null, null]);
  await set("Undo");
  await message(page, "Undone: Risk level for 2 cases.");
  assert.deepEqual(await risks(), rated);
  for (const id of ids) await page.getByLabel(`Select case ${id}`).check();
  await page.getByLabel("Field to set").selectOption("case_worker");
  await page.getByRole("button", { name: "Me", exact: true }).click();
  await checked(page, "several cases");
  await page.getByRole("button", { name: "Set", exact: true }).click();
  await message(page, "Case worker set to bea for 2 cases.");
  assert.deepEqual(await workers(), ["bea", "bea"]);
  await page.getByRole("button", { name: "Undo" }).click();
  await message(page, "Undone: Case worker for 2 cases.");
  assert.deepEqual(await workers(), before);
  // The filter offers the same choices.
  await filters(page);
  const form = page.getByRole("form", { name: "Filters" });
  await form.getByLabel("Case worker", { exact: true }).focus();
  await becomes(async () => await form.locator("datalist[id^=workers] option").count() > 0, true);
  await form.getByRole("button", { name: "Me" }).click();
  await page.waitForURL(/case_worker=bea$/);
}

/** Checks that filters appear as chips, and remain when the user returns from a record. */
async function filterChips(page) {
  const [{ affiliate_name: name }] = (await api("GET", "urls?per_page=200")).data.filter((record) => record.affiliate_name !== null);
  const { id } = (await api("GET", "affiliates")).data.find((record) => record.distributor_name === name);
  const form = page.getByRole("form", { name: "Filters" });
  await section(page, "URLs");
  await heading(page, /^URLs 1–/, 2);
  await filters(page);
  await form.getByLabel("Affiliate", { exact: true }).fill(name);
  await form.getByLabel("Monitoring").selectOption("no");
  await page.waitForURL(new RegExp(`distributor_id=${id}`));
  const list = page.getByRole("list", { name: "Active filters" });
  await list.getByText(`Affiliate: ${name}`).waitFor();
  await list.getByText("Monitoring: On").waitFor();
  await checked(page, "URLs of an affiliate");
  const found = await page.getByRole("heading", { level: 2 }).innerText();
  await page.getByRole("rowheader").first().getByRole("link").click();
  await onRecord(page, /^URL \d+/);
  await page.getByRole("link", { name: "Back to the URLs" }).click();
  await heading(page, found, 2);
  await page.waitForURL(new RegExp(`distributor_id=${id}.*disabled=no|disabled=no.*distributor_id=${id}`));
  await page.getByRole("link", { name: "Remove the filter Monitoring: On" }).click();
  await page.waitForURL((url) => !url.hash.includes("disabled") && url.hash.includes("distributor_id"));
  await page.getByRole("link", { name: "Remove the filter Affiliate" }).click();
  await page.waitForURL((url) => !url.hash.includes("distributor_id"));
  await becomes(() => list.count(), 0);
}

/** Checks that the list marks past follow-up dates, but only for open cases. */
async function overdueDates(page) {
  const [one, other] = (await api("GET", "cases?open=yes&per_page=2")).data;
  const dates = { [one.case_id]: "2026-01-05 09:00:00", [other.case_id]: "2999-01-05 09:00:00" };
  const change = (found) => {
    for (const record of found) record.follow_up_date = dates[record.case_id] ?? record.follow_up_date;
    found.push({ ...one, case_id: 999_999, case_status: "Closed", follow_up_date: "2026-01-05 09:00:00" });
  };
  await changing(page, "**/api/cases?*", change, async () => {
    await page.goto(`${base}/console#/cases?open=yes&per_page=200`);
    await page.reload();
    await heading(page, /^Cases 1–/, 2);
    const marked = async (id) => (await rows(page).filter({ has: page.getByRole("link", { name: String(id), exact: true }) }).locator(".overdue").count()) > 0;
    assert.deepEqual([await marked(one.case_id), await marked(other.case_id), await marked(999_999)], [true, false, false]);
    await checked(page, "overdue cases");
  });
}

/** Checks that rows have one line, or are cards on a phone, that the table head stays in view, and that a click on a row opens it. */
async function layout(page) {
  const long = `https://example.org/${"x".repeat(8000)}`;
  await api("POST", "urls", { urls: [{ url: long }] });
  await page.goto(`${base}/console#/urls?per_page=200`);
  await page.reload();
  await heading(page, /^URLs 1–/, 2);
  const hasOneRow = async () => await page.locator("header").evaluate((node) => node.offsetHeight) < 60;
  for (const width of [721, 768, 1024, WIDE.width]) {
    await page.setViewportSize({ ...WIDE, width });
    assert.ok(await hasOneRow(), `the header has more than one row at ${width} px`);
  }
  // In a wide window, the header is above the content.
  await page.setViewportSize({ ...WIDE, width: 1920 });
  const left = (selector) => page.locator(selector).evaluate((node) => Math.round(node.getBoundingClientRect().left));
  assert.equal(await left(".product"), await left("h1"));
  // In the narrower window, the list scrolls sideways.
  for (const size of [WIDE, { ...WIDE, width: 800 }]) {
    await page.setViewportSize(size);
    const { heights, page: height } = await page.evaluate(`({
      heights: Array.from(document.querySelectorAll("tbody tr"), (row) => row.getBoundingClientRect().height),
      page: document.documentElement.scrollHeight,
    })`);
    assert.ok(Math.max(...heights) < 45, `a row is ${Math.max(...heights)} px high at ${size.width} px`);
    const box = page.getByRole("region", { name: "URLs", exact: true });
    const [inner, outer] = await box.evaluate((node) => [node.scrollHeight, node.clientHeight]);
    assert.ok(inner - outer < 3, `a box of ${outer} px has ${inner} px of content`);
    // The list scrolls with the page, and its head stays at the top.
    await page.evaluate((middle) => window.scrollTo(0, middle), height / 2);
    await becomes(() => box.evaluate((node) => Math.abs(node.querySelector("thead th").getBoundingClientRect().top) < 3), true, `the head at ${size.width} px`);
  }
  // On a phone, each row is a card with labels. Sorting and selecting stay possible, and a menu contains the tools.
  await page.setViewportSize(PHONE);
  assert.ok(await hasOneRow(), "the header has more than one row on a phone");
  // The list begins in the upper half of the window.
  const { y: top } = await page.locator("tbody tr").first().boundingBox();
  assert.ok(top + await page.evaluate("window.scrollY") < PHONE.height / 2, `the first card is at ${top} px`);
  const box = page.getByRole("region", { name: "URLs", exact: true });
  await becomes(() => box.evaluate((node) => node.scrollWidth > node.clientWidth), false);
  const tools = page.locator("summary", { hasText: "Columns" });
  assert.equal(await tools.isVisible(), false, "the menu is open");
  await page.locator(".tools > summary").click();
  assert.equal(await tools.isVisible(), true, "the menu is closed");
  await page.locator(".tools > summary").click();
  const cells = rows(page).first().locator("> *");
  assert.deepEqual(await cells.evaluateAll((nodes) => nodes.map((node) => getComputedStyle(node, "::before").content)),
    ["ID", "URL", "Incident status", "Affiliate name", "Infractions", "Case ID", "Discovery date", "Last seen"].map((name) => `"${name}"`));
  // Cards hide empty cells.
  const tops = await cells.evaluateAll((nodes) => nodes.filter((node) => node.offsetHeight > 0).map((node) => node.getBoundingClientRect().top));
  assert.ok(tops.length < 8, "an empty cell is visible");
  assert.deepEqual(tops, [...new Set(tops)].sort((one, other) => one - other), "the cells of a card are below each other");
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  await page.getByText(/URLs selected$/).waitFor();
  await page.getByRole("columnheader", { name: "Last seen" }).getByRole("link").click();
  await page.waitForURL(/sort_by=last_seen/);
  await page.locator("th[aria-sort=descending]").filter({ hasText: "Last seen" }).waitFor();
  await page.setViewportSize(WIDE);
  const id = (await column(page, 1))[0];
  await rows(page).first().locator("td").nth(1).click();
  await onRecord(page, `URL ${id}`);
}

/** Chooses columns, which the browser stores, and resets them. */
async function columns(page) {
  const shown = () => page.getByRole("columnheader").allInnerTexts();
  await section(page, "Cases");
  await heading(page, /^Cases 1–/, 2);
  const initial = await shown();
  await page.locator("summary", { hasText: "Columns" }).click();
  const menu = page.getByRole("group", { name: "Columns" });
  await menu.getByLabel("Case worker").uncheck();
  await menu.getByLabel("Case country").check();
  await checked(page, "columns");
  await page.keyboard.press("Escape");
  const changed = [...initial.filter((name) => name !== "Case worker"), "Case country"];
  await becomes(shown, changed);
  await page.reload();
  await heading(page, /^Cases 1–/, 2);
  await becomes(shown, changed);
  const kept = JSON.parse(await page.evaluate("JSON.stringify({ ...localStorage })"));
  assert.deepEqual(Object.keys(kept), ["compliance-columns-cases"]);
  assert.match(kept["compliance-columns-cases"], /^\["case_id",("[a-z_]+",?)+\]$/);
  await page.locator("summary", { hasText: "Columns" }).click();
  await page.getByRole("button", { name: "Select all", exact: true }).click();
  await becomes(async () => (await shown()).length > 40, true);
  await page.getByRole("button", { name: "Reset" }).click();
  await becomes(shown, initial);
  await becomes(() => page.evaluate("localStorage.length"), 0);
}

module.exports = { lists, several, filterChips, overdueDates, layout, columns };
