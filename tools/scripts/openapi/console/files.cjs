// Uploads files. The console shows the service's result for each row.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { base, api, checked, heading, message } = require("./common.cjs");

const WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

async function files(page) {
  await page.goto(`${base}/console#/affiliates/batch`);
  await heading(page, "Add several affiliates");
  const choose = (name, buffer, mimeType = "text/csv") => page.getByLabel("Or choose a file").setInputFiles({ name, mimeType, buffer });
  const add = () => page.getByRole("button", { name: "Add", exact: true }).click();
  const made = async (id) => (await api("GET", "affiliates")).data.find(({ client_distributor_id: own }) => own === id);

  // If the file does not show its encoding or date order, the service asks for them.
  const table = "Your affiliate ID;Name;E-mail;Start date\r\nSHEET-1;J\xfcrgen;sheet@example.org;1/5/2026\r\n";
  await choose("old.csv", Buffer.from(table, "latin1"));
  assert.equal(await page.getByLabel("Affiliates", { exact: true }).isVisible(), false);
  await add();
  await message(page, "UTF-8");
  await page.getByLabel("CSV encoding").selectOption("windows-1252");
  await add();
  await message(page, "1/5/2026");
  await checked(page, "a file of affiliates");
  await page.getByLabel("In dates such as 1/5/2026").selectOption("dmy");
  await add();
  await message(page, "1 affiliate was added.");
  const { distributor_name: name, email_one: email, start_date: date } = await made("SHEET-1");
  assert.deepEqual([name, email, date], ["Jürgen", "sheet@example.org", "2026-05-01"]);

  // For a workbook, the console disables the encoding, and does not send the one chosen for the CSV file.
  assert.equal(await page.getByLabel("Workbook sheet").isDisabled(), true);
  await choose("book.xlsx", fs.readFileSync(path.join(__dirname, "book.xlsx")), WORKBOOK);
  assert.equal(await page.getByLabel("CSV encoding").isDisabled(), true);
  assert.equal(await page.getByLabel("Workbook sheet").isDisabled(), false);
  await add();
  await message(page, "2 affiliates were added.");
  assert.equal((await made("BOOK-2")).distributor_name, "Book Two");

  // A large upload shows its progress.
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  await page.route("**/api/affiliates?*", async (route) => {
    await held;
    await route.continue();
  });
  const lines = Array.from({ length: 600 }, (_, index) => `LARGE-${index};Large ${index};${"x".repeat(2000)}`);
  await choose("large.csv", Buffer.from(`Your affiliate ID;Name;Notes\r\n${lines.join("\r\n")}`));
  await page.getByRole("button", { name: "Check only" }).click();
  await page.getByRole("progressbar", { name: "Upload" }).waitFor();
  release();
  await message(page, "600 affiliates can be added.");
  assert.equal(await page.getByRole("progressbar").count(), 0);
  await page.unroute("**/api/affiliates?*");
  await choose("broken.xlsx", Buffer.from("PK\x03\x04"), WORKBOOK);
  await add();
  await message(page, "Nothing was saved");
  await page.getByRole("button", { name: "Remove file" }).click();
  assert.equal(await page.getByLabel("Affiliates", { exact: true }).isVisible(), true);
}

module.exports = { files };
