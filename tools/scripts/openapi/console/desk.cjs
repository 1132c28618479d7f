// Checks the officer's desk: history, undo, own cases, saved filters, keyboard shortcuts, commands and copying.
"use strict";

const assert = require("node:assert/strict");
const { becomes, pressWith } = require("../browser.cjs");
const { base, token, large, api, checked, column, heading, loaded, message, onRecord, section, signIn } = require("./common.cjs");

const read = async (kind, id) => (await api("GET", `${kind}/${id}`)).data;
/** Returns the changes on a record's page, newest first. */
const entries = (page) => page.getByRole("list", { name: "Changes" }).locator("> li");

async function openHistory(page, path, title) {
  await page.goto(`${base}/console#/${path}`);
  await page.reload();
  await onRecord(page, title);
  await becomes(() => page.getByRole("list", { name: "Changes" }).getAttribute("aria-busy"), null);
}

const undoOf = (page, line) => entries(page).filter({ hasText: line }).getByRole("button", { name: /^Undo/ });

/** Reads a case's changes in words, and undoes some. */
async function caseHistory(page, context) {
  const [one, other] = (await api("GET", "affiliates")).data;
  const opened = await api("POST", "cases", { request_id: `desk-${Date.now()}`, case: { client_affiliate_id: one.client_distributor_id, risk_level: "High" }, incidents: [{ incident_type: "form", reference: "form 13" }] });
  const id = opened.detail.case_id;
  await api("PATCH", `cases/${id}`, { risk_level: "Low", tags: ["a, b", "c"], case_country: "CH", follow_up_date: "2027-01-31 08:30:00" });
  await api("PATCH", `cases/${id}`, { affiliate_id: other.id });
  await api("POST", `cases/${id}/close`, {});
  await api("POST", `cases/${id}/incidents`, { incidents: [{ incident_type: "form", reference: "form 14", infraction_type: "Health Claim" }] });
  await openHistory(page, `cases/${id}`, `Case ${id}`);
  const [added, closed, moved, changed, first] = await entries(page).allInnerTexts();
  assert.equal(added, "bea added the incident form 14 (Health Claim) · just now");
  assert.equal(closed, "bea changed Case status from New to Closed · just now Undo");
  assert.equal(moved, `bea changed Affiliate from ${one.distributor_name} to ${other.distributor_name} · just now Undo`);
  for (const line of ["changed Risk level from High to Low", "set Case country to Switzerland", "set Tags to “a, b”, c", "set Follow-up date to 2027-01-31 08:30:00 UTC"]) {
    assert.ok(changed.toLowerCase().includes(line.toLowerCase()), `${line} in ${changed}`);
  }
  assert.match(first, /^bea opened the case · just now\n+\d+ fields$/);
  assert.ok(!/etag|_id|Last updated/i.test([closed, moved, changed].join()), changed);
  await checked(page, "the history of a case");
  // The ages follow the clock.
  const tab = await context.newPage();
  await tab.addInitScript((text) => {
    sessionStorage.setItem("compliance-token", text);
    window.ticks = [];
    window.setInterval = (tick) => window.ticks.push(tick);
  }, token);
  await tab.goto(`${base}/console#/cases/${id}`);
  await becomes(() => entries(tab).filter({ hasText: "just now" }).count(), 5);
  await tab.evaluate("Date.now = ((now) => () => now() + 61_000)(Date.now); ticks.forEach((tick) => tick());");
  await becomes(() => entries(tab).filter({ hasText: "1 min ago" }).count(), 5);
  await tab.close();

  await undoOf(page, "Case status from New to Closed").click();
  await message(page, "The change was undone.");
  const { case_status: status, closed_date: date } = await read("cases", id);
  assert.deepEqual([status, date], ["New", null]);

  // The console asks before it undoes a field that has changed again.
  await openHistory(page, `cases/${id}`, `Case ${id}`);
  await api("PATCH", `cases/${id}`, { risk_level: "Critical" });
  await undoOf(page, "Risk level from High to Low").click();
  await message(page, "Nothing was undone: these fields have changed again.");
  assert.deepEqual(await page.getByRole("list", { name: "Later changes" }).getByRole("listitem").allInnerTexts(), ["bea changed Risk level from Low to Critical"]);
  await checked(page, "an undo conflict");
  assert.equal((await read("cases", id)).risk_level, "Critical");
  await page.getByRole("button", { name: "Undo anyway" }).click();
  await message(page, "The change was undone.");
  const { risk_level: risk, tags, case_country: country, follow_up_date: followUp, affiliate_id: affiliate } = await read("cases", id);
  assert.deepEqual({ risk, tags, country, followUp, affiliate }, { risk: "High", tags: [], country: null, followUp: null, affiliate: other.client_distributor_id });

  // Other changes to the same field are not undone, even if their values are the same.
  await openHistory(page, `cases/${id}`, `Case ${id}`);
  for (const line of ["Risk level from High to Low", "Risk level from Low to Critical"]) assert.equal(await undoOf(page, line).count(), 0, line);
  assert.ok(!(await entries(page).allInnerTexts()).join().includes("undone"));

  // If another officer saves first, the console keeps that change.
  await page.route(`**/api/cases/${id}`, async (route) => {
    await api("PATCH", `cases/${id}`, { risk_level: "Low" });
    await route.continue();
  }, { times: 1 });
  await undoOf(page, "Risk level from Critical to High").click();
  await message(page, "Nothing was undone: these fields have changed again.");
  assert.equal((await read("cases", id)).risk_level, "Low");
}

