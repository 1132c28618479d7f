// An officer's day in the console, in a headless Chromium: sign in with a company account, work, stay signed in, sign out.
// `BASE` is a service that accepts tokens from the provider at `PROVIDER` (provider.cjs).
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const { withPage, becomes, picture, pressWith } = require("./browser.cjs");
const { base, WIDE, api, checked, heading, message, onRecord, section } = require("./console/common.cjs");

const { PROVIDER: provider } = process.env;
// The service and the provider reject some tokens, as expected.
const EXPECTED = /status of (400|401)/;
const MINUTE = 60_000;

const stored = (page, name) => page.evaluate((key) => sessionStorage.getItem(key), name);
const tokenOf = (page) => stored(page, "compliance-token");
const button = (page, name) => page.getByRole("button", { name, exact: true });
const withAccount = (page) => button(page, "Sign in with your company account").click();
const warning = (page) => page.getByRole("region", { name: "Your sign-in" });

/** Fills in the provider's form. Each account's password is its name. */
async function typeAccount(page, account) {
  await page.getByRole("heading", { name: "Company accounts" }).waitFor();
  await page.getByLabel("Account").fill(account);
  await page.getByLabel("Password").fill(account);
  await button(page, "Continue").click();
}

/** Runs `action` in the page, and `then` in the window that it opens. Waits until the window closes. */
async function inWindow(page, action, then = async () => {}) {
  const [opened] = await Promise.all([page.waitForEvent("popup"), action()]);
  const closed = opened.isClosed() ? null : opened.waitForEvent("close");
  await then(opened);
  await closed;
}

async function signingIn(page) {
  await page.goto(`${base}/console#/cases?open=yes`);
  await heading(page, "Sign in");
  await checked(page, "sign-in with an account");
  await page.getByText("Use a token instead").click();
  await checked(page, "sign-in with a token instead");

  // The officer cancels at the provider.
  await withAccount(page);
  await button(page, "Cancel").click();
  await message(page, "The sign-in provider refused the sign-in: the officer cancelled (access_denied)");
  assert.equal(page.url(), `${base}/console#/cases?open=yes`);
  await checked(page, "a refused sign-in with an account");

  // A response that this tab did not request does not sign the user in.
  await page.goto(`${base}/console?code=stolen&state=unknown#/cases`);
  await message(page, "This sign-in did not start in this tab.");
  assert.equal(page.url(), `${base}/console#/cases`);
  assert.equal(await tokenOf(page), null);

  // The guest account belongs to no company, so the service rejects its token. The next sign-in can use a different account.
  await withAccount(page);
  await typeAccount(page, "guest");
  await message(page, "The service did not accept your sign-in.");
  await withAccount(page);
  await typeAccount(page, "bea");
  await heading(page, /^Cases 1–/, 2);
  assert.equal(page.url(), `${base}/console#/cases`);
  assert.deepEqual(await page.evaluate("[localStorage.length, document.cookie, Object.keys(sessionStorage).sort()]"), [0, "", ["compliance-account", "compliance-sign-outs", "compliance-token"]]);
  await page.locator("#account").getByText("bea@partner.example · Company 1", { exact: false }).waitFor();
  const { client_id: client, openid_connect: settings } = await (await fetch(`${base}/console/sign-in.json`)).json();
  assert.equal(client, undefined);
  assert.deepEqual(settings, { issuer: provider, client_id: "console", scope: "openid cases audit", token: "access" });
  // The documentation in the same tab reads the company from the same claim.
  await page.goto(`${base}/docs`);
  await becomes(() => page.locator("#token-state").textContent().then((text) => text.startsWith("Company 1, until ")), true);
  await page.goto(`${base}/console#/cases`);
  await heading(page, /^Cases 1–/, 2);
}

/** Goes from the overview to an overdue case, and returns its ID. */
async function triage(page) {
  const [{ case_id: due }] = (await api("GET", "cases?open=yes&per_page=1", undefined, await tokenOf(page))).data;
  await api("PATCH", `cases/${due}`, { follow_up_date: "2026-01-05 09:00:00" }, await tokenOf(page));
  await section(page, "Overview");
  await heading(page, "Overview");
  await page.getByRole("listitem").filter({ hasText: "Overdue follow-ups" }).getByRole("link").first().click();
  await heading(page, /^Cases 1–/, 2);
  assert.ok(page.url().endsWith("overdue=yes"));
  await page.locator("tbody tr").first().getByRole("link").first().click();
  await onRecord(page, /^Case \d+$/);
  return Number(page.url().match(/cases\/(\d+)/)[1]);
}

