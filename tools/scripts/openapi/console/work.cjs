// Checks an officer's work: a case from assignment to closing, with concurrent changes by another officer, and the review of a URL.
"use strict";

const assert = require("node:assert/strict");
const { becomes, picture } = require("../browser.cjs");
const { base, colleague, PHONE, WIDE, api, checked, columnOf, heading, message, onRecord } = require("./common.cjs");

const read = async (kind, id) => (await api("GET", `${kind}/${id}`)).data;
const save = (page) => page.getByRole("button", { name: "Save", exact: true }).click();

async function caseWork(page) {
  const { client_distributor_id: affiliate } = (await api("GET", "affiliates")).data[0];
  const opened = await api("POST", "cases", { request_id: `walk-${Date.now()}`, case: { client_affiliate_id: affiliate }, incidents: [{ incident_type: "form", reference: "form 12" }] });
  const id = opened.detail.case_id;
  await page.goto(`${base}/console#/cases/${id}`);
  await onRecord(page, `Case ${id}`);
  assert.deepEqual(await columnOf(page, "Incidents", 1), ["form 12"]);
  const assign = page.getByRole("button", { name: "Assign to me" });
  await assign.click();
  await message(page, "Saved.");
  assert.equal((await read("cases", id)).case_worker, "bea");
  await becomes(() => assign.isVisible(), false);
  await page.getByLabel("Case worker").focus();
  await becomes(() => page.locator("datalist[id^=workers] option").evaluateAll((options) => options.some((option) => option.value === "bea")), true, "the field does not suggest workers");
  // If the form contains other changes, the button saves nothing, and the page says so.
  await page.getByLabel("Case worker").fill("someone.with.a.long.name@partner.example");
  assert.equal(await page.getByLabel("Case worker").evaluate((input) => input.scrollWidth > input.clientWidth), false, "the worker does not fit");
  await page.getByText("Not saved yet").waitFor();
  await page.getByLabel("Case status").selectOption("In Progress");
  await assign.click();
  await message(page, "Nothing was saved yet. Press Save to assign the case to you, together with your other changes.");
  assert.equal(await page.getByLabel("Case worker").inputValue(), "bea");
  assert.equal((await read("cases", id)).case_status, "New");
  await checked(page, "unsaved work on a case");
  await page.getByLabel("Risk level").selectOption("High");
  await page.getByLabel("Follow-up date").fill("2027-01-31");
  await page.getByLabel("Tags", { exact: true }).fill("priority");
  await page.keyboard.press("Enter");
  await page.keyboard.type("winter");
  await page.keyboard.press("Enter");
  // Holding Backspace removes only one tag.
  for (let times = 0; times < 3; times += 1) await page.keyboard.down("Backspace");
  await page.keyboard.up("Backspace");
  await page.keyboard.type("winter");
  await page.keyboard.press("Enter");
  // Typed text also counts as a tag, and a click removes a tag.
  await page.keyboard.type("spring");
  await page.getByRole("button", { name: "Remove the tag winter" }).click();
  await page.getByRole("list", { name: "Chosen tags" }).getByText("spring").waitFor();
  await page.getByLabel("Note").fill("Called.");
  await checked(page, "work on a case");
  await save(page);
  await message(page, "Saved.");
  const { case_worker: worker, case_status: status, risk_level: risk, follow_up_date: date, tags, note } = await read("cases", id);
  assert.deepEqual({ worker, status, risk, date, tags, note }, { worker: "bea", status: "In Progress", risk: "High", date: "2027-01-31 00:00:00", tags: ["priority", "spring"], note: "Called." });
  // An unfinished date is not an empty date.
  await page.getByLabel("Follow-up date").press("Backspace");
  await page.getByText("Not saved yet").waitFor();
  assert.equal(await page.getByText("Saved.", { exact: true }).count(), 0, "the earlier save's message is still visible");
  await save(page);
  await message(page, "This date is incomplete or does not exist.");
  await page.getByLabel("Follow-up date").fill("0202-01-31");
  await save(page);
  await message(page, "This date must be between 2000-01-01 and 2099-12-31.");
  assert.equal((await read("cases", id)).follow_up_date, date);
  await page.getByLabel("Follow-up date").fill("2027-01-31");
  await save(page);
  await message(page, "Nothing has changed.");

  // Another officer changes the case at the same time.
  await page.getByLabel("Sub-status").selectOption({ index: 1 });
  await api("PATCH", `cases/${id}`, { risk_level: "Low" }, colleague);
  await save(page);
  await message(page, "Nothing was saved: zed has changed this case.");
  assert.equal(await page.getByText("Saved.", { exact: true }).count(), 0, "the earlier save's message is still visible");
  assert.deepEqual(await page.getByRole("list", { name: "Changes by someone else" }).getByRole("listitem").allInnerTexts(), ["Risk level: High → Low"]);
  assert.deepEqual(await page.locator(".head .badge").allInnerTexts(), ["In Progress", "Low"], "the head is out of date");
  await checked(page, "a conflict");
  await picture(page, "console-conflict.png");
  assert.equal(await page.getByLabel("Risk level").inputValue(), "Low");
  await page.getByRole("button", { name: "Dismiss this message" }).click();
  assert.equal(await page.getByRole("list", { name: "Changes by someone else" }).count(), 0);
  await save(page);
  await message(page, "Saved.");
  assert.equal((await read("cases", id)).risk_level, "Low");
  // The page saves a note regardless of other changes.
  await page.getByLabel("Note").fill("Called twice.");
  await api("PATCH", `cases/${id}`, { risk_level: "Medium" });
  await page.getByRole("button", { name: "Add the note" }).click();
  await message(page, "Saved.");
  await becomes(async () => { const { risk_level: level, note: text } = await read("cases", id); return [level, text]; }, ["Medium", "Called twice."]);

  // The box is empty for the next note. The history shows the earlier notes with their authors.
  await becomes(() => page.getByLabel("Note").inputValue(), "");
  const notes = async () => (await page.getByRole("list", { name: "Changes" }).locator("> li", { has: page.locator("blockquote") }).allInnerTexts())
    .map((text) => /^bea (?:wrote a note|set the note to an earlier text) · just now(.*)\n+(.*)/.exec(text)?.slice(1).join(":"));
  await becomes(notes, [" Undo:Called twice.", ":Called."]);

  // Undoing the latest note restores the earlier one. Only the changes whose values the case still has can be undone.
  await page.getByRole("list", { name: "Changes" }).locator("> li", { hasText: "Called twice." }).getByRole("button", { name: /^Undo/ }).click();
  await message(page, "The change was undone.");
  const newest = page.getByRole("list", { name: "Changes" }).locator("> li").first();
  await becomes(async () => (await newest.innerText()).startsWith("bea set the note to an earlier text"), true);
  await becomes(notes, [" Undo:Called.", ":Called twice.", ":Called."]);

  // On a phone, the notes stay in view.
  await page.setViewportSize(PHONE);
  await page.getByLabel("Note").fill("Called again.");
  await page.getByRole("button", { name: "Add the note" }).click();
  await message(page, "Saved.");
  const place = await page.getByLabel("Note").boundingBox();
  assert.ok(place.y > 0 && place.y < PHONE.height, `the note is at ${place.y} px`);
  await page.setViewportSize(WIDE);

  // An action keeps unsaved changes.
  await page.getByLabel("Note").fill("Called three times.");
  await page.getByRole("button", { name: "Close", exact: true }).click();
  await message(page, "Save your changes first. Then press Close again.");
  assert.equal(await page.getByLabel("Note").inputValue(), "Called three times.");
  await save(page);
  await message(page, "Saved.");
  await page.getByRole("button", { name: "Close", exact: true }).click();
  await message(page, "The case is closed.");
  assert.equal((await read("cases", id)).case_status, "Closed");
  await page.getByRole("button", { name: "Reopen", exact: true }).click();
  await message(page, "The case is open again.");
  await page.getByRole("button", { name: "Resolve", exact: true }).click();
  await message(page, "The case is resolved.");
  assert.equal((await read("cases", id)).case_status, "Resolved");
}

