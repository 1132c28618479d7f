// Helpers for all console walkthroughs: API requests and page expectations.
"use strict";

const assert = require("node:assert/strict");
const { becomes, picture, schemes, violations } = require("../browser.cjs");

// `COLLEAGUE` is a token for another officer, and `OTHER` for company 3. `LARGE` is a token for a company with 1,200 affiliates, 300 URLs and 450 cases. `LIMITED` is a service that accepts six requests
// per minute, and `CORELESS` is a gateway without a core.
const { BASE: base, TOKEN: token, EXPIRED: expired, COLLEAGUE: colleague, OTHER: other, LARGE: large, LIMITED: limited, LIMITED_TOKEN: limitedToken, CORELESS: coreless, PICTURES: pictures } = process.env;
const WIDE = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };
const NARROWEST = 320;

/** Sends a request to the API directly, for example to prepare records. */
async function api(method, path, body, bearer = token) {
  const response = await fetch(`${base}/api/${path}`, {
    method,
    headers: { Authorization: `Bearer ${bearer}`, "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
  });
  assert.ok(response.ok, `${method} ${path}: ${response.status}`);
  return response.json();
}

/** Returns the number of affiliates. */
async function total() {
  return (await api("GET", "affiliates")).data.length;
}

/** Waits until every part of the page is loaded. */
async function loaded(page) {
  await becomes(() => page.locator("[aria-busy=true]").count(), 0, "loading parts");
}

/** Checks that a view has no axe violations and fits every width. Saves screenshots if `PICTURES` is set. */
async function checked(page, view) {
  // Parts of the page are pale while they load.
  await loaded(page);
  for (const size of [WIDE, PHONE, { ...PHONE, width: NARROWEST }]) {
    await page.setViewportSize(size);
    assert.ok(await page.evaluate("document.documentElement.scrollWidth") <= size.width, `${view} is too wide at ${size.width} px`);
    if (size.width === NARROWEST) continue;
    for (const colorScheme of schemes(size === WIDE)) {
      await page.emulateMedia({ colorScheme });
      if (pictures) await page.evaluate("window.scrollTo(0, 0)");
      await picture(page, `view-${view.replaceAll(/[^a-z0-9]+/gi, "-").toLowerCase()}-${colorScheme}-${size.width}.png`);
      assert.deepEqual(await violations(page), [], `${view}, ${colorScheme}, ${size.width} px`);
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize(WIDE);
}

/** Runs `action`, and changes response records before the page receives them. */
async function changing(page, pattern, change, action) {
  await page.route(pattern, async (route) => {
    const response = await route.fetch();
    const body = await response.json();
    change(body.data);
    await route.fulfill({ response, json: body });
  });
  await action();
  await page.unroute(pattern);
}

const heading = (page, name, level = 1) => page.getByRole("heading", { name, level, exact: typeof name === "string" }).waitFor();
/** Waits for a record's page, by its kind and ID, such as `Case 4`. */
const onRecord = (page, name) => page.locator(".kind").getByText(name, { exact: typeof name === "string" }).waitFor();
const message = (page, text) => page.locator(".message, .field-error").filter({ hasText: text }).first().waitFor();
const rows = (page) => page.locator("tbody tr");
const column = (page, number) => page.locator(`tbody tr > :nth-child(${number})`).allInnerTexts();
/** Returns the texts in a column of a named table. */
const columnOf = (page, name, number) => page.getByRole("region", { name, exact: true }).locator(`tbody tr > :nth-child(${number})`).allInnerTexts();

async function signIn(page, text) {
  await page.getByLabel("Token").fill(text);
  await page.getByRole("button", { name: "Sign in" }).click();
}

async function section(page, name) {
  await page.getByRole("navigation", { name: "Sections" }).getByRole("link", { name, exact: true }).click();
}

/** Opens all filters of a list. */
async function filters(page) {
  const opener = page.locator("[aria-controls=more]");
  if (await opener.getAttribute("aria-expanded") === "false") await opener.click();
  await page.getByRole("form", { name: "Filters" }).waitFor();
}

module.exports = {
  base, token, expired, colleague, other, large, limited, limitedToken, coreless, WIDE, PHONE,
  api, total, loaded, checked, changing, heading, message, onRecord, rows, column, columnOf, signIn, section, filters,
};