async function work(page, id) {
  const read = async () => (await api("GET", `cases/${id}`, undefined, await tokenOf(page))).data;
  await button(page, "Assign to me").click();
  await message(page, "Saved.");
  assert.equal((await read()).case_worker, "bea@partner.example");
  await page.getByLabel("Note").fill("Asked the affiliate for the page's date.");
  await page.getByLabel("Follow-up date").fill("2027-02-01");
  await button(page, "Save").click();
  await message(page, "Saved.");
  const { case_worker: worker, note, follow_up_date: date } = await read();
  assert.deepEqual([worker, note, date], ["bea@partner.example", "Asked the affiliate for the page's date.", "2027-02-01 00:00:00"]);
  // The history shows the note, and the box is empty for the next note.
  await page.getByRole("list", { name: "Changes" }).locator("> li").first().getByText("bea@partner.example").first().waitFor();
  await page.getByRole("list", { name: "Changes" }).locator("> li").first().getByText("Asked the affiliate for the page's date.").waitFor();
  assert.equal(await page.getByLabel("Note").inputValue(), "");
  await picture(page, "day-case.png");

  await section(page, "URLs");
  await heading(page, /^URLs 1–/, 2);
  await page.locator("tbody tr").first().getByRole("link").first().click();
  await onRecord(page, /^URL \d+$/);
  await page.getByLabel("Incident status").selectOption("In Violation");
  await page.getByLabel("Note").fill("Promises an income.");
  await button(page, "Save").click();
  await message(page, "Saved.");

  await page.goto(`${base}/console#/cases/${id}`);
  await onRecord(page, `Case ${id}`);
  await button(page, "Close").click();
  await message(page, "The case is closed.");
  assert.equal((await read()).case_status, "Closed");
}

