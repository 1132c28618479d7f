// Checks list exports.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const { becomes } = require("../browser.cjs");
const { base, api, heading, message, section } = require("./common.cjs");

/** Parses a CSV file into lines of cells. */
function parsed(text) {
  const lines = [];
  const pattern = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy;
  let line = [];
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    line.push(match[1] === undefined ? match[2] : match[1].replaceAll('""', '"'));
    if (match[3] === ",") continue;
    lines.push(line);
    line = [];
  }
  return lines;
}

/** Exports the current list, and returns the file's name and its records by heading. */
async function exported(page) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export CSV" }).click()]);
  const text = fs.readFileSync(await download.path(), "utf8");
  assert.equal(text[0], "\uFEFF");
  const [fields, ...lines] = parsed(text.slice(1));
  // Some spreadsheet programs split cells at semicolons, and a formula could follow.
  assert.ok(parsed(text.slice(1).replaceAll(/"(?:[^"]|"")*"/g, "")).flat().every((cell) => !/[;\t]/.test(cell)));
  for (const line of lines) assert.equal(line.length, fields.length);
  return { name: download.suggestedFilename(), records: lines.map((line) => Object.fromEntries(fields.map((field, index) => [field, line[index]]))) };
}

/** Presses a button in the column menu. */
async function columns(page, name) {
  const title = page.locator("summary", { hasText: "Columns" });
  await title.click();
  await page.getByRole("group", { name: "Columns" }).getByRole("button", { name, exact: true }).click();
  await title.click();
}

/** Checks that exports contain all matching records, and that no cell is a formula. */
async function exports(page) {
  const formulas = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\n=1", '=HYPERLINK("http://example.org","x"),\n'];
  await api("POST", "affiliates", { affiliates: formulas.map((formula, index) => ({ client_affiliate_id: `F-${index}`, affiliate_name: `Formula ${index}`, city: formula, state: "x;=1+1", status: "forgotten" })) });
  await page.goto(`${base}/console#/affiliates?status=forgotten`);
  await page.reload();
  await heading(page, /^Affiliates 1–/, 2);
  const all = (await api("GET", "affiliates")).data.filter((record) => record.distributor_status === "forgotten");
  const affiliates = await exported(page);
  // The file has the columns of the list, under the same headings.
  assert.deepEqual(Object.keys(affiliates.records[0]), await page.getByRole("columnheader").allInnerTexts());
  await page.getByText(`${all.length} records exported.`).first().waitFor();
  assert.match(affiliates.name, /^affiliates-\d{4}-\d\d-\d\d\.csv$/);
  assert.deepEqual(affiliates.records.map(({ ID: id }) => id), all.map(({ id }) => String(id)));
  const cities = affiliates.records.filter((record) => record["Your affiliate ID"].startsWith("F-")).map(({ City: city }) => city);
  assert.deepEqual(cities, formulas.map((formula) => `'${formula}`));

  // More records than one request returns.
  const urls = Array.from({ length: 230 }, (_, index) => ({ url: `https://export.example/${index}` }));
  await api("POST", "urls", { urls });
  await page.goto(`${base}/console#/urls?disabled=no&per_page=10`);
  await heading(page, /^URLs 1–10 of/, 2);
  const { meta: { total } } = await api("GET", "urls?disabled=no&per_page=1");
  assert.ok(total > 200);
  await columns(page, "Select all");
  const { records } = await exported(page);
  assert.equal(records.length, total);
  assert.equal(new Set(records.map(({ ID: id }) => id)).size, total);
  assert.ok(records.every(({ Monitoring: monitoring }) => monitoring === "On"));
  for (const { url } of urls) assert.ok(records.some((record) => record.URL === url), url);
  await columns(page, "Reset");
  const [first] = (await api("GET", "cases?per_page=200&sort_dir=asc")).data.filter((record) => record.incidents.length > 1);
  await section(page, "Cases");
  await heading(page, /^Cases 1–/, 2);
  await columns(page, "Select all");
  const found = (await exported(page)).records.find((record) => record["Case ID"] === String(first.case_id));
  const incidents = first.incidents.map(({ url_id: url, reference, infraction_type: type, infraction_name: name }) => `${reference ?? `URL ${url}`}${type ? ` (${[type, name].filter(Boolean).join(": ")})` : ""}`);
  assert.deepEqual([found.Incidents, found.Tags], [incidents.join("; "), first.tags.join("; ")]);
  await columns(page, "Reset");
}

/** Checks that an export waits at the company's rate limit, and that the user can cancel it. */
async function cancelling(page) {
  await section(page, "URLs");
  await heading(page, /^URLs 1–/, 2);
  let refused = 0;
  await page.route("**/api/urls*", async (route) => {
    refused += 1;
    await route.fulfill({ status: 429, headers: { "Retry-After": "1" }, json: { code: "429", status: "error", detail: { msg: "limit" } } });
  });
  await page.getByRole("button", { name: "Export CSV" }).click();
  await page.getByText("Your company has reached its request limit. Try again in 1 second.").waitFor();
  await becomes(() => refused > 1, true);
  await page.getByRole("button", { name: "Cancel export" }).click();
  await page.getByText("The export was cancelled.").first().waitFor();
  await page.unroute("**/api/urls*");
  await exported(page);
  // The page shows an error that retries cannot fix.
  await page.route("**/api/urls*", (route) => route.fulfill({ status: 500, json: { code: "500", status: "error", detail: { msg: "error" } } }));
  await page.getByRole("button", { name: "Export CSV" }).click();
  await message(page, "The service returned an error (500).");
  await page.unroute("**/api/urls*");

  // An export of affiliates also waits.
  await section(page, "Affiliates");
  await heading(page, /^Affiliates 1–/, 2);
  await page.route("**/api/affiliates", (route) => route.fulfill({ status: 503, headers: { "Retry-After": "1" }, json: { code: "503", status: "error", detail: { msg: "unavailable" } } }), { times: 2 });
  const { records } = await exported(page);
  assert.equal(records.length, (await api("GET", "affiliates")).data.length);
}

module.exports = { exports, cancelling };