async function review(page) {
  const [{ detail: { url_id: id } }] = await api("POST", "urls", { urls: [{ url: "https://example.org/to-be-reviewed" }] });
  await page.goto(`${base}/console#/urls/${id}`);
  await onRecord(page, `URL ${id}`);
  await page.getByLabel("Incident status").selectOption("In Violation");
  await page.getByLabel("False positive").selectOption("no");
  await page.getByLabel("Note").fill("Claims to cure.");
  await page.getByLabel("Infractions", { exact: true }).selectOption({ label: "Health Claim: weight loss" });
  await page.getByRole("button", { name: "Add infraction" }).click();
  await page.getByLabel("Infractions", { exact: true }).selectOption({ label: "Trademark" });
  await page.getByRole("button", { name: "Add infraction" }).press("Enter");
  assert.deepEqual(await page.getByRole("list", { name: "Chosen infractions" }).locator("bdi").allInnerTexts(), ["Health Claim: weight loss", "Trademark"]);
  // The selected infraction also counts.
  await page.getByLabel("Infractions", { exact: true }).selectOption({ label: "Disclosure" });
  await checked(page, "a review");
  await save(page);
  await message(page, "Saved.");
  await becomes(() => columnOf(page, "Infractions", 1), ["Health Claim", "Trademark", "Disclosure"]);
  await page.getByRole("button", { name: "Remove the infraction Trademark" }).click();
  await page.getByText("Not saved yet").waitFor();
  await save(page);
  await becomes(() => columnOf(page, "Infractions", 1), ["Health Claim", "Disclosure"]);
  // The history offers to undo the removal.
  await page.getByRole("list", { name: "Changes" }).locator("> li", { hasText: "removed the infraction Trademark" }).getByRole("button", { name: /^Undo/ }).click();
  await message(page, "The change was undone.");
  await becomes(async () => (await columnOf(page, "Infractions", 1)).sort(), ["Disclosure", "Health Claim", "Trademark"]);
  const { incident_status: status, false_positive: flag, note, last_review_date: date } = await read("urls", id);
  assert.deepEqual([status, flag, note, date !== null], ["In Violation", "no", "Claims to cure.", true]);

  // Another officer reviews the URL at the same time.
  await page.getByLabel("Note").fill("Claims to heal.");
  await page.getByLabel("False positive").selectOption("yes");
  await api("PATCH", `urls/${id}`, { incident_status: "Approved", infractions: [{ infraction_type: "Disclosure" }] });
  await save(page);
  await message(page, "Nothing was saved: someone else has changed this URL.");
  const [changed, infractions] = await page.getByRole("list", { name: "Changes by someone else" }).getByRole("listitem").allInnerTexts();
  assert.equal(changed, "Incident status: In Violation → Approved");
  assert.match(infractions, /^Infractions: .*Health Claim: weight loss.* → Disclosure$/);
  await save(page);
  await message(page, "Saved.");
  const { incident_status: theirs, note: mine, infractions: kept } = await read("urls", id);
  assert.deepEqual([theirs, mine, kept.length], ["Approved", "Claims to heal.", 1]);
}