async function exporting(page, id) {
  // Older records name officers by subject instead of e-mail address.
  await page.keyboard.press("Control+k");
  await page.getByRole("option", { name: "My earlier cases", exact: true }).click();
  await page.waitForURL(/#\/cases\?case_worker=bea&open=yes$/);
  await page.goto(`${base}/console#/cases?case_worker=bea@partner.example`);
  await heading(page, /^Cases 1/, 2);
  const [download] = await Promise.all([page.waitForEvent("download"), button(page, "Export CSV").click()]);
  const [head, ...lines] = fs.readFileSync(await download.path(), "utf8").trim().split("\r\n");
  assert.ok(head.includes("Case ID,Case status,Risk level,Affiliate name"), head);
  assert.ok(lines.some((line) => line.includes(String(id)) && line.includes("Closed")), lines.join("\n"));
}

/** Checks that, without a refresh token, the console warns the officer before the sign-in ends. She stays signed in and keeps her input. */
async function staying(page, id) {
  await page.goto(`${base}/console#/cases/${id}`);
  await onRecord(page, `Case ${id}`);
  await page.getByLabel("Note").fill("Half a sentence");
  const first = await tokenOf(page);
  await page.clock.fastForward(57 * MINUTE);
  assert.ok(await warning(page).isHidden());
  await page.clock.fastForward(MINUTE + 10_000);
  await warning(page).getByText(/Your sign-in ends at .* Stay signed in to keep working\./).waitFor();
  await checked(page, "the warning before the end");
  await inWindow(page, () => button(page, "Stay signed in").click());
  await warning(page).waitFor({ state: "hidden" });
  const second = await tokenOf(page);
  assert.notEqual(second, first);
  assert.equal(await page.getByLabel("Note").inputValue(), "Half a sentence");
  await button(page, "Save").click();
  await message(page, "Saved.");

  // The sign-in ends while she is at lunch.
  await page.getByLabel("Note").fill("A whole sentence.");
  await page.clock.fastForward(61 * MINUTE);
  await warning(page).getByText("Your sign-in has ended.").waitFor();
  await checked(page, "the end of a sign-in");
  await inWindow(page, () => button(page, "Sign in again").click());
  await button(page, "Save").click();
  await message(page, "Saved.");
  assert.equal((await api("GET", `cases/${id}`, undefined, await tokenOf(page))).data.note, "A whole sentence.");

  // The service rejects the token while the officer types.
  await page.goto(`${base}/console#/affiliates/new`);
  await heading(page, "New affiliate");
  await page.getByLabel("Affiliate name").fill("Typed before the end");
  await page.getByLabel("Your affiliate ID").fill("DAY-1");
  const revoked = `${(await tokenOf(page)).slice(0, -8)}AAAAAAAA`;
  await pressWith(page, "Save", revoked);
  await message(page, "The service did not accept your sign-in.");
  await inWindow(page, () => withAccount(page));
  await message(page, "The affiliate was created.");
  await section(page, "Overview");
  await heading(page, "Overview");
}

async function signingOut(page) {
  await button(page, "Sign out").click();
  await button(page, "Sign out everywhere").click();
  await page.waitForURL(`${base}/console`);
  await heading(page, "Sign in");
  assert.equal(await page.evaluate("sessionStorage.length"), 0);
}

/** Checks that the console renews a sign-in with a refresh token, and that signing out ends it at the provider. Returns the last token. */
async function renewing(page) {
  await withAccount(page);
  await typeAccount(page, "noor");
  await heading(page, "Overview");
  // A duplicate of the tab holds the same refresh token, which the provider accepts once.
  const twin = await page.context().newPage();
  await twin.goto(`${base}/docs`);
  const session = await page.evaluate("({ ...sessionStorage })");
  await twin.evaluate((kept) => Object.assign(sessionStorage, kept), session);
  await twin.goto(`${base}/console`);
  await heading(twin, "Overview");
  for (let hour = 0; hour < 2; hour += 1) {
    const before = [await tokenOf(page), await stored(page, "compliance-account")];
    const until = await page.locator("#account > span").getAttribute("title");
    await page.clock.fastForward(57 * MINUTE);
    await becomes(async () => (await tokenOf(page)) === before[0], false);
    assert.notEqual(JSON.parse(await stored(page, "compliance-account")).refreshToken, JSON.parse(before[1]).refreshToken);
    await becomes(async () => (await page.locator("#account > span").getAttribute("title")) === until, false);
    assert.ok(await warning(page).isHidden());
    await becomes(() => stored(twin, "compliance-account"), await stored(page, "compliance-account"));
  }

  // If the duplicate showed another site during a renewal, it must not use its old refresh token: the provider would end the sign-in of all tabs.
  await twin.goto("about:blank");
  const earlier = await tokenOf(page);
  await page.clock.fastForward(57 * MINUTE);
  await becomes(async () => (await tokenOf(page)) === earlier, false);
  await twin.goBack();
  await becomes(async () => JSON.parse(await stored(twin, "compliance-account")).refreshToken, null);
  await warning(twin).getByText(/Your sign-in (ends at|has ended)/).waitFor();
  const renewed = await tokenOf(page);
  await page.clock.fastForward(57 * MINUTE);
  await becomes(async () => (await tokenOf(page)) === renewed, false);

  // If the provider refuses to renew, the console shows the warning and does not ask again.
  const { refreshToken } = JSON.parse(await stored(page, "compliance-account"));
  await fetch(`${provider}/token/revocation`, { method: "POST", body: new URLSearchParams({ token: refreshToken, client_id: "console" }) });
  await page.clock.fastForward(58 * MINUTE + 30_000);
  await warning(page).getByText(/Your sign-in ends at/).waitFor();
  await becomes(async () => JSON.parse(await stored(page, "compliance-account")).refreshToken, null);
  await inWindow(page, () => button(page, "Stay signed in").click());
  await warning(page).waitFor({ state: "hidden" });
  const token = await tokenOf(page);
  const { refreshToken: last } = JSON.parse(await stored(page, "compliance-account"));
  await signingOut(page);
  await heading(twin, "Sign in");
  await message(twin, "You have signed out in another tab.");
  await twin.close();
  const again = await fetch(`${provider}/token`, { method: "POST", body: new URLSearchParams({ grant_type: "refresh_token", refresh_token: last, client_id: "console" }) });
  assert.equal((await again.json()).error, "invalid_grant");
  return token;
}

/** Signs in with a pasted token, which the console cannot renew. */
async function pasting(page, token) {
  await page.getByText("Use a token instead").click();
  await page.getByLabel("Token", { exact: true }).fill(token);
  await button(page, "Sign in").click();
  await heading(page, "Overview");
  assert.equal(await stored(page, "compliance-account"), null);
  await page.clock.fastForward(MINUTE);
  await warning(page).getByText("Your sign-in has ended.").waitFor();
  await button(page, "Sign in again").click();
  await page.getByRole("dialog", { name: "Sign in to continue" }).waitFor();
  await button(page, "Not now").click();
  await button(page, "Sign out").click();
  await message(page, "You have signed out.");
  await becomes(() => warning(page).count(), 0);
}

async function check(page, problems) {
  await page.clock.install();
  await signingIn(page);
  const id = await triage(page);
  await work(page, id);
  await exporting(page, id);
  await staying(page, id);
  await signingOut(page);
  // Signing out also ended the sign-in at the provider.
  await pasting(page, await renewing(page));
  assert.deepEqual(problems, []);
  console.log("an officer's day: signed in with an account, worked, stayed signed in and signed out");
}

withPage({ origins: [base, provider], expected: EXPECTED, viewport: WIDE, timezoneId: "Asia/Kolkata" }, check).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
