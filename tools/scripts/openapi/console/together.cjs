// Checks concurrent work by several officers on the same records.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const { becomes } = require("../browser.cjs");
const { base, colleague, api, column, columnOf, heading, message, onRecord, section } = require("./common.cjs");

const read = async (kind, id) => (await api("GET", `${kind}/${id}`)).data;
const press = (page, name) => page.getByRole("button", { name, exact: true }).click();

async function open(page, path, title = /^(Cases|URLs) 1–/) {
  await page.goto(`${base}/console#/${path}`);
  await page.reload();
  await heading(page, title, 2);
}

/** Opens cases for the first affiliate. Returns their IDs. */
async function openCases(number, fields = {}) {
  const [{ id }] = (await api("GET", "affiliates")).data;
  const ids = [];
  for (let index = 0; index < number; index += 1) {
    const { detail } = await api("POST", "cases", { request_id: `together-${Date.now()}-${index}`, case: { affiliate_id: id, ...fields }, incidents: [] });
    ids.push(detail.case_id);
  }
  return ids.reverse();
}

async function choose(page, ids, one, field, option) {
  for (const id of ids) await page.getByLabel(`Select ${one} ${id}`).check();
  await page.getByLabel("Field to set").selectOption(field);
  await page.locator(".selection span select, .selection span input").selectOption(option);
}

/** Checks that bulk changes do not overwrite a colleague's change, and that the page names the record. */
async function conflicts(page) {
  const [mine, theirs] = await openCases(2);
  await open(page, "cases");
  await choose(page, [mine, theirs], "case", "case_status", "In Progress");
  await api("PATCH", `cases/${theirs}`, { case_status: "Blocked" }, colleague);
  await press(page, "Set");
  await message(page, "Case status set to In Progress for 1 case; 1 could not be changed.");
  await message(page, `${theirs}`);
  await message(page, "zed has changed this record since you loaded it.");
  assert.deepEqual([(await read("cases", mine)).case_status, (await read("cases", theirs)).case_status], ["In Progress", "Blocked"]);
  // The list now shows the colleague's change, so setting the field again replaces it.
  await page.getByText("1 case selected").waitFor();
  await press(page, "Set");
  await message(page, "Case status set to In Progress for 1 case.");
  assert.equal((await read("cases", theirs)).case_status, "In Progress");

  const urls = (await api("POST", "urls", { urls: [1, 2].map((number) => ({ url: `https://together.example/${Date.now()}/${number}` })) })).map(({ detail }) => detail.url_id);
  await open(page, "urls");
  await choose(page, urls, "URL", "incident_status", "Approved");
  await api("PATCH", `urls/${urls[0]}`, { incident_status: "In Violation" });
  await press(page, "Set");
  await message(page, "Incident status set to Approved for 1 URL; 1 could not be changed.");
  assert.deepEqual([(await read("urls", urls[0])).incident_status, (await read("urls", urls[1])).incident_status], ["In Violation", "Approved"]);

  const affiliates = (await api("POST", "affiliates", { affiliates: [1, 2].map((number) => ({ client_affiliate_id: `T-${number}`, affiliate_name: `Together ${Date.now()} ${number}`, status: "active" })) }))
    .map(({ detail }) => detail.affiliate_id);
  await open(page, "affiliates?q=together", /^Affiliates 1–2 of 2$/);
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  await api("PUT", `affiliates/${affiliates[0]}`, { id: affiliates[0], status: "terminated" });
  await page.locator(".selection").getByLabel("Status").selectOption("probation");
  page.once("dialog", (dialog) => dialog.accept());
  await press(page, "Set");
  await message(page, "Status set to Probation for 1 affiliate; 1 could not be changed.");
  await becomes(async () => (await column(page, 6)).sort(), ["Probation", "Terminated"]);
  await press(page, "Undo");
  await message(page, "Undone: Status for 1 affiliate.");
  await becomes(async () => (await column(page, 6)).sort(), ["Active", "Terminated"]);
}