/** Opens a case from an affiliate, and from a URL with its infraction. */
async function opening(page) {
  const open = async (path, title, done = "The case was opened.") => {
    await page.goto(`${base}/console#/${path}`);
    await onRecord(page, title);
    await page.getByRole("button", { name: "Open a case" }).dblclick();
    // The record can already have open cases. Then the page asks.
    const another = page.getByRole("button", { name: "Open another case" });
    await another.or(page.locator(".kind").getByText(/^Case \d+$/)).first().waitFor();
    if (await another.isVisible()) await another.dblclick();
    await onRecord(page, /^Case \d+$/);
    await message(page, done);
    return read("cases", page.url().match(/cases\/(\d+)$/)[1]);
  };
  // From the list of cases, the officer names the affiliate.
  const [{ id: known, distributor_name: named }] = (await api("GET", "affiliates")).data;
  await page.goto(`${base}/console#/cases`);
  await page.getByRole("link", { name: "Open a case" }).click();
  await heading(page, "Open a case");
  const send = () => page.getByRole("button", { name: "Open the case" }).click();
  await send();
  await message(page, "Enter the affiliate's name or ID.");
  await page.getByRole("combobox", { name: "Affiliate (required)" }).fill("Nobody by this name");
  await send();
  await message(page, "No affiliate name or ID contains this text.");
  await page.getByRole("combobox", { name: "Affiliate (required)" }).fill("999999999");
  assert.equal(await page.locator(".field-error").innerText(), "", "the earlier error is still visible");
  await send();
  await message(page, "No affiliate of the company has this identifier.");
  await checked(page, "a new case");
  // The page links to the affiliate's open cases.
  await api("POST", "cases", { request_id: `opening-${Date.now()}`, case: { affiliate_id: known }, incidents: [] });
  const { data: [{ case_id: newest }] } = await api("GET", `cases?distributor_id=${known}&open=yes`);
  await page.getByRole("combobox", { name: "Affiliate (required)" }).fill(named);
  await send();
  await message(page, "This affiliate has open cases:");
  await page.locator(".message").getByRole("link", { name: `Case ${newest}`, exact: true }).waitFor();
  await checked(page, "a new case of an affiliate with open cases");
  await page.getByRole("button", { name: "Open another case" }).click();
  await onRecord(page, /^Case \d+$/);
  await message(page, "The case was opened.");
  await page.getByRole("button", { name: "Dismiss this message" }).waitFor();
  assert.equal((await read("cases", page.url().match(/cases\/(\d+)$/)[1])).distributor_id, known);

  const { distributor_id: affiliate, incidents: none } = await open("affiliates/2", "Affiliate 2");
  assert.deepEqual([affiliate, none], [2, []]);
  const url = (await api("GET", "urls?per_page=200")).data.find(({ affiliate_name: name, infractions }) => name !== null && infractions.length > 0);
  await api("PATCH", `urls/${url.id}`, { infractions: [{ infraction_type: "Trademark" }, { infraction_type: "Disclosure" }] });
  const done = /^×?The case was opened with the first of 2 infractions: (Trademark|Disclosure)\.$/;
  const { affiliate_id: own, incidents: [{ url_id: id, infraction_type: type }] } = await open(`urls/${url.id}`, `URL ${url.id}`, done);
  assert.deepEqual([own, id, type], [url.affiliate_id, url.id, (await read("urls", url.id)).infractions[0].infraction_type]);
  await checked(page, "a case of a URL");

  // The page asks before it opens a second case about the URL.
  const count = async () => (await api("GET", "cases?per_page=1")).meta.total;
  const before = await count();
  await page.goto(`${base}/console#/urls/${url.id}`);
  await onRecord(page, `URL ${url.id}`);
  // Opening a case would discard unsaved input.
  const note = page.getByLabel("Note", { exact: true });
  await note.fill("Not saved");
  await page.getByRole("button", { name: "Open a case" }).click();
  await message(page, "Save your changes first. Then press Open a case again.");
  assert.deepEqual([await count(), await note.inputValue()], [before, "Not saved"]);
  await note.fill("");
  await page.getByRole("button", { name: "Open a case" }).click();
  await message(page, /^×?This URL has open cases: Case \d+/);
  assert.equal(await count(), before);
}