/** Checks that the latest note names its author below many later changes, and that the history can show only notes. */
async function olderNotes(page) {
  const [{ id: affiliate }] = (await api("GET", "affiliates")).data;
  const { detail: { case_id: id } } = await api("POST", "cases", { request_id: `notes-${Date.now()}`, case: { affiliate_id: affiliate }, incidents: [] });
  await api("PATCH", `cases/${id}`, { note: "Called." });
  for (let number = 0; number < 60; number += 1) await api("PATCH", `cases/${id}`, { tags: [String(number)] });
  await openHistory(page, `cases/${id}`, `Case ${id}`);
  const notes = () => entries(page).filter({ has: page.locator("blockquote") }).allInnerTexts();
  await becomes(async () => (await notes()).map((text) => text.replaceAll(/\n+/g, " ")), ["bea wrote a note · just now Undo Called."]);
  await becomes(() => entries(page).filter({ visible: true }).count(), 62);
  await page.getByRole("button", { name: "Show only notes" }).click();
  await becomes(() => entries(page).filter({ visible: true }).count(), 1);
  await checked(page, "only notes");
  await api("POST", `cases/${id}/close`, {});
}

/** Reads the histories of a URL and an affiliate, and signs in without permission to see the history. */
async function otherHistories(page) {
  const [{ detail: { url_id: id } }] = await api("POST", "urls", { urls: [{ url: `https://example.org/reviewed-${Date.now()}` }] });
  await api("PATCH", `urls/${id}`, { incident_status: "In Violation", false_positive: "no", note: "Claims to cure.", infractions: [{ infraction_type: "Health Claim" }] });
  await openHistory(page, `urls/${id}`, `URL ${id}`);
  const [reviewed] = await entries(page).allInnerTexts();
  assert.match(reviewed, /^bea wrote a note · just now Undo\n+Claims to cure\./);
  assert.match(reviewed, /changed Incident status from New to In Violation/i);
  assert.match(reviewed, /added the infraction Health Claim$/i);
  await page.getByLabel("Note").fill("Not saved yet.");
  page.once("dialog", (dialog) => dialog.dismiss());
  await undoOf(page, "In Violation").click();
  assert.equal((await read("urls", id)).incident_status, "In Violation");
  page.once("dialog", (dialog) => dialog.accept());
  await undoOf(page, "In Violation").click();
  await message(page, "The change was undone.");
  const { incident_status: status, false_positive: flag, note, infractions } = await read("urls", id);
  assert.deepEqual([status, flag, note, infractions], ["New", null, null, []]);

  await api("PUT", "affiliates/2", { id: 2, country: "DE" });
  await api("PUT", "affiliates/2", { id: 2, country: "CH" });
  await openHistory(page, "affiliates/2", "Affiliate 2");
  assert.equal((await entries(page).allInnerTexts())[0], "bea changed Country from Germany to Switzerland · just now");
  assert.equal(await page.getByRole("button", { name: /^Undo/ }).count(), 0);
  await checked(page, "the history of an affiliate");

  await page.evaluate((text) => sessionStorage.setItem("compliance-token", text), large);
  const [{ case_id: foreign }] = (await api("GET", "cases?per_page=1", undefined, large)).data;
  await page.goto(`${base}/console#/cases/${foreign}`);
  await page.reload();
  await onRecord(page, `Case ${foreign}`);
  await page.getByText("You don't have permission to see the history.").waitFor();
  // Without the scope, the page shows the fields, but nothing that changes them.
  await page.getByText("You don't have permission to change this case. Ask your operator for the scope cases.").waitFor();
  const visible = async (names) => (await Promise.all(names.map(async (name) => await page.getByRole("button", { name }).or(page.getByRole("link", { name })).count() > 0 && name))).filter(Boolean);
  assert.deepEqual([await page.getByLabel("Risk level").isDisabled(), await visible(["Save", "Close", "Assign to me", "Add the note", "Add the URL", /^Remove/, /^Undo/])], [true, []]);
  const [{ id: foreignUrl }] = (await api("GET", "urls?per_page=1", undefined, large)).data;
  await page.goto(`${base}/console#/urls/${foreignUrl}`);
  await onRecord(page, `URL ${foreignUrl}`);
  assert.deepEqual(await visible(["Add infraction", /^Remove/]), []);
  await page.goto(`${base}/console#/cases/${foreign}`);
  await onRecord(page, `Case ${foreign}`);
  await checked(page, "a case without permission");
  await page.keyboard.press("Control+k");
  const found = await page.getByRole("option").allInnerTexts();
  assert.deepEqual([found.includes("Cases"), found.includes("Open a case")], [true, false]);
  await page.keyboard.press("Escape");
  for (const [list, boxes] of [["Cases", 0], ["URLs", 0], ["Affiliates", 21]]) {
    await section(page, list);
    await heading(page, new RegExp(`^${list} 1–`), 2);
    assert.deepEqual([await page.getByRole("checkbox").count(), await visible([/^Open a case/])], [boxes, []], list);
  }
  await page.goto(`${base}/console#/affiliates/${(await api("GET", "affiliates?per_page=1", undefined, large)).data[0].id}`);
  await page.getByText("You don't have permission to see the history. Ask your operator for a token or role with the scope audit.").waitFor();
  assert.deepEqual(await visible(["Edit", "Open a case"]), ["Edit"]);
  await page.goto(`${base}/console#/cases/new`);
  await page.getByText("You don't have permission to open a case. Ask your operator for the scope cases.").waitFor();
  assert.deepEqual(await visible(["Open the case"]), []);
  // Without a subject in the token, the console does not show "My cases".
  assert.equal(await page.getByRole("link", { name: "My cases" }).count(), 0);

  // The service can still reject a change, such as with a token from another tab.
  await page.evaluate((text) => sessionStorage.setItem("compliance-token", text), token);
  await page.goto(`${base}/console#/urls/${id}`);
  await page.reload();
  await onRecord(page, `URL ${id}`);
  await page.getByLabel("False positive").selectOption("yes");
  await pressWith(page, "Save", large);
  await message(page, "Nothing was saved: you don't have permission to do this. Ask your operator for the scope cases.");
  await page.getByLabel("False positive").selectOption("");
  await page.evaluate((text) => sessionStorage.setItem("compliance-token", text), token);
}

