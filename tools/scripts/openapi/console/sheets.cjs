// The console reads files of spreadsheets and programs: the same cases as for all readers.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { isDeepStrictEqual } = require("node:util");
const { becomes } = require("../browser.cjs");
const { api, base, checked, heading, message } = require("./common.cjs");

const CASES = JSON.parse(fs.readFileSync(path.join(__dirname, "../../../../cli/tests/sheets/cases.json"), "utf8"));

/** What the modules below `root` make of each case. Runs in the page. */
async function results([cases, root, given]) {
  const { textOf } = await import(`${root}/sheets.js`);
  const { affiliateLines } = await import(`${root}/affiliate-lines.js`);
  const fields = given ?? await (await import(`${root}/description.js`)).affiliateFields();
  return cases.map(({ text, base64, options }) => {
    const bytes = base64 === undefined ? new TextEncoder().encode(text) : Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    const file = textOf(bytes, options.encoding === "utf-8" ? "" : options.encoding);
    return file.problem === undefined ? affiliateLines(file.text, fields, options.dates) : { problem: file.problem };
  });
}

/** What is wrong with what was made of a case: its records, or the cause why there are none. */
function difference({ console: own, records = own, refused = [], error = [], advice = {} }, { problem, problems, items }) {
  // The console refuses workbooks and JSON, and says what to do instead.
  const isForeign = /CSV UTF-8|is JSON/.test(advice.console ?? "");
  if (isForeign || (error.length > 0 && !own)) {
    const texts = isForeign ? [advice.console] : [...error, advice.console ?? ""];
    return texts.every((text) => problem?.includes(text)) ? null : { problem, texts };
  }
  if (problem !== null) return { problem };
  // The service refuses the other lines.
  const lines = new Set(refused.map(({ line }) => line));
  const kept = items.filter(({ number }) => !lines.has(number)).map(({ item }) => Object.fromEntries(Object.entries(item)
    .filter(([, value]) => value !== "").map(([field, value]) => [field, field === "country" ? value.toUpperCase() : value])));
  const isSame = isDeepStrictEqual(kept, records) && problems.every(({ number }) => lines.has(number));
  return isSame ? null : { kept, problems };
}

/** Every file of the table is read, or refused with its cause. */
async function sheets(page) {
  assert.ok(CASES.length > 90);
  const read = await page.evaluate(results, [CASES, `${base}/console`, null]);
  const different = CASES.map((one, index) => [one.name, difference(one, read[index])]).filter(([, found]) => found !== null);
  assert.deepEqual(different, []);
}

/** A file is put into the form, where its encoding and the order of its dates are asked for if nothing shows them. */
async function files(page) {
  await page.goto(`${base}/console#/affiliates/batch`);
  await heading(page, "Add several affiliates");
  const choose = (name, buffer) => page.getByLabel("From a file").setInputFiles({ name, mimeType: "text/csv", buffer });
  const lines = page.getByLabel("Affiliates", { exact: true });
  await choose("book.xlsx", Buffer.from("PK\x03\x04"));
  await message(page, "book.xlsx is an Excel workbook: save it as CSV UTF-8");
  assert.equal(await page.getByLabel("Encoding of the file").isVisible(), false);
  const table = "Your affiliate ID;Name;E-mail;Start date\r\nSHEET-1;J\xfcrgen;sheet@example.org;1/5/2026\r\n";
  await choose("old.csv", Buffer.from(table, "latin1"));
  await message(page, 'line 2 has "Jürgen" if it is Windows-1252 and "J¸rgen" if it is Mac Roman');
  await page.getByLabel("Encoding of the file").selectOption("windows-1252");
  await becomes(() => lines.inputValue(), table.replaceAll("\r", ""));
  const add = page.getByRole("button", { name: "Add" });
  await add.click();
  await message(page, "1/5/2026 on line 2 can be two dates");
  await checked(page, "a file of affiliates");
  await page.getByLabel("Dates such as 1/5/2026").selectOption("dmy");
  await add.click();
  await message(page, "All 1 affiliate was created.");
  const made = (await api("GET", "affiliates")).data.find(({ client_distributor_id: id }) => id === "SHEET-1");
  assert.deepEqual([made.distributor_name, made.email_one, made.start_date], ["Jürgen", "sheet@example.org", "2026-05-01"]);
  await lines.fill("Your affiliate ID,Name\nSHEET-2\n");
  await add.click();
  await message(page, "Line 2: The line has 1 cells, and the header has 2");
  // Leaving after sending does not ask.
  await lines.fill(table.replaceAll("\r", ""));
}

module.exports = { sheets, files, results, difference, CASES };
