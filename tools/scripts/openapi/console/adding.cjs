// Adds URLs, and searches.
"use strict";

const assert = require("node:assert/strict");
const { becomes } = require("../browser.cjs");
const { base, api, checked, column, columnOf, heading, message, onRecord, section } = require("./common.cjs");

/** Adds one URL and several URLs. The page shows a result for each row. */
async function adding(page) {
  await section(page, "URLs");
  await page.getByRole("link", { name: "Add URLs" }).click();
  await heading(page, "Add URLs");
  await checked(page, "adding URLs");
  const input = page.getByLabel("URLs", { exact: true });
  const add = page.getByRole("button", { name: "Add", exact: true });
  await add.click();
  await message(page, "Enter at least one URL, or choose a file.");
  await input.fill("https://added.example/one,two;three");
  await add.click();
  await message(page, "1 URL was added.");
  await becomes(() => column(page, 2), ["https://added.example/one,two;three"]);
  await page.getByRole("link", { name: /^added as URL/ }).click();
  await page.getByText("https://added.example/one,two;three").first().waitFor();
  await page.goBack();
  await heading(page, "Add URLs");

  await input.fill("https://added.example/one,two;three");
  await add.click();
  await message(page, "0 URLs were added, 1 was not.");
  await page.getByRole("link", { name: "Find it" }).click();
  await becomes(() => columnOf(page, "URLs", 2), ["https://added.example/one,two;three"]);
  await page.goBack();
  await heading(page, "Add URLs");

  // If a row is invalid, the service saves nothing, and the console names the row.
  await input.fill("https://added.example/two\n\nno address\n");
  await add.click();
  await message(page, "Nothing was saved.");
  await becomes(async () => [await column(page, 1), await column(page, 2), await column(page, 3)], [["3"], ["URL"], ["URL must be a valid URL that begins with http:// or https://."]]);
  await checked(page, "URLs with a violation");
  // The first line can also lack the scheme.
  await input.fill("added.example/two");
  await add.click();
  await becomes(() => columnOf(page, "Lines to correct", 1), ["1"]);
  assert.deepEqual(await columnOf(page, "Lines to correct", 3), ["URL must be a valid URL that begins with http:// or https://."]);
  // A line with two cells or two URLs is not one URL.
  for (const rest of ["\tJohn Smith", " https://b.example/", ",https://b.example/", "\u2028https://b.example/"]) {
    await input.fill(`https://added.example/two\nhttps://a.example/offer${rest}`);
    await add.click();
    await message(page, "Line 2 contains several cells or URLs.");
    assert.equal(await page.getByRole("region", { name: "Lines to correct" }).count(), 0, "the earlier error is still visible");
  }
  // The service reads plain lists like files.
  await input.fill("https://added.example/a\u00adb");
  await add.click();
  await message(page, "Nothing was saved.");
  await becomes(async () => [await column(page, 1), await column(page, 2)], [["1"], ["URL"]]);
  await input.fill("https://trimmed.example/?x=1,2\u200b");
  await add.click();
  await message(page, "1 URL was added.");
  await becomes(async () => (await api("GET", "urls?per_page=200")).data.filter(({ domain }) => domain === "trimmed.example").map(({ url }) => url),
    ["https://trimmed.example/?x=1,2"]);
  // Pastes spreadsheet rows with additional columns.
  await input.fill("Name\tURL\nTwo\thttps://added.example/two\nThree\thttps://added.example/three\nOne\t\"https://added.example/one,two;three\"\n");
  await add.click();
  await message(page, 'The column "Name" is unknown. Rename it, or enter it under Columns to ignore. Known columns: URL.');
  await page.getByLabel("Columns to ignore").fill("Name\n");
  await page.getByRole("button", { name: "Check only" }).click();
  await message(page, "2 URLs can be added, 1 cannot.");
  await add.click();
  await message(page, "2 URLs were added, 1 was not.");
  assert.equal(await page.locator(".message.error").count(), 0, "a partial success looks like a failure");
  await becomes(() => column(page, 1), ["2", "3", "4"]);
  await becomes(async () => (await column(page, 2)).slice(0, 2).map((text) => text.slice(0, 5)), ["added", "added"]);
  await checked(page, "added URLs");
  await page.getByLabel("Columns to ignore").fill("");
  await input.fill("url\nhttps://added.example/four");
  await add.click();
  await message(page, "1 URL was added.");
  await becomes(() => column(page, 1), ["2"]);
  await page.getByLabel("Columns to ignore").fill("name");
  await input.fill("name;URL\nFive;https://added.example/five");
  await add.click();
  await message(page, "1 URL was added.");
  // The previous URL had the same message, so check the records.
  const found = async () => (await api("GET", "urls?per_page=200")).data.filter(({ url }) => url.startsWith("https://added.example/"));
  await becomes(async () => (await found()).length, 5);
}

/** Searches affiliates, URLs and cases in the header. */
async function searching(page) {
  const search = async (text) => {
    await page.getByLabel("Search cases, affiliates and URLs").fill(text);
    await page.keyboard.press("Enter");
    await heading(page, `Results for “${text}”`);
  };
  const record = (await api("GET", "affiliates")).data.find(({ distributor_name: name }) => /^[A-Za-z]+ [A-Za-z]+$/.test(name));
  await search(record.distributor_name.toUpperCase());
  await becomes(() => columnOf(page, "Affiliates", 2), [record.distributor_name]);
  await checked(page, "a search");
  await search(record.distributor_name.toLowerCase().split(" ").reverse().join(" "));
  await becomes(() => columnOf(page, "Affiliates", 2), [record.distributor_name]);
  await search("ADDED.example/t");
  await heading(page, "No affiliates", 2);
  await becomes(async () => (await columnOf(page, "URLs", 2)).sort(), ["https://added.example/three", "https://added.example/two"]);
  // A number finds the records with this ID.
  const [{ case_id: id }] = (await api("GET", "cases?per_page=1")).data;
  await search(`#${id}`);
  await page.getByRole("link", { name: `Case ${id}: ` }).waitFor();
  await checked(page, "a search by number");
  await search(`case ${id}`);
  await heading(page, `Records with the ID ${id}`, 2);
  await page.getByRole("link", { name: `Case ${id}: ` }).click();
  await onRecord(page, `Case ${id}`);
  // A complete e-mail address finds its affiliate.
  const { email_one: email, distributor_name: owner } = (await api("GET", "affiliates")).data.find(({ email_one: one }) => one);
  await search(email.toUpperCase());
  await becomes(async () => (await columnOf(page, "Affiliates", 2)).includes(owner), true);
  await search("zz");
  await page.getByText("The search looks in the names, IDs, e-mail addresses and cities of affiliates, in URLs, and in the IDs of cases.").waitFor();
  await page.getByText("To find URLs, type at least 3 characters.").waitFor();
  await search("added.example/five");
  // The browser's back and forward buttons restore each text with its results.
  await page.goBack();
  await heading(page, "Results for “zz”");
  await becomes(() => page.getByLabel("Search cases, affiliates and URLs").inputValue(), "zz");
  await page.goForward();
  await heading(page, "Results for “added.example/five”");
  await page.reload();
  await becomes(() => page.getByLabel("Search cases, affiliates and URLs").inputValue(), "added.example/five");
  await page.getByRole("rowheader").getByRole("link").click();
  await onRecord(page, /^URL \d+/);
  await becomes(() => page.getByLabel("Search cases, affiliates and URLs").inputValue(), "");
  assert.ok(page.url().startsWith(base));
}

module.exports = { adding, searching };