/** Opens the officer's cases, and saves filters under a name. */
async function ownCases(page) {
  await page.goto(`${base}/console#/overview`);
  await page.reload();
  await heading(page, "Overview");
  await section(page, "My cases");
  await page.waitForURL(/#\/cases\?case_worker=bea&open=yes$/);
  await heading(page, "My cases");
  const mine = (await api("GET", "cases?case_worker=bea&open=yes&per_page=200")).data.map((record) => String(record.case_id));
  if (mine.length === 0) await heading(page, "No open cases are assigned to you", 2);
  else await becomes(() => column(page, 1), mine.slice(0, 20));
  assert.equal(await page.locator("#navigation [aria-current]").innerText(), "My cases");

  const menu = page.locator("summary", { hasText: "Saved filters" });
  const save = async (name) => {
    await page.getByLabel("Name for these filters").fill(name);
    await page.getByRole("button", { name: "Save", exact: true }).click();
  };
  await menu.click();
  await save("Mine");
  const group = page.getByRole("group", { name: "Saved filters" });
  await group.getByRole("link", { name: "Mine" }).waitFor();
  await checked(page, "saved filters");
  await page.keyboard.press("Escape");
  await becomes(() => page.evaluate("document.activeElement.textContent"), "Saved filters");
  await section(page, "Cases");
  await page.waitForURL(/#\/cases$/);
  await becomes(() => page.locator("#navigation [aria-current]").innerText(), "Cases");
  await page.reload();
  await heading(page, /^Cases 1–/, 2);
  await menu.click();
  await group.getByRole("link", { name: "Mine" }).click();
  await page.waitForURL(/#\/cases\?case_worker=bea&open=yes$/);
  // The browser keeps saved filters by company and list.
  assert.deepEqual(Object.keys(JSON.parse(await page.evaluate("JSON.stringify({ ...localStorage })"))), ["compliance-filters-1-cases"]);
  await section(page, "Affiliates");
  await heading(page, /^Affiliates 1–/, 2);
  await page.getByRole("form", { name: "Filters" }).getByLabel("Status").selectOption("active");
  await page.waitForURL(/status=active/);
  await loaded(page);
  // The list may replace its menu once more.
  const none = page.getByText("You have no saved filters yet.");
  await becomes(async () => {
    if (!(await none.isVisible())) await menu.click();
    return none.isVisible();
  }, true);
  await save("Active ones");
  await group.getByRole("link", { name: "Active ones" }).waitFor();
  await page.getByRole("button", { name: "Delete Active ones" }).click();
  await page.getByText("You have no saved filters yet.").waitFor();
  await section(page, "Cases");
  await heading(page, /^Cases 1–/, 2);
  await menu.click();
  await page.getByRole("button", { name: "Delete Mine" }).click();
  await becomes(() => page.evaluate("localStorage.length"), 0);
}

/** Presses `/` to search, and uses the command palette. */
async function commands(page) {
  await section(page, "Cases");
  await heading(page, /^Cases 1–/, 2);
  const search = page.getByRole("search", { name: "Everything" }).getByRole("searchbox");
  await page.keyboard.press("/");
  await becomes(() => search.evaluate((node) => node === document.activeElement), true);
  await page.keyboard.type("a/b");
  assert.equal(await search.inputValue(), "a/b");
  const dialog = page.getByRole("dialog", { name: "Commands" });
  await page.keyboard.press("Control+k");
  await dialog.waitFor();
  await checked(page, "the command palette");
  const options = () => dialog.getByRole("option").allInnerTexts();
  assert.deepEqual((await options()).slice(0, 4), ["Overview", "My cases", "Open cases", "Overdue cases"]);
  await page.keyboard.press("Escape");
  await becomes(() => dialog.count(), 0);
  await becomes(() => search.evaluate((node) => node === document.activeElement), true);

  await page.getByRole("button", { name: "Commands" }).click();
  await page.keyboard.type("over");
  await becomes(options, ["Overview", "Overdue cases", "Search for “over”"]);
  await page.keyboard.press("ArrowDown");
  await becomes(() => dialog.locator("[aria-selected=true]").innerText(), "Overdue cases");
  await page.keyboard.press("Enter");
  await page.waitForURL(/#\/cases\?overdue=yes$/);
  await becomes(() => dialog.count(), 0);
  await page.keyboard.press("Meta+k");
  await page.keyboard.type("example.org 1");
  await becomes(options, ["Search for “example.org 1”"]);
  await page.keyboard.press("Enter");
  await heading(page, "Results for “example.org 1”");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("2");
  await becomes(options, ["Case 2", "URL 2", "Affiliate 2", "Search for “2”"]);
  await page.keyboard.press("Control+a");
  await page.keyboard.type("url 2");
  await becomes(options, ["URL 2", "Search for “url 2”"]);
  await page.keyboard.press("Enter");
  await onRecord(page, "URL 2");
  for (const [name, address] of [["My cases", /case_worker=bea/], ["Open cases", /open=yes$/], ["Open a case", /cases\/new$/], ["Add URLs", /urls\/new$/], ["New affiliate", /affiliates\/new$/]]) {
    await page.keyboard.press("Control+k");
    await dialog.getByRole("option", { name, exact: true }).click();
    await page.waitForURL(address);
  }
  await page.keyboard.press("Control+k");
  await page.keyboard.type("open a");
  await becomes(options, ["Open a case", "Open cases", "Search for “open a”"]);
  await page.keyboard.press("Enter");
  await page.waitForURL(/cases\/new$/);
  await page.getByRole("button", { name: "Commands" }).click();
  await page.keyboard.type("sign out");
  await page.keyboard.press("Enter");
  await message(page, "You have signed out.");
  await page.keyboard.press("Control+k");
  assert.equal(await dialog.count(), 0);
  await page.goto(`${base}/console#/overview`);
  await signIn(page, token);
  await heading(page, "Overview");
}

/** Checks the buttons that copy IDs and URLs. */
async function copies(page, context) {
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: base });
  const { url } = await read("urls", 1);
  await page.goto(`${base}/console#/urls/1`);
  await onRecord(page, "URL 1");
  const copied = () => page.evaluate("navigator.clipboard.readText()");
  await page.getByRole("button", { name: "Copy URL", exact: true }).click();
  await becomes(copied, url);
  await page.getByRole("button", { name: "Copy ID", exact: true }).click();
  await becomes(copied, "1");
  await becomes(() => page.getByRole("button", { name: "Copy ID", exact: true }).innerText(), "Copied");
  await becomes(() => page.getByRole("button", { name: "Copy ID", exact: true }).innerText(), "Copy");
  await context.clearPermissions();
}

module.exports = { caseHistory, olderNotes, otherHistories, ownCases, commands, copies };