/** Checks that a colleague's changes to affiliates, countries, incidents and cases of a URL are conflicts, and that the page names them. */
async function otherConflicts(page) {
  const changes = () => page.getByRole("list", { name: "Changes by someone else" }).getByRole("listitem").allTextContents();
  const incident = (reference) => ({ incidents: [{ incident_type: "form", reference, infraction_type: "Health Claim" }] });
  const [first, second] = (await api("GET", "affiliates")).data;
  const [mine, theirs, own] = await openCases(3);
  await open(page, "cases");
  for (const id of [mine, theirs]) await page.getByLabel(`Select case ${id}`).check();
  await choose(page, [own], "case", "case_status", "Blocked");
  await api("POST", `cases/${mine}/incidents`, incident("form 1"));
  await api("PATCH", `cases/${theirs}`, { affiliate_id: second.id });
  await press(page, "Set");
  await message(page, "Case status set to Blocked for 1 case; 2 could not be changed.");

  await page.goto(`${base}/console#/cases/${mine}`);
  await onRecord(page, `Case ${mine}`);
  await api("POST", `cases/${mine}/incidents`, incident("form 2"));
  await press(page, "Close");
  await message(page, "Nothing was saved: someone else has changed this case.");
  assert.deepEqual(await changes(), ["Incidents: form 1 (Health Claim) → form 1 (Health Claim), form 2 (Health Claim)"]);
  // The heading and the table show the same state as the form.
  await becomes(() => page.getByRole("heading", { level: 1 }).innerText(), `${first.distributor_name} · Health Claim`);
  assert.deepEqual(await columnOf(page, "Incidents", 1), ["form 1", "form 2"]);
  await press(page, "Close");
  await message(page, "The case is closed.");
  // The buttons and the history also show the current state.
  await api("PATCH", `cases/${mine}`, { case_status: "Blocked" });
  await press(page, "Reopen");
  await message(page, "Nothing was saved: someone else has changed this case.");
  assert.deepEqual(await changes(), ["Case status: Closed → Blocked"]);
  assert.equal(await page.getByText("What you typed stays in the form.").count(), 0);
  await page.getByRole("list", { name: "Changes" }).getByText("changed Case status from Closed to Blocked").waitFor();
  await press(page, "Close");
  await message(page, "The case is closed.");
  await page.goto(`${base}/console#/cases/${own}`);
  await onRecord(page, `Case ${own}`);
  await page.getByLabel("Case worker").fill("zed");
  await api("PATCH", `cases/${own}`, { affiliate_id: second.id, case_country: "US" });
  await press(page, "Save");
  await message(page, "Nothing was saved: someone else has changed this case.");
  assert.deepEqual(await changes(), [`Affiliate: ${first.distributor_name} → ${second.distributor_name}`, "Case country: –no value → United States of America"]);
  await press(page, "Save");
  await message(page, "Saved.");

  const [{ detail: { url_id: url } }] = await api("POST", "urls", { urls: [{ url: `https://together.example/${Date.now()}/case` }] });
  await page.goto(`${base}/console#/urls/${url}`);
  await onRecord(page, `URL ${url}`);
  await page.getByLabel("False positive").selectOption("yes");
  const { detail: { case_id: opened } } = await api("POST", "cases", { request_id: `together-${Date.now()}`, case: { affiliate_id: first.id }, incidents: [{ incident_type: "url", url_id: url }] });
  await press(page, "Save");
  await message(page, "Nothing was saved: someone else has changed this URL.");
  assert.deepEqual(await changes(), [`Case: –no value → ${opened}`]);
  await press(page, "Save");
  await message(page, "Saved.");
  for (const id of [theirs, own, opened]) await api("POST", `cases/${id}/close`, {});
}

/** Checks that "Undo anyway" overwrites only changes that the page has shown, and that undoing keeps the dates of infractions. */
async function undoingAnyway(page) {
  const later = () => page.getByRole("list", { name: "Later changes" }).getByRole("listitem").allInnerTexts();
  const [id] = await openCases(1);
  await api("PATCH", `cases/${id}`, { note: "one", risk_level: "Low" });
  await page.goto(`${base}/console#/cases/${id}`);
  await onRecord(page, `Case ${id}`);
  await api("PATCH", `cases/${id}`, { note: "two" });
  await page.getByRole("button", { name: /^Undo the change/ }).click();
  await becomes(later, ["bea changed Note from one to two"]);
  await api("PATCH", `cases/${id}`, { note: "three", risk_level: "Critical" });
  await press(page, "Undo anyway");
  await becomes(later, ["bea changed Note from one to two", "bea changed Note from two to three", "bea changed Risk level from Low to Critical"]);
  assert.deepEqual([(await read("cases", id)).note, (await read("cases", id)).risk_level], ["three", "Critical"]);
  await press(page, "Undo anyway");
  await message(page, "The change was undone.");
  assert.deepEqual([(await read("cases", id)).note, (await read("cases", id)).risk_level], [null, null]);
  await api("POST", `cases/${id}/close`, {});

  const [{ detail: { url_id: url } }] = await api("POST", "urls", { urls: [{ url: `https://together.example/${Date.now()}/undo` }] });
  const found = { infraction_type: "Health Claim", infraction_name: null, created_date: "2026-01-02 03:04:05" };
  await api("PATCH", `urls/${url}`, { infractions: [found] });
  await api("PATCH", `urls/${url}`, { infractions: [] });
  await page.goto(`${base}/console#/urls/${url}`);
  await onRecord(page, `URL ${url}`);
  await page.getByRole("list", { name: "Changes" }).locator("> li", { hasText: "removed the infraction Health Claim" }).getByRole("button", { name: /^Undo/ }).click();
  await message(page, "The change was undone.");
  assert.deepEqual((await read("urls", url)).infractions, [found]);
}