/** Adds a URL to a case by its ID and by its address, removes incidents, and undoes a removal. */
async function incidents(page) {
  const [{ id: affiliate, distributor_name: owner }] = (await api("GET", "affiliates")).data;
  const addresses = [`https://incidents.example/${Date.now()}/one`, `https://incidents.example/${Date.now()}/${"long/".repeat(100)}`];
  const [one, long] = (await api("POST", "urls", { urls: addresses.map((url) => ({ url })) })).map(({ detail }) => detail.url_id);
  await api("PATCH", `urls/${one}`, { infractions: [{ infraction_type: "Trademark" }] });
  const form = { incident_type: "form", reference: "form 20", infraction_type: "Disclosure", infraction_name: null };
  const { detail: { case_id: id } } = await api("POST", "cases", { request_id: `incidents-${Date.now()}`, case: { affiliate_id: affiliate }, incidents: [form] });
  const kept = async () => (await read("cases", id)).incidents.map(({ url_id: url, reference, infraction_type: type }) => [url ?? reference, type]);
  await page.goto(`${base}/console#/cases/${id}`);
  await onRecord(page, `Case ${id}`);
  const field = page.getByLabel("Add a URL to this case");
  const add = async (text) => {
    await field.fill(text);
    await page.getByRole("button", { name: "Add the URL" }).click();
  };
  await field.focus();
  const own = (await api("GET", `urls?distributor_id=${affiliate}`)).data.map((url) => String(url.id));
  await becomes(() => page.locator("#case-urls option").evaluateAll((options) => options.map(({ value }) => value)), own);
  await add("");
  await message(page, "Enter the address or ID of a URL.");
  await add("https://incidents.example/unknown");
  await message(page, "No URL with this address or ID was found.");
  await add("999999999");
  await message(page, "No URL with this address or ID was found.");
  await checked(page, "an unknown incident");
  await add(String(one));
  await message(page, `URL ${one} was added.`);
  // The page asks before it adds a URL without an infraction, or of another affiliate.
  const asked = async (text, isAccepted) => {
    const dialog = page.waitForEvent("dialog");
    const added = add(text);
    const question = (await dialog).message();
    await (await dialog)[isAccepted ? "accept" : "dismiss"]();
    await added;
    return question;
  };
  assert.equal(await asked(addresses[1], true), `URL ${long} has no infraction and the status New. Add it anyway?`);
  await message(page, `URL ${long} was added.`);
  const { id: foreign, affiliate_name: strange } = (await api("GET", "urls?per_page=200")).data.find(({ affiliate_name: name, infractions }) => (
    name !== null && name !== owner && infractions.length === 1));
  assert.equal(await asked(String(foreign), false), `URL ${foreign} belongs to ${strange}. Add it anyway?`);
  assert.equal(await field.inputValue(), String(foreign));
  assert.equal((await kept()).length, 3);
  assert.equal(await asked(String(foreign), true), `URL ${foreign} belongs to ${strange}. Add it anyway?`);
  await message(page, `URL ${foreign} of ${strange} was added.`);
  await page.getByRole("button", { name: `Remove URL ${foreign} from the case` }).click();
  await message(page, `URL ${foreign} was removed from the case.`);
  assert.deepEqual(await kept(), [["form 20", "Disclosure"], [one, "Trademark"], [long, null]]);
  // The history cannot undo the change of an incident, only of the date that the service set with it.
  await page.getByRole("list", { name: "Changes" }).locator("> li", { hasText: `the incident URL ${one}` }).waitFor();
  assert.equal(await page.getByRole("list", { name: "Changes" }).getByRole("button", { name: /^Undo/ }).count(), 0);
  // Adding a URL again could replace its infraction.
  await api("PATCH", `urls/${one}`, { infractions: [{ infraction_type: "Disclosure" }] });
  await add(addresses[0]);
  await message(page, `The case already contains URL ${one}.`);
  await checked(page, "a case with added incidents");

  // A long URL has six lines, and is complete in the tooltip.
  const row = page.getByRole("region", { name: "Incidents", exact: true }).locator("tbody tr", { hasText: `URL ${long}` });
  assert.equal(await row.getByTitle(addresses[1], { exact: true }).count(), 1);
  for (const width of [721, 800, 1000, 1100, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    const { height } = await row.boundingBox();
    assert.ok(height < 150, `an incident is ${height} px high at ${width} px`);
    const text = await row.locator(".incident bdi").boundingBox();
    assert.ok(text.height > 30 && text.width > 90, `the URL has ${text.width} × ${text.height} px at ${width} px`);
  }

  // Removing keeps unsaved input, and can be undone.
  const remove = (name) => page.getByRole("button", { name: `Remove ${name} from the case` }).click();
  await page.getByLabel("Note", { exact: true }).fill("Not saved");
  await remove("form 20");
  await message(page, "Save your changes first. Then try again.");
  await page.getByLabel("Note", { exact: true }).fill("");
  await remove("form 20");
  await message(page, "form 20 was removed from the case.");
  await becomes(kept, [[one, "Trademark"], [long, null]]);
  await checked(page, "a removed incident");
  await page.locator(".message").getByRole("button", { name: "Undo" }).click();
  await message(page, "The change was undone.");
  await becomes(async () => (await kept()).sort(), [[one, "Trademark"], [long, null], ["form 20", "Disclosure"]].sort());
  await remove(`URL ${one}`);
  await message(page, `URL ${one} was removed from the case.`);
  await becomes(async () => (await columnOf(page, "Incidents", 2)).sort(), ["Disclosure", "–\nno value"].sort());
}

module.exports = { caseWork, review, opening, incidents };
