// Checks the affiliate list, single records, new affiliates, and bulk changes.
"use strict";

const assert = require("node:assert/strict");
const { becomes, picture } = require("../browser.cjs");
const { base, api, total, checked, column, heading, loaded, message, onRecord, section } = require("./common.cjs");

/** Returns the displayed value of a record field. */
const fieldOf = (page, name) => page.locator("dl > div", { has: page.getByText(name, { exact: true }) }).locator("dd").innerText();

/** Returns the first page's heading. */
const range = (all) => `Affiliates 1–${Math.min(all, 20)} of ${all}`;

/** Returns the list's filters. */
const filters = (page) => page.getByRole("form", { name: "Filters" });

async function search(page, text) {
  await filters(page).getByLabel("Search", { exact: true }).fill(text);
  await filters(page).getByLabel("Search", { exact: true }).press("Enter");
  // Two searches can have the same heading.
  await page.waitForURL((url) => (new URLSearchParams(url.hash.split("?")[1]).get("q") ?? "") === text);
  await loaded(page);
}

/** A search applies while the list loads, and what the user types meanwhile stays. */
async function whileLoading(page, all) {
  await section(page, "Overview");
  const pattern = "**/api/affiliates?*";
  let release;
  const isReleased = new Promise((resolve) => {
    release = resolve;
  });
  await page.route(pattern, (route) => isReleased.then(() => route.continue()));
  await section(page, "Affiliates");
  const box = filters(page).getByLabel("Search", { exact: true });
  await box.fill("no affiliate has this name");
  await box.press("Enter");
  await page.waitForURL(/q=no/);
  await box.fill("typed");
  release();
  await heading(page, "No affiliates match these filters", 2);
  assert.equal(await box.inputValue(), "typed");
  await page.unroute(pattern);
  await search(page, "");
  await heading(page, range(all), 2);
}