/** Checks that undoing also restores dates, and skips records that a colleague has changed since. */
async function undoing(page) {
  const [closed, changed] = await openCases(2);
  await api("POST", `cases/${closed}/close`, { closed_date: "2026-03-04 05:06:07" });
  const before = await read("cases", closed);
  await open(page, "cases");
  await choose(page, [closed, changed], "case", "case_status", "Open");
  await press(page, "Set");
  await message(page, "Case status set to Open for 2 cases.");
  assert.equal((await read("cases", closed)).closed_date, null);
  await api("PATCH", `cases/${changed}`, { risk_level: "High", case_status: "Blocked" });
  await press(page, "Undo");
  await message(page, "Undone: Case status for 1 case; 1 could not be undone.");
  await message(page, "Someone else has changed this record since you loaded it.");
  const after = await read("cases", closed);
  assert.deepEqual({ ...after, last_updated_date: null }, { ...before, last_updated_date: null });
  assert.deepEqual([(await read("cases", changed)).case_status, (await read("cases", changed)).risk_level], ["Blocked", "High"]);

  // Undoing a reopened case in the history also restores its first closed date.
  await api("POST", `cases/${closed}/reopen`, {});
  await page.goto(`${base}/console#/cases/${closed}`);
  await onRecord(page, `Case ${closed}`);
  await page.getByRole("list", { name: "Changes" }).locator("> li", { hasText: "Case status from Closed to Open" }).first().getByRole("button", { name: /^Undo/ }).click();
  await message(page, "The change was undone.");
  const restored = await read("cases", closed);
  assert.deepEqual([restored.case_status, restored.closed_date], ["Closed", "2026-03-04 05:06:07"]);
}

/** Checks that changing the page, order or filter clears the selection. */
async function selections(page) {
  await open(page, "urls?per_page=10");
  const [id] = await column(page, 1);
  const bar = page.getByText(/URLs? selected$/);
  const choose = async () => {
    await page.getByLabel(`Select URL ${id}`, { exact: true }).check();
    await page.getByText("1 URL selected").waitFor();
  };
  for (const query of ["per_page=10&page=2", "per_page=10&sort_by=discovery_dt", "per_page=10&disabled=no"]) {
    await page.goto(`${base}/console#/urls?per_page=10`);
    await becomes(async () => (await column(page, 1))[0], id);
    await choose();
    await page.goto(`${base}/console#/urls?${query}`);
    await becomes(() => bar.isVisible(), false);
  }
  await section(page, "Affiliates");
  await heading(page, /^Affiliates 1–/, 2);
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  await page.getByText(/affiliates selected$/).waitFor();
  await page.getByLabel("Search", { exact: true }).fill("together");
  await page.getByLabel("Search", { exact: true }).press("Enter");
  await heading(page, /^Affiliates 1–2 of 2$/, 2);
  await becomes(() => page.getByText(/affiliates? selected$/).isVisible(), false);

  // Failures do not select records again under another filter.
  const affiliates = (await api("GET", "affiliates?q=together")).data;
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  await page.locator(".selection").getByLabel("Status").selectOption("suspended");
  await api("PUT", `affiliates/${affiliates[0].id}`, { id: affiliates[0].id, city: `${Date.now()}` });
  let release;
  const isReleased = new Promise((resolve) => {
    release = resolve;
  });
  await page.route("**/api/affiliates/*", (route) => isReleased.then(() => route.continue()));
  page.once("dialog", (dialog) => dialog.accept());
  await press(page, "Set");
  await page.goto(`${base}/console#/affiliates?status=forgotten`);
  await becomes(() => page.getByText("2 affiliates selected").isVisible(), false);
  release();
  await message(page, "Status set to Suspended for 1 affiliate; 1 could not be changed.");
  await page.unroute("**/api/affiliates/*");
  await becomes(() => page.getByText(/affiliates? selected$/).isVisible(), false);
}

