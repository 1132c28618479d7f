// Messages for refused requests, and lists that are large or break off.
"use strict";

const assert = require("node:assert/strict");
const { becomes } = require("../browser.cjs");
const { base, token, large, limited, limitedToken, coreless, api, checked, column, heading, message, onRecord, rows, section, signIn } = require("./common.cjs");

/** What the page says when the service cannot be reached, limits, or is unavailable. */
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
  // The header shows nothing of the session.
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
  assert.fail("the limit was not reached");
}

/** Lists that do not fit on a page. */
async function largeLists(page) {
  await page.goto(`${base}/console`);
  await heading(page, "Sign in");
  await signIn(page, large);
  // Of a long list, the first affiliates are read.
  const results = page.getByRole("region", { name: "Results" });
  await section(page, "Affiliates");
  await heading(page, "The first 200 affiliates", 2);
  await becomes(() => rows(page).count(), 50);
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  await page.getByText("50 affiliates selected").waitFor();
  assert.equal(await page.getByRole("button", { name: /^Select all/ }).count(), 0);
  await page.getByRole("button", { name: "Select none" }).click();
  await checked(page, "the first affiliates of a long list");
  // Kept on the way back, without reading them again.
  await results.locator("tbody a").first().click();
  await onRecord(page, /^Affiliate \d+/);
  await section(page, "Affiliates");
  await heading(page, "The first 200 affiliates", 2);
  // A search, a sort key, the next page and the button read all of them.
  const [name] = await column(page, 3);
  await page.getByLabel("Search", { exact: true }).fill(name);
  await heading(page, /^\d+ of 1,200 affiliates$/, 2);
  for (const read of [
    () => page.getByRole("columnheader", { name: "Name" }).getByRole("link").click(),
    () => results.getByRole("link", { name: "Next" }).click(),
    () => page.getByRole("button", { name: "Load all" }).click(),
  ]) {
    await page.goto(`${base}/console#/affiliates`);
    await page.reload();
    await heading(page, "The first 200 affiliates", 2);
    await read();
    await heading(page, "1,200 affiliates", 2);
  }
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  await page.getByRole("button", { name: "Select all 1,200 that match" }).click();
  await page.getByText("1,200 affiliates selected").waitFor();
  await page.getByRole("button", { name: "Select none" }).click();
  await page.getByRole("link", { name: "Last" }).click();
  await becomes(() => page.getByRole("spinbutton", { name: "Page" }).inputValue(), "24");
  await becomes(() => rows(page).count(), 50);
  await section(page, "Charts");
  await page.getByText("Based on all 450 cases.").and(page.locator("p")).waitFor();
}

/** A list that takes long shows its first page, and is searched while the rest is read. The focus stays where it is. */
async function firstPage(page) {
  // The end of the list loads on request.
  await page.evaluate(() => {
    const send = window.fetch;
    window.fetch = async (url, options) => {
      const response = await send(url, options);
      if (!String(url).endsWith("/api/affiliates")) return response;
      const text = await response.text();
      const middle = Math.floor(text.length / 2);
      const body = new ReadableStream({
        start(controller) {
          const put = (piece) => controller.enqueue(new TextEncoder().encode(piece));
          put(text.slice(0, middle));
          window.readRest = () => {
            put(text.slice(middle));
            controller.close();
          };
        },
      });
      return new Response(body, { headers: response.headers });
    };
  });
  await section(page, "Affiliates");
  await heading(page, "1,200 affiliates", 2);
  await page.getByRole("button", { name: "Reload" }).click();
  await heading(page, /^50 affiliates so far$/, 2);
  await page.getByText("Loading the rest").waitFor();
  await becomes(() => rows(page).count(), 50);
  assert.equal(await page.locator("[aria-busy]").count(), 0);
  const [name] = await column(page, 3);
  const search = page.getByLabel("Search", { exact: true });
  await search.fill(name);
  await heading(page, /^\d+ of \d+ affiliates so far$/, 2);
  await page.locator("#announcements", { hasText: "The list is still loading." }).waitFor({ state: "attached" });
  await search.fill("");
  await heading(page, /^\d+ affiliates so far$/, 2);
  await checked(page, "a list that is being read");
  const box = page.getByRole("checkbox", { name: `Select ${name}` });
  await box.check();
  await page.evaluate(() => window.readRest());
  await heading(page, "1,200 affiliates", 2);
  await becomes(() => page.getByText("Loading the rest").count(), 0);
  await becomes(() => page.evaluate("document.activeElement.ariaLabel"), `Select ${name}`);
  assert.ok(await box.isChecked());
  await box.uncheck();
  await page.reload();
  await section(page, "Affiliates");
}

/** A list that breaks off is noticed. */
async function broken(page) {
  await section(page, "Overview");
  await heading(page, "Overview");
  await page.route("**/api/affiliates", (route) => route.fulfill({ contentType: "application/x-ndjson", body: '{"id":1,"distributor_name":"a\\nb"}\n{"id":2,"dis' }));
  await section(page, "Affiliates");
  await page.getByRole("button", { name: "Reload" }).click();
  await message(page, "The connection broke before the response was complete.");
  await page.getByText("The list is incomplete: loading stopped after 1 affiliate.").waitFor();
  await page.unroute("**/api/affiliates");
  await page.getByRole("button", { name: "Try again" }).click();
  await heading(page, /affiliates$/, 2);
}

module.exports = { rejections, limit, largeLists, firstPage, broken };
