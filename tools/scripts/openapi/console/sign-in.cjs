// Checks the console's files, the sign-in, and keyboard navigation.
"use strict";

const assert = require("node:assert/strict");
const { becomes } = require("../browser.cjs");
const { base, token, expired, checked, heading, message, section, signIn } = require("./common.cjs");

async function headers() {
  const get = (path, sent = {}) => fetch(`${base}/${path}`, { headers: sent });
  const response = await get("console");
  const policy = response.headers.get("content-security-policy");
  assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self';/);
  assert.ok(!policy.includes("unsafe"), policy);
  assert.equal(response.headers.get("referrer-policy"), "no-referrer");
  for (const path of ["console", "console/main.js", "console/style.css"]) {
    const { headers: received } = await get(path);
    assert.equal(received.get("x-content-type-options"), "nosniff");
    assert.equal((await get(path, { "If-None-Match": received.get("etag") })).status, 304);
  }
  assert.equal((await get("console/nothing.js")).status, 404);
}

async function signingIn(page) {
  await page.goto(`${base}/`);
  await page.getByRole("link", { name: "Console" }).click();
  await page.waitForURL(`${base}/console`);
  await heading(page, "Sign in");
  await checked(page, "sign-in");
  await signIn(page, "");
  await message(page, "Enter a token.");
  await signIn(page, "wrong");
  await message(page, "This token is not valid. Check that you pasted all of it, or ask your operator for a new one.");
  await signIn(page, expired);
  await message(page, "This token has expired.");
  await checked(page, "a refused sign-in");
  await signIn(page, token);
  await heading(page, "Overview");
  await page.locator("#account").getByText("bea · Company 1").waitFor();
  const stored = await page.evaluate("[JSON.stringify(localStorage), document.cookie, sessionStorage.length]");
  assert.deepEqual(stored, ["{}", "", 2]);
}

/** Navigates by keyboard alone. A view change moves the focus to the new heading. */
async function keyboard(page) {
  await page.reload();
  await heading(page, "Overview");
  const focused = () => page.evaluate("document.activeElement.textContent");
  await becomes(focused, "Overview");
  await page.evaluate("document.body.focus(); document.activeElement.blur(); window.getSelection().removeAllRanges()");
  await page.locator("#skip").focus();
  for (const name of ["Overview", "Affiliates", "URLs"]) {
    await page.keyboard.press("Tab");
    await becomes(focused, name);
  }
  await page.keyboard.press("Enter");
  await heading(page, "URLs");
  await page.getByRole("heading", { name: /URLs 1–20 of/ }).waitFor();
  await becomes(focused, "URLs");
  await section(page, "Affiliates");
}

module.exports = { headers, signingIn, keyboard };
