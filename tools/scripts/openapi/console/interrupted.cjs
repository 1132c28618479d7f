// Checks lost responses, sign-ins that end during a bulk change, and leaving a page before everything is sent.
"use strict";

const assert = require("node:assert/strict");
const { pressWith } = require("../browser.cjs");
const { base, token, expired, api, heading, message, onRecord, section } = require("./common.cjs");

const read = async (kind, id) => (await api("GET", `${kind}/${id}`)).data;
const press = (page, name) => page.getByRole("button", { name, exact: true }).click();
const again = (page) => press(page, "Try again");
const unreachable = (page) => message(page, "The service cannot be reached.");
const risksOf = (ids) => Promise.all(ids.map(async (id) => (await read("cases", id)).risk_level));

async function openCases(number) {
  const [{ id }] = (await api("GET", "affiliates")).data;
  const ids = [];
  for (let index = 0; index < number; index += 1) {
    const { detail } = await api("POST", "cases", { request_id: `interrupted-${Date.now()}-${index}`, case: { affiliate_id: id }, incidents: [] });
    ids.push(detail.case_id);
  }
  return ids;
}

const isWrite = (route) => route.request().method() !== "GET";
const cut = (route) => route.abort("internetdisconnected");
const lose = async (route) => {
  await route.fetch();
  await cut(route);
};

/** Runs `action` while `write` handles all requests that change records, and `read` all others. */
async function handling(page, { read = (route) => route.continue(), write = (route) => route.continue() }, action) {
  await page.route("**/api/**", (route) => (isWrite(route) ? write(route) : read(route)));
  await action();
  await page.unrouteAll({ behavior: "wait" });
}

/** Checks that the user's own saved changes do not pass for changes by someone else. */
async function lostResponses(page) {
  const [id] = await openCases(1);
  await page.goto(`${base}/console#/cases/${id}`);
  await onRecord(page, `Case ${id}`);
  await page.getByLabel("Risk level").selectOption("High");
  await page.getByLabel("Note").fill("Called.");
  await handling(page, { write: lose }, async () => {
    await press(page, "Add the note");
    await unreachable(page);
  });
  await again(page);
  await message(page, "Saved.");
  await page.getByLabel("Risk level").selectOption("Low");
  await handling(page, { read: cut }, async () => {
    await press(page, "Save");
    await message(page, "Saved. The service cannot be reached.");
  });
  await page.getByLabel("Sub-status").selectOption("Escalated");
  await press(page, "Save");
  await page.getByText("Saved.", { exact: true }).waitFor();
  const { risk_level: risk, sub_status: subStatus, note } = await read("cases", id);
  assert.deepEqual([risk, subStatus, note], ["Low", "Escalated", "Called."]);
  await page.getByLabel("Risk level").selectOption("Critical");
  await handling(page, { write: lose }, async () => {
    await press(page, "Save");
    await unreachable(page);
  });
  await api("PATCH", `cases/${id}`, { case_country: "CH" });
  await again(page);
  await message(page, "Your change is saved, but someone else has changed this case.");
  assert.deepEqual(await page.getByRole("list", { name: "Changes by someone else" }).getByRole("listitem").allTextContents(), ["Case country: –no value → Switzerland"]);
  await handling(page, { write: lose }, async () => {
    await press(page, "Close");
    await unreachable(page);
  });
  await again(page);
  await message(page, "The case is closed.");
  const undo = page.getByRole("list", { name: "Changes" }).locator("> li", { hasText: "to Closed" }).getByRole("button", { name: /^Undo/ });
  await handling(page, { write: lose }, async () => {
    await undo.click();
    await unreachable(page);
  });
  await undo.click();
  await message(page, "The change was undone.");
  assert.equal((await read("cases", id)).closed_date, null);
  await api("POST", `cases/${id}/close`, {});

  const edit = async (city, text) => {
    await press(page, "Edit");
    await page.getByLabel("City", { exact: true }).fill(city);
    await press(page, "Save");
    await message(page, text);
  };
  await page.goto(`${base}/console#/affiliates/2`);
  await onRecord(page, "Affiliate 2");
  await handling(page, { write: lose }, () => edit("Basel", "The service cannot be reached."));
  await again(page);
  await page.getByText("Saved.", { exact: true }).waitFor();
  await handling(page, { read: cut }, () => edit("Bern", "Saved. The service cannot be reached."));
  await again(page);
  await page.getByText("Saved.", { exact: true }).waitFor();
  assert.equal((await read("affiliates", 2)).city, "Bern");
}

/** Checks that users can repeat an interrupted change to several records, and its undo. */
async function interruptedBulk(page) {
  const ids = await openCases(2);
  await page.goto(`${base}/console#/cases`);
  await page.reload();
  await heading(page, /^Cases 1–/, 2);
  for (const id of ids) await page.getByLabel(`Select case ${id}`).check();
  await page.getByLabel("Field to set").selectOption("risk_level");
  await page.locator(".selection").getByLabel("Risk level").selectOption("High");
  let isLost = false;
  const write = (route) => {
    isLost = true;
    return lose(route);
  };
  await handling(page, { write, read: (route) => (isLost ? cut(route) : route.continue()) }, async () => {
    await press(page, "Set");
    await message(page, "Risk level set to High for 0 cases; 2 could not be changed.");
  });
  await press(page, "Set");
  await message(page, "Risk level set to High for 2 cases.");
  assert.deepEqual(await risksOf(ids), ["High", "High"]);

  await handling(page, { write: lose }, async () => {
    await press(page, "Undo");
    await message(page, "Undone: Risk level for 0 cases; 2 could not be undone.");
  });
  await pressWith(page, "Undo", expired);
  await press(page, "Not now");
  await message(page, "Your sign-in has expired. Sign in again.");
  assert.equal(await page.getByRole("dialog").count(), 0);
  await pressWith(page, "Undo", token);
  await message(page, "Undone: Risk level for 2 cases.");
  assert.deepEqual(await risksOf(ids), [null, null]);
  for (const id of ids) await api("POST", `cases/${id}/close`, {});
}

/** Checks that the page asks before it discards a chosen file, or stops a change to several records. */
async function leaving(page) {
  const stay = async () => {
    const asked = page.waitForEvent("dialog");
    const clicked = section(page, "Overview");
    await (await asked).dismiss();
    await clicked;
  };
  await page.goto(`${base}/console#/affiliates/batch`);
  await heading(page, "Add several affiliates");
  await page.getByLabel("Or choose a file").setInputFiles({ name: "a.csv", mimeType: "text/csv", buffer: Buffer.from(`client_affiliate_id,affiliate_name\nleft,Left ${Date.now()}\n`) });
  await stay();
  await heading(page, "Add several affiliates");
  await press(page, "Add");
  await message(page, "1 affiliate was added.");

  const ids = await openCases(8);
  await section(page, "Cases");
  await heading(page, /^Cases 1–/, 2);
  for (const id of ids) await page.getByLabel(`Select case ${id}`).check();
  await page.getByLabel("Field to set").selectOption("risk_level");
  await page.locator(".selection").getByLabel("Risk level").selectOption("High");
  let release;
  const isReleased = new Promise((resolve) => {
    release = resolve;
  });
  await page.route("**/api/cases/*", (route) => isReleased.then(() => route.continue()));
  await press(page, "Set");
  await stay();
  release();
  await message(page, "Risk level set to High for 8 cases.");
  await page.unroute("**/api/cases/*");
  for (const id of ids) await api("POST", `cases/${id}/close`, {});
}

module.exports = { lostResponses, interruptedBulk, leaving };