/** Checks that an export contains every record, even if colleagues change records while it runs. */
async function exportsOfOneMoment(page) {
  const ids = await openCases(210);
  await open(page, "cases?open=yes");
  let isFirst = true;
  await page.route("**/api/cases?*", async (route) => {
    const response = await route.fetch();
    // A colleague closes cases from the first part.
    if (isFirst) for (const id of ids.slice(0, 20)) await api("POST", `cases/${id}/close`, {});
    isFirst = false;
    await route.fulfill({ response });
  });
  const [download] = await Promise.all([page.waitForEvent("download"), press(page, "Export CSV")]);
  await page.unroute("**/api/cases?*");
  const text = fs.readFileSync(await download.path(), "utf8");
  const missing = ids.filter((id) => !new RegExp(`^${id},`, "m").test(text));
  assert.deepEqual(missing, []);
  for (const id of ids) await api("POST", `cases/${id}/close`, {});
}

/** Checks that saving keeps line breaks and commas in unchanged texts. */
async function otherTexts(page) {
  const tags = ["spring, summer", "x\ny", " z "];
  const [id] = await openCases(1, { note: "one\r\ntwo", tags });
  await page.goto(`${base}/console#/cases/${id}`);
  await onRecord(page, `Case ${id}`);
  await press(page, "Save");
  await message(page, "Nothing has changed.");
  await page.getByLabel("Tags", { exact: true }).fill("autumn");
  await press(page, "Save");
  await message(page, "Saved.");
  const { tags: kept, note } = await read("cases", id);
  assert.deepEqual([kept, note], [[...tags, "autumn"], "one\r\ntwo"]);
  // JSON cannot contain half an emoji.
  await page.getByLabel("Note", { exact: true }).evaluate((box) => {
    box.value = `half ${String.fromCharCode(0xd83d)}`;
  });
  await press(page, "Save");
  await becomes(async () => (await read("cases", id)).note, "half \ufffd");
  await api("POST", `cases/${id}/close`, {});
}

/** Opens an affiliate from its case, although many other names contain its name. */
async function commonNames(page) {
  const name = "Ann";
  const affiliates = [...Array.from({ length: 60 }, (_, index) => `Joanna ${name} ${index}`), name];
  await api("POST", "affiliates", { affiliates: affiliates.map((affiliate_name, index) => ({ client_affiliate_id: `ANN-${index}`, affiliate_name })) });
  const { id } = (await api("GET", "affiliates")).data.find((record) => record.distributor_name === name);
  const { detail: { case_id: own } } = await api("POST", "cases", { request_id: `ann-${Date.now()}`, case: { affiliate_id: id }, incidents: [] });
  await page.goto(`${base}/console#/cases/${own}`);
  await onRecord(page, `Case ${own}`);
  await page.locator("h1").getByRole("link", { name, exact: true }).click();
  await onRecord(page, `Affiliate ${id}`);
  await page.goto(`${base}/console#/cases/${own}`);
  await onRecord(page, `Case ${own}`);
  await page.getByRole("link", { name: "Cases of this affiliate" }).click();
  await page.waitForURL(new RegExp(`cases\\?distributor_id=${id}$`));
  await section(page, "URLs");
  await heading(page, /URLs/, 2);
  // The filter ignores case, although the IDs ANN-50 to ANN-59 also contain this text.
  await page.getByRole("form", { name: "Filters" }).getByLabel("Affiliate", { exact: true }).fill("ann-5");
  await press(page, "Apply");
  await page.waitForURL(/distributor_id=/);
  const { client_distributor_id: found } = await read("affiliates", page.url().match(/distributor_id=(\d+)/)[1]);
  assert.equal(found, "ANN-5");
  await api("POST", `cases/${own}/close`, {});
}

module.exports = { conflicts, otherConflicts, undoing, undoingAnyway, selections, exportsOfOneMoment, otherTexts, commonNames };
