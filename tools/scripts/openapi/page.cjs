// Drives the page at /docs in a headless Chromium: signs in with a token, reads a list, sees a refusal. Nothing may be
// loaded from elsewhere, and nothing may violate the page's policy.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const { becomes, picture, withPage } = require("./browser.cjs");

const { BASE: base, TOKEN: token } = process.env;

/** The block of an operation, opened. */
async function operation(page, id) {
  const block = page.locator(`.opblock[id$="-${id}"]`);
  await block.waitFor();
  if (!(await block.getAttribute("class")).includes("is-open")) {
    await block.locator(".opblock-summary-control").click();
  }
  return block;
}

/** Sends an operation's request; returns the status and the body of the response, which the page must show. */
async function execute(page, id) {
  const block = await operation(page, id);
  const [response] = await Promise.all([
    page.waitForResponse((response) => new URL(response.url()).pathname.startsWith("/api/")),
    block.locator(".execute").click(),
  ]);
  const answer = { status: String(response.status()), body: await response.json() };
  const live = block.locator(".live-responses-table .response").first();
  // The response to the last request of the same operation may still be there.
  await becomes(async () => (await live.locator(".response-col_status").innerText()).trim().slice(0, 3), answer.status);
  const body = live.locator(".response-col_description .highlight-code code, .response-col_description pre").first();
  await becomes(async () => JSON.parse(await body.innerText()), answer.body);
  return answer;
}

/** Refusals that are asked for are reported as failed loads. */
const EXPECTED = /status of (401|422)/;

async function check(page, problems) {
  // A browser that comes to `/` finds its way to the page.
  await page.goto(`${base}/`);
  await page.getByRole("link", { name: "Documentation" }).click();
  await page.waitForURL(`${base}/docs`);
  await page.locator(".opblock").first().waitFor();
  const documented = JSON.parse(fs.readFileSync("docs/openapi.json", "utf8"));
  const operations = Object.values(documented.paths).flatMap((path) => Object.keys(path)).length;
  assert.equal(await page.locator(".opblock").count(), operations);

  // Without a token.
  let answer = await execute(page, "listUrls");
  assert.deepEqual([answer.status, answer.body.code], ["401", "401"]);

  // Signed in.
  await page.locator(".auth-wrapper .authorize").first().click();
  await page.locator(".auth-container input").fill(token);
  await page.locator(".auth-btn-wrapper .authorize").click();
  await page.locator(".auth-btn-wrapper .btn-done").click();
  answer = await execute(page, "getCase");
  assert.deepEqual([answer.status, answer.body.code, answer.body.data.case_id], ["200", "1026", 1]);

  // A parameter, and its violation.
  const urls = await operation(page, "listUrls");
  const perPage = urls.locator('tr[data-param-name="per_page"] input[type="text"]');
  await perPage.fill("2");
  answer = await execute(page, "listUrls");
  assert.deepEqual([answer.status, answer.body.data.length], ["200", 2]);

  // A body from the example.
  const create = await operation(page, "createAffiliates");
  const name = `Page ${Date.now()}`;
  await create.locator("textarea.body-param__text").fill(
    JSON.stringify({ client_affiliate_id: "P-1", affiliate_name: name, country: "CH" }),
  );
  answer = await execute(page, "createAffiliates");
  assert.deepEqual([answer.status, answer.body.code, answer.body.detail.client_affiliate_id], ["201", "1020", "P-1"]);
  await create.scrollIntoViewIfNeeded();
  await picture(page, "docs-try.png");

  await page.goto(`${base}/docs`);
  await page.locator(".opblock").first().waitFor();
  await picture(page, "docs.png");
  assert.deepEqual(problems, []);
  console.log(`the page shows ${operations} operations; signed in, read, listed and created with it`);
}

withPage({ origins: [base], expected: EXPECTED, viewport: { width: 1200, height: 1000 } }, check).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
