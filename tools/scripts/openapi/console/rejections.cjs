// Checks messages for rejected requests, and large or truncated lists.
"use strict";

const assert = require("node:assert/strict");
const { becomes } = require("../browser.cjs");
const { base, token, large, limited, limitedToken, coreless, api, checked, heading, message, onRecord, rows, section, signIn } = require("./common.cjs");

/** Checks the messages when the service is unreachable or unavailable. */
async function rejections(page, context) {
  await page.goto(`${base}/console#/affiliates/2`);
  await onRecord(page, "Affiliate 2");
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await page.getByLabel("City", { exact: true }).fill("Offline");
  await context.setOffline(true);
  await page.getByRole("button", { name: "Save" }).click();
  await message(page, "The service cannot be reached.");
  await context.setOffline(false);
  await page.getByRole("button", { name: "Try again" }).click();
  await message(page, "Saved.");
  assert.equal((await api("GET", "affiliates/2")).data.city, "Offline");

  await page.getByRole("button", { name: "Sign out" }).click();
  await message(page, "You have signed out.");
  // The header no longer shows the account.
  await becomes(() => page.locator("header").innerText(), "Compliance console");
  await becomes(() => page.evaluate("sessionStorage.length"), 0);
  assert.ok(!page.url().includes(token));

  await page.goto(`${coreless}/console`);
  await signIn(page, token);
  await message(page, "The service is temporarily unavailable. Try again in");
  await page.getByText("Request ID:").waitFor();
}

async function limit(page) {
  await page.goto(`${limited}/console`);
  await signIn(page, limitedToken);
  await heading(page, "Overview");
  for (let number = 0; number < 8; number += 1) {
    await page.goto(`${limited}/console#/cases/${(number % 9) + 1}`);
    const limitedMessage = page.locator(".message").filter({ hasText: "has reached its request limit" });
    await page.locator(".kind").getByText(`Case ${(number % 9) + 1}`, { exact: true }).or(limitedMessage).first().waitFor();
    if (await limitedMessage.count() === 0) continue;
    await message(page, /Try again in \d+ seconds?\./);
    await checked(page, "the limit");
    return;
  }
  assert.fail("eight pages did not reach the rate limit");
}

/** Checks lists with several pages. */
async function largeLists(page) {
  await page.goto(`${base}/console`);
  await heading(page, "Sign in");
  await signIn(page, large);
  await section(page, "Affiliates");
  await heading(page, "Affiliates 1–20 of 1,200", 2);
  await becomes(() => rows(page).count(), 20);
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  await page.getByText("20 affiliates selected").waitFor();
  await checked(page, "a page of a long list");
  await page.getByRole("button", { name: "Select all 1,200 that match" }).click();
  await page.getByText("1,200 affiliates selected").waitFor();
  await page.getByRole("button", { name: "Select none" }).click();
  // The page does not select records that arrive after the list has changed.
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  let release;
  const held = new Promise((resolve) => {
    release = resolve;
  });
  await page.route("**/api/affiliates", (route) => held.then(() => route.fulfill({ contentType: "application/x-ndjson", body: '{"id":1,"distributor_name":"a"}\n' })));
  const late = page.waitForEvent("requestfinished", (request) => request.url().endsWith("/api/affiliates"));
  await page.getByRole("button", { name: "Select all 1,200 that match" }).click();
  await page.getByRole("link", { name: "Last" }).click();
  await becomes(() => page.getByRole("spinbutton", { name: "Page" }).inputValue(), "60");
  await becomes(() => rows(page).count(), 20);
  release();
  await late;
  // The page reads the response in its next task.
  await page.evaluate("new Promise((resolve) => setTimeout(resolve))");
  assert.equal(await page.getByRole("button", { name: "Select none" }).isVisible(), false);
  await page.unroute("**/api/affiliates");
  await section(page, "Charts");
  await page.getByText("Based on all 450 cases.").and(page.locator("p")).waitFor();
}

/** Checks that the page reports a truncated list. */
async function broken(page) {
  await section(page, "Overview");
  await heading(page, "Overview");
  await section(page, "Affiliates");
  await heading(page, "Affiliates 1–20 of 1,200", 2);
  await page.route("**/api/affiliates", (route) => route.fulfill({ contentType: "application/x-ndjson", body: '{"id":1,"distributor_name":"a\\nb"}\n{"id":2,"dis' }));
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  await page.getByRole("button", { name: "Select all 1,200 that match" }).click();
  await message(page, "The connection was lost before the response was complete.");
  await page.getByText("20 affiliates selected").waitFor();
  await page.unroute("**/api/affiliates");
}

module.exports = { rejections, limit, largeLists, broken };