async function affiliates(page) {
  const all = await total();
  await section(page, "Affiliates");
  await heading(page, range(all), 2);
  await checked(page, "affiliates");
  await picture(page, "console-affiliates.png");
  const plain = (text) => text.normalize("NFD").replaceAll(/\p{M}/gu, "");
  const accented = (await column(page, 3)).find((name) => /^\p{Script=Latin}/u.test(name) && plain(name) !== name);
  for (const text of [accented.toUpperCase(), plain(accented)]) {
    await search(page, text);
    await heading(page, "Affiliates 1–1 of 1", 2);
  }
  await search(page, "");
  await heading(page, range(all), 2);
  await whileLoading(page, all);
  await filters(page).getByLabel("Status").selectOption("active");
  await becomes(async () => [...new Set(await column(page, 6))], ["Active"]);
  const { meta: { total: active } } = await api("GET", "affiliates?status=active&per_page=1");
  await heading(page, new RegExp(`^Affiliates 1–\\d+ of ${active}$`), 2);
  await filters(page).getByLabel("Country").selectOption({ label: "Germany" });
  const german = (await api("GET", "affiliates?status=active&country=DE")).data.map((record) => record.distributor_name);
  await becomes(() => column(page, 3), german.slice(0, 20));
  await page.getByRole("list", { name: "Active filters" }).getByText("Country: Germany").waitFor();
  await page.getByRole("link", { name: "Clear all" }).first().click();
  await heading(page, range(all), 2);
  const header = page.getByRole("columnheader", { name: "Affiliate name" });
  await header.getByRole("link").click();
  await becomes(() => header.getAttribute("aria-sort"), "ascending");
  const lower = (name) => name.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
  const names = (await api("GET", "affiliates")).data.map((record) => record.distributor_name)
    .sort((one, other) => (lower(one) < lower(other) ? -1 : 1));
  await becomes(() => column(page, 3), names.slice(0, 20));
  await header.getByRole("link").click();
  await becomes(() => column(page, 3), names.slice(-20).reverse());

  // Edits an affiliate. The console sends only changed fields.
  const before = (await api("GET", "affiliates/1")).data;
  await page.goto(`${base}/console#/affiliates/1`);
  await onRecord(page, "Affiliate 1");
  const edit = page.getByRole("button", { name: "Edit", exact: true });
  await edit.click();
  await becomes(() => page.getByLabel("Affiliate name").inputValue(), before.distributor_name);
  await checked(page, "an edit of an affiliate");
  await page.getByRole("button", { name: "Save" }).click();
  await message(page, "Nothing has changed.");
  await page.getByLabel("City", { exact: true }).fill("Neuchâtel");
  await page.getByLabel("Country").selectOption({ label: "Switzerland (CH)" });
  await page.getByLabel("Start date").fill("2026-02-03");
  await page.getByLabel("Start date").press("Backspace");
  await page.getByRole("button", { name: "Save" }).click();
  await message(page, "This date is incomplete or does not exist.");
  await page.getByLabel("Start date").fill("2026-02-03");
  await page.getByLabel("Notes").fill("");
  const sent = page.waitForRequest((request) => request.method() === "PUT");
  await page.getByRole("button", { name: "Save" }).click();
  await message(page, "Saved.");
  const put = JSON.parse((await sent).postData());
  assert.deepEqual({ city: "Neuchâtel", country: "CH", ...put }, { id: 1, city: "Neuchâtel", country: "CH", start_date: "2026-02-03", ...(before.notes && { notes: null }) });
  const { data: after } = await api("GET", "affiliates/1");
  assert.deepEqual(after, { ...before, city: "Neuchâtel", country: 756, start_date: "2026-02-03", notes: null });
  await becomes(() => fieldOf(page, "Country"), "Switzerland");

  // If someone else changes the open affiliate, the console keeps both changes.
  await edit.click();
  await becomes(() => page.getByLabel("Country").inputValue(), "CH");
  await page.getByLabel("City", { exact: true }).fill("Basel");
  await api("PUT", "affiliates/1", { id: 1, city: "Bern", zip: "3000" });
  await page.getByRole("button", { name: "Save" }).click();
  await message(page, "Nothing was saved: someone else has changed this affiliate.");
  assert.equal(await page.getByText("Saved.", { exact: true }).count(), 0, "the earlier save's message is still visible");
  const others = page.getByRole("list", { name: "Changes by someone else" }).getByRole("listitem");
  assert.deepEqual((await others.allInnerTexts()).map((text) => text.split(" → ")[1]), ["Bern", "3000"]);
  await checked(page, "an edit conflict");
  assert.deepEqual([await page.getByLabel("ZIP").inputValue(), await page.getByLabel("City", { exact: true }).inputValue()], ["3000", "Basel"]);
  for (const city of ["Basel", "Neuchâtel"]) {
    if (city !== "Basel") await edit.click();
    await page.getByLabel("City", { exact: true }).fill(city);
    await page.getByRole("button", { name: "Save" }).click();
    await becomes(async () => (await api("GET", "affiliates/1")).data.city, city);
    await message(page, "Saved.");
  }
  assert.deepEqual((await api("GET", "affiliates/1")).data, { ...after, zip: "3000" });

  // A cancelled edit changes nothing.
  await edit.click();
  await becomes(() => page.evaluate("document.activeElement.id"), "field-affiliate_name");
  await page.getByLabel("City", { exact: true }).fill("Geneva");
  page.once("dialog", (dialog) => dialog.dismiss());
  await page.getByRole("button", { name: "Cancel" }).click();
  assert.equal(await page.getByLabel("City", { exact: true }).inputValue(), "Geneva");
  page.once("dialog", (dialog) => dialog.accept());
  await page.getByRole("button", { name: "Cancel" }).click();
  await becomes(() => fieldOf(page, "City"), "Neuchâtel");
  await becomes(() => page.evaluate("document.activeElement.textContent"), "Edit");
  assert.equal((await api("GET", "affiliates/1")).data.city, "Neuchâtel");

  // The page shows empty fields on request.
  await becomes(() => page.locator("dt", { hasText: /^Notes$/ }).isVisible(), false);
  await page.getByRole("button", { name: /^Show \d+ empty fields$/ }).click();
  await page.locator("dt", { hasText: /^Notes$/ }).waitFor();
  await checked(page, "an affiliate with its empty fields");
  await page.getByRole("button", { name: "Hide empty fields" }).click();
  await becomes(() => page.locator("dt", { hasText: /^Notes$/ }).isVisible(), false);

  // If the service rejects an edit, each violation appears at its field, and the typed text stays.
  await edit.click();
  await page.getByLabel("E-mail 1").fill("no address");
  await page.getByLabel("Replicated website").fill("ftp://example.org");
  await page.getByLabel("Affiliate name").fill(names.find((other) => other !== before.distributor_name));
  await page.getByRole("button", { name: "Save" }).click();
  await message(page, "Nothing was saved. Some values are not valid.");
  const error = async (label) => page.locator(`#${await page.getByLabel(label).getAttribute("id")}-error`).innerText();
  assert.match(await error("E-mail 1"), /must be a valid email address/);
  assert.match(await error("Replicated website"), /must be a valid URL/);
  assert.equal(await page.getByLabel("E-mail 1").getAttribute("aria-invalid"), "true");
  await page.getByRole("link", { name: /valid email/ }).click();
  await becomes(() => page.evaluate("document.activeElement.id"), "field-email_one");
  await checked(page, "a refused edit");
  await page.getByLabel("E-mail 1").fill("");
  await page.getByLabel("Replicated website").fill("");
  await page.getByRole("button", { name: "Save" }).click();
  await message(page, "has already been taken");
  assert.match(await error("Affiliate name"), /has already been taken/);

  // The console asks before it leaves a page with unsaved changes.
  page.once("dialog", (dialog) => dialog.dismiss());
  await section(page, "Cases");
  await page.waitForURL(/#\/affiliates\/1$/);
  assert.notEqual(await page.getByLabel("Affiliate name").inputValue(), before.distributor_name);
  page.once("dialog", (dialog) => dialog.accept());
  await section(page, "Affiliates");
  await heading(page, range(all), 2);
}

async function creating(page) {
  await page.getByRole("link", { name: "New affiliate" }).click();
  await heading(page, "New affiliate");
  await checked(page, "a new affiliate");
  // A folded group opens if one of its fields is not valid.
  const [group, website] = [page.locator("summary", { hasText: "Web" }), page.getByLabel("Replicated website")];
  await group.click();
  await website.fill("ftp://example.org");
  await group.click();
  await becomes(() => website.isVisible(), false);
  await page.getByRole("button", { name: "Save" }).click();
  await message(page, "Affiliate name is required.");
  await becomes(() => website.isVisible(), true);
  await website.fill("");
  const [{ distributor_name: taken }] = (await api("GET", "affiliates")).data;
  await page.getByLabel("Affiliate name").fill(taken);
  await page.getByLabel("Your affiliate ID").fill("NEW-1");
  await page.getByRole("button", { name: "Save" }).click();
  await message(page, "Nothing was saved. An affiliate with this name already exists.");
  await page.getByRole("link", { name: /^Open affiliate \d+$/ }).waitFor();
  assert.equal((await page.locator("main form").innerText()).includes("`"), false, "the form shows texts for developers");
  await page.getByLabel("Affiliate name").fill("Console One");
  await page.getByRole("button", { name: "Save" }).click();
  await message(page, "The affiliate was created.");
  // If the response is lost, the second attempt finds the affiliate that the first one created.
  await page.goto(`${base}/console#/affiliates/new`);
  await page.getByLabel("Affiliate name").fill("Lost Response");
  await page.getByLabel("Your affiliate ID").fill("LOST-1");
  await page.getByLabel("Country", { exact: true }).selectOption("DE");
  await page.route("**/api/affiliates", async (route) => {
    await route.fetch();
    await route.abort("internetdisconnected");
  }, { times: 1 });
  await page.getByRole("button", { name: "Save" }).click();
  await message(page, "The change may have been saved");
  await page.getByRole("button", { name: "Try again" }).click();
  await message(page, "An affiliate with these values already exists.");
  // The message does not appear again.
  await page.reload();
  await onRecord(page, /^Affiliate \d+$/);
  assert.equal(await page.locator(".message").count(), 0);
  await section(page, "Affiliates");
  await heading(page, range(await total()), 2);

  // Adds several affiliates. Some of them fail.
  await page.getByRole("link", { name: "Add several" }).click();
  await heading(page, "Add several affiliates");
  const input = page.getByLabel("Affiliates", { exact: true });
  const add = async (text, expected) => {
    await input.fill(text);
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await message(page, expected);
  };
  const head = "client_affiliate_id;affiliate_name;country\n";
  await add(`${head}NEW-2;Console Two;DE\n\nNEW-1;Console One;\n`, "1 affiliate was added, 1 was not.");
  await becomes(() => column(page, 1), ["2", "4"]);
  await becomes(() => column(page, 2), ["NEW-2", "NEW-1"]);
  await page.getByRole("link", { name: /^Open affiliate \d+$/ }).waitFor();
  await checked(page, "several affiliates");
  // If a row is invalid, the service saves nothing, and the page names its cell.
  await add(`${head}NEW-3;Console Three;ZZ\n;${"x".repeat(200)};\n`, "Nothing was saved.");
  await becomes(async () => [...new Set(await column(page, 1))].includes("3"), true);
  await checked(page, "several affiliates with violations");
  // Errors use the headings of the file and the labels of the page.
  await add("Your affiliate ID;Affiliate name;E-mail;Country\nNEW-3;;no address;ZZ\n", "Nothing was saved.");
  await becomes(async () => [await column(page, 2), await column(page, 3)], [["Affiliate name", "E-mail", "Country"], ["Affiliate name is required.",
    "E-mail 1 must be a valid email address.", "Country is not valid. It must be a country name or two-letter code, such as DE."]]);
  await add(`${head}NEW-4;Console Four;\n`, "1 affiliate was added.");

  // Pastes spreadsheet rows. The first line names the columns, in any order.
  await page.locator("summary", { hasText: "Options" }).click();
  await page.getByLabel("Columns to ignore").fill("Shoe size");
  await add('Name\tCity\tShoe size\tYour affiliate ID\n"Console\tFive"\tBern\t42\tNEW-5\nConsole Six\tBasel\t43\tNEW-6', "2 affiliates were added.");
  const made = (await api("GET", "affiliates")).data.filter(({ client_distributor_id: id }) => ["NEW-5", "NEW-6"].includes(id));
  assert.deepEqual(made.map(({ distributor_name: name, city }) => [name, city]), [["Console\tFive", "Bern"], ["Console Six", "Basel"]]);
  await page.getByLabel("Columns to ignore").fill("");
  await add("Your affiliate ID;City\nNEW-7;Bern\n", "The required column Affiliate name is missing; the columns are: Your affiliate ID, City.");
  assert.equal(await page.getByLabel("Columns to ignore").getAttribute("aria-invalid"), null);
  await add("affiliate_name,client_affiliate_id\nConsole Seven,NEW-7\n", "1 affiliate was added.");
  // The console does not read a long quoted cell's lines as affiliates.
  const note = Array.from({ length: 600 }, (_, index) => `PLANTED-${index},Planted ${index}`).join("\n");
  await add(`client_affiliate_id,affiliate_name,notes\nNEW-8,Console Eight,"${note}"\n`, "Nothing was saved.");
  assert.equal((await api("GET", "affiliates")).data.filter(({ distributor_name: name }) => name.startsWith("Planted")).length, 0);
  await add("client_affiliate_id,affiliate_name,country\nNEW-9,Console Nine,CH\n", "1 affiliate was added.");
}

/** Selects several affiliates from a search, and sets their status. */
async function statuses(page) {
  await section(page, "Affiliates");
  await search(page, "Console");
  await heading(page, "Affiliates 1–7 of 7", 2);
  await page.getByRole("checkbox", { name: "Select Console Six" }).check();
  await page.getByText("1 affiliate selected").waitFor();
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  await page.getByText("7 affiliates selected").waitFor();
  await page.getByRole("checkbox", { name: "Select Console One" }).uncheck();
  await page.getByText("6 affiliates selected").waitFor();
  await checked(page, "selected affiliates");
  // The console names an affiliate that the service cannot change.
  const { id: six } = (await api("GET", "affiliates")).data.find(({ distributor_name: name }) => name === "Console Six");
  await page.route(`**/api/affiliates/${six}`, (route) => route.continue({ url: `${base}/api/affiliates/999999` }));
  const set = page.getByRole("button", { name: "Set", exact: true });
  await set.click();
  await message(page, "Enter or choose a value.");
  await page.locator(".selection").getByLabel("Status").selectOption("suspended");
  page.once("dialog", (dialog) => dialog.accept());
  await set.click();
  await message(page, "Status set to Suspended for 5 affiliates; 1 could not be changed.");
  await message(page, "No affiliate was found for the provided affiliate ID 999999.");
  await page.unroute(`**/api/affiliates/${six}`);
  page.once("dialog", (dialog) => dialog.accept());
  await set.click();
  await message(page, "Status set to Suspended for 1 affiliate.");
  await becomes(async () => (await column(page, 6)).filter((status) => status === "Suspended").length, 6);
  const saved = (await api("GET", "affiliates")).data.filter(({ distributor_status: status, distributor_name: name }) => name.startsWith("Console") && status === "suspended");
  assert.equal(saved.length, 6);
  assert.ok(saved.every(({ distributor_name: name }) => name !== "Console One"));

  // The page shows filters as chips, and keeps them when the user returns from a record.
  await filters(page).getByLabel("Status").selectOption("suspended");
  await page.getByRole("list", { name: "Active filters" }).getByText("Status: Suspended").waitFor();
  await page.getByRole("link", { name: "Console Six" }).click();
  await onRecord(page, /^Affiliate \d+/);
  await page.getByRole("link", { name: "Back to the affiliates" }).first().click();
  await heading(page, "Affiliates 1–6 of 6", 2);
  await page.getByRole("link", { name: "Remove the filter Status: Suspended" }).click();
  await heading(page, "Affiliates 1–7 of 7", 2);
  await page.getByRole("link", { name: "Remove the filter Search: Console" }).click();
  await heading(page, range(await total()), 2);
}

module.exports = { affiliates, creating, statuses };
