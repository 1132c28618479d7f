// Checks sign-ins that end during work, and sign-ins in several tabs.
"use strict";

const assert = require("node:assert/strict");
const { becomes, pressWith } = require("../browser.cjs");
const { base, token, expired, colleague, other, api, checked, heading, loaded, message, onRecord, signIn } = require("./common.cjs");

const read = async (path) => (await api("GET", path)).data;
const press = (page, name) => page.getByRole("button", { name, exact: true }).click();
const dialogOf = (page) => page.getByRole("dialog", { name: "Sign in to continue" });

async function open(page, path, title) {
  await page.goto(`${base}/console#/${path}`);
  await (/\d$/.test(title) ? onRecord : heading)(page, title);
}

/** Signs in over the page after the service rejects the token. The page then continues. */
async function signInOver(page, text = token) {
  await dialogOf(page).waitFor();
  await message(page, "Your sign-in has expired.");
  await dialogOf(page).getByLabel("Token").fill(text);
  await dialogOf(page).getByRole("button", { name: "Sign in" }).click();
}

/** Presses a button with an expired token, and signs in again. */
async function signInAgain(page, name, text) {
  // A request from a part that is still loading would also send the expired token, and wait for the sign-in.
  await loaded(page);
  await pressWith(page, name, expired);
  await signInOver(page, text);
}

/** Checks that every form continues with the next token, and keeps its input. */
async function endedWhileTyping(page) {
  const [{ case_id: id }] = await read("cases?per_page=1");
  const note = page.getByLabel("Note", { exact: true });
  await open(page, `cases/${id}`, `Case ${id}`);
  await note.fill("Typed before the end.");
  await signInAgain(page, "Save");
  await message(page, "Saved.");
  assert.equal((await read(`cases/${id}`)).note, "Typed before the end.");

  // With another company's token, the page saves nothing. The user can also wait, and copy the text first.
  await note.fill("For one company.");
  await signInAgain(page, "Save", other);
  await message(page, "You signed in for company 3, but this page shows company 1. Nothing was saved.");
  await checked(page, "a sign-in over the page");
  await press(page, "Not now");
  await message(page, "Your sign-in has expired. Sign in again.");
  // Another officer would be the author, and the case would be assigned to the first officer.
  await signInAgain(page, "Save", colleague);
  await message(page, "This page belongs to bea, but you signed in as zed. Nothing was saved.");
  await press(page, "Not now");
  assert.equal(await note.inputValue(), "For one company.");
  await signInAgain(page, "Save");
  await message(page, "Saved.");
  assert.equal((await read(`cases/${id}`)).note, "For one company.");

  await open(page, "urls/2", "URL 2");
  await note.fill("Reviewed before the end.");
  await signInAgain(page, "Save");
  await message(page, "Saved.");
  assert.equal((await read("urls/2")).note, "Reviewed before the end.");

  await open(page, "affiliates/new", "New affiliate");
  await page.getByLabel("Affiliate name").fill(`Ended While Typing ${Date.now()}`);
  await page.getByLabel("Your affiliate ID").fill("ENDED-1");
  await signInAgain(page, "Save");
  await message(page, "The affiliate was created.");

  await open(page, "urls/new", "Add URLs");
  await page.getByLabel("URLs", { exact: true }).fill([1, 2].map((number) => `https://ended.example/${Date.now()}/${number}`).join("\n"));
  await signInAgain(page, "Add");
  await message(page, "2 URLs were added.");

  await open(page, "cases", "Cases");
  await page.getByLabel(`Select case ${id}`).check();
  await page.getByLabel("Field to set").selectOption("case_worker");
  await page.locator(".selection").getByLabel("Case worker").fill("ended");
  await signInAgain(page, "Set");
  await message(page, "Case worker set to ended for 1 case.");

  // A loading page also waits.
  await page.evaluate((text) => {
    sessionStorage.setItem("compliance-token", text);
    location.hash = "#/affiliates/1";
  }, expired);
  await signInOver(page);
  await onRecord(page, "Affiliate 1");
}

/** Checks that signing out affects every tab. A tab with unsaved changes hides its page until the next sign-in. */
async function signedOutTabs(page, context) {
  const [reading, typing, away, inDocs] = await Promise.all([1, 2, 3, 4].map(() => context.newPage()));
  for (const tab of [reading, typing, away, inDocs]) {
    await tab.goto(`${base}/console#/urls/2`);
    await signIn(tab, token);
    await onRecord(tab, "URL 2");
  }
  await typing.getByLabel("Note", { exact: true }).fill("Not saved when another tab signed out.");
  await away.goto("about:blank");
  await inDocs.goto(`${base}/docs`);
  const tokenInDocs = inDocs.locator("#token summary");
  await becomes(() => inDocs.locator("#token-state").textContent().then((text) => text.startsWith("Company 1, until ")), true);
  // The user can save first.
  await open(page, "urls/2", "URL 2");
  await page.getByLabel("Note", { exact: true }).fill("Unsaved");
  page.once("dialog", (dialog) => dialog.dismiss());
  await press(page, "Sign out");
  assert.equal(await page.getByLabel("Note", { exact: true }).inputValue(), "Unsaved");
  page.once("dialog", (dialog) => dialog.accept());
  await press(page, "Sign out");
  await message(page, "You have signed out.");
  await heading(reading, "Sign in");
  await message(reading, "You have signed out in another tab.");
  for (const tab of [page, reading, typing]) await becomes(() => tab.evaluate("sessionStorage.length"), 0);

  await becomes(() => tokenInDocs.textContent(), "Set a token");
  // The browser also ends sessions in tabs that showed another site.
  await away.goBack();
  await heading(away, "Sign in");
  for (const tab of [away, inDocs]) {
    await becomes(() => tab.evaluate("sessionStorage.length"), 0);
    await tab.close();
  }

  await dialogOf(typing).waitFor();
  typing.on("dialog", (dialog) => dialog.dismiss());
  for (let presses = 0; presses < 4; presses += 1) await typing.keyboard.press("Escape");
  typing.removeAllListeners("dialog");
  await dialogOf(typing).waitFor();
  assert.equal(await typing.getByLabel("Note", { exact: true }).isVisible(), false);
  await checked(typing, "a tab with changes after a sign-out");
  await dialogOf(typing).getByLabel("Token").fill(token);
  await dialogOf(typing).getByRole("button", { name: "Sign in" }).click();
  await press(typing, "Save");
  await message(typing, "Saved.");
  assert.equal((await read("urls/2")).note, "Not saved when another tab signed out.");
  await reading.close();
  await typing.close();
  await signIn(page, token);
  await onRecord(page, "URL 2");
}

/** Checks that a link that imitates a provider's response does not sign the user out. */
async function foreignAnswers(page) {
  for (const state of ["window.x", "x"]) {
    await page.goto(`${base}/console?state=${state}&code=1#/urls/2`);
    await onRecord(page, "URL 2");
    assert.equal(page.url(), `${base}/console#/urls/2`);
  }
}

module.exports = { endedWhileTyping, signedOutTabs, foreignAnswers };
