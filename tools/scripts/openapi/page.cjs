// Visits the pages at /docs in a headless Chromium, at two widths in both color schemes, signs in with a token and sends requests. Every page must
// pass axe and its content security policy, load nothing from other origins, and contain only working links.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const { becomes, picture, schemes, violations, withPage } = require("./browser.cjs");

const { BASE: base, TOKEN: token } = process.env;
/** The pages in the navigation. */
let PAGES = [];
const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 390, height: 844 };
/** The service's address in the page sources. */
const DOCUMENTED = "http://127.0.0.1:8080";
/** Maximum height of an operation with closed sections: three screens. */
const HIGHEST = 3 * WIDE.height;

const described = JSON.parse(fs.readFileSync("docs/openapi.json", "utf8"));
const operations = Object.entries(described.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { operationId }]) => ({ path, method, id: operationId })));

/** The browser reports expected rejections as failed loads. */
const EXPECTED = /status of (401|422)/;

async function open(page, path) {
  await page.goto(`${base}/docs${path}`);
  await page.locator("html[data-ready]").waitFor();
}

/** Checks that the page has no axe violations in its layout's color schemes. */
async function checkAccess(page, what) {
  for (const colorScheme of schemes(page.viewportSize().width === WIDE.width)) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await violations(page), [], `${what}, ${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: "light" });
}

/** Checks every page at both widths: axe violations, page width, operation heights. */
async function checkPages(page) {
  for (const viewport of [WIDE, NARROW]) {
    await page.setViewportSize(viewport);
    for (const path of PAGES) {
      await open(page, path);
      // The service replaces the documented address with its own.
      const text = await page.locator("main").textContent();
      assert.ok(base === DOCUMENTED || !text.includes(DOCUMENTED), `${path} names ${DOCUMENTED}`);
      assert.ok(text.includes(base) || !["", "/clients"].includes(path), `${path} does not name ${base}`);
      const width = await page.evaluate("document.documentElement.scrollWidth");
      assert.ok(width <= viewport.width, `${path} is ${width} pixels wide in a window of ${viewport.width}`);
      if (path === "/reference") await checkReference(page);
      await checkAccess(page, `${path || "/"} at ${viewport.width}`);
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        await picture(page, `docs${path.replace("/", "-")}-${viewport.width}-${colorScheme}.png`);
      }
    }
  }
  // Checks the reference with all sections open.
  await open(page, "/reference");
  await page.evaluate("for (const box of document.querySelectorAll('main details')) box.open = true");
  await checkAccess(page, "everything open");
  await page.locator("#menu").click();
  assert.ok(await page.locator("#side").isVisible());
  await page.locator("#token summary").click();
  await checkAccess(page, "menu and token open");
  await page.setViewportSize(WIDE);
}

async function checkReference(page) {
  const heights = await page.evaluate(
    "Object.fromEntries([...document.querySelectorAll('.operation')].map((one) => [one.id, one.offsetHeight]))",
  );
  assert.deepEqual(Object.keys(heights).sort(), operations.map(({ id }) => id).sort());
  for (const [id, height] of Object.entries(heights)) assert.ok(height < HIGHEST, `${id} is ${height} pixels high`);
}

/** Checks that every link on every page works. */
async function checkLinks(page) {
  const [links, anchors] = [new Set(), new Set()];
  for (const path of PAGES) {
    await open(page, path);
    const { hrefs, ids } = await page.evaluate(`({
      hrefs: [...document.links].map((link) => link.href),
      ids: [...document.querySelectorAll("[id]")].map((element) => element.id),
    })`);
    for (const href of hrefs) links.add(href);
    for (const id of ids) anchors.add(`${base}/docs${path}#${id}`);
    assert.equal(new Set(ids).size, ids.length, `${path} contains a duplicate element ID`);
  }
  const files = new Set();
  for (const link of links) {
    const url = new URL(link);
    if (url.origin !== base) continue;
    if (url.hash) assert.ok(anchors.has(decodeURI(link)), `${link} points to a missing heading`);
    files.add(url.origin + url.pathname);
  }
  for (const file of files) {
    const { status } = await fetch(file);
    assert.equal(status, 200, file);
  }
  return links.size;
}

/** Checks that the search finds sections on other pages, and opens them. */
async function checkSearch(page) {
  await open(page, "/guide");
  await page.locator("#search").fill("overwriting others");
  const found = page.locator("#found a").first();
  await becomes(() => found.innerText(), "Repeating safely: Avoid overwriting others: If-Match");
  await checkAccess(page, "a search");
  await found.click();
  await page.waitForURL(`${base}/docs/repeating-safely#avoid-overwriting-others-if-match`);
  await page.locator("html[data-ready]").waitFor();
  await page.locator("#search").fill("zzqx vvkj");
  await becomes(() => page.locator("#found-count").innerText(), "0 found");
}

/** Opens an operation by its address, and returns its form. */
async function form(page, id) {
  await page.goto(`${base}/docs/reference#${id}`);
  await page.locator("html[data-ready]").waitFor();
  const box = page.locator(`#${id} details.try`);
  if (!(await box.evaluate((element) => element.open))) await box.locator("summary").first().click();
  // The form may read an existing ID.
  await page.waitForLoadState("networkidle");
  return box;
}

/** Sends an operation's request, and checks that the page shows the response. Returns its status and body. */
async function send(page, box) {
  // The form may still read an existing ID, so only this operation's response counts.
  const { method, path } = await box.evaluate((element) => ({ ...element.dataset }));
  const route = new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}$`);
  // Chromium can drop a body before this check reads it, so a route reads the body on its way to the page.
  const answers = [];
  const matches = (url) => route.test(url.pathname);
  await page.route(matches, async (handled) => {
    if (handled.request().method() !== method.toUpperCase()) return handled.fallback();
    const response = await handled.fetch();
    answers.push({ status: String(response.status()), body: await response.json() });
    return handled.fulfill({ response });
  });
  await box.getByRole("button", { name: "Send" }).click();
  await becomes(async () => answers.length, 1);
  await page.unroute(matches);
  const [answer] = answers;
  await becomes(async () => {
    const shown = box.locator(".result");
    if ((await shown.locator(".response-body").count()) === 0) return [];
    return [await shown.locator(".outcome .status").innerText(), JSON.parse(await shown.locator(".response-body").innerText())];
  }, [answer.status, answer.body]);
  return answer;
}

async function checkForms(page) {
  // Without a token, the page asks for one.
  let box = await form(page, "listUrls");
  let answer = await send(page, box);
  assert.deepEqual([answer.status, answer.body.code], ["401", "401"]);
  await page.locator("#token-text").waitFor();
  await page.locator("#token-text").fill(token);
  await page.getByRole("button", { name: "Use" }).click();
  await becomes(() => page.locator("#token-state").innerText().then((text) => text.startsWith("Company 1, until ")), true);
  await page.keyboard.press("Escape");

  // Sets a parameter by keyboard alone.
  await box.getByLabel("per_page").focus();
  await page.keyboard.type("2");
  const sent = page.waitForResponse((response) => response.url().includes("per_page=2"));
  await page.keyboard.press("Enter");
  assert.equal((await sent).status(), 200);
  await becomes(() => box.locator(".outcome .status").innerText(), "200");
  await box.getByText("Command").click();
  const command = await box.locator(".result details[open] code").innerText();
  assert.ok(command.includes("per_page=2") && command.includes("$TOKEN") && !command.includes(token), command);
  await checkAccess(page, "a response");

  // The token survives a reload and works in the console, but not in other tabs.
  await page.reload();
  box = await form(page, "getCase");
  // The form suggests an existing ID from the token's company.
  await page.route("**/api/cases?*", (route) => route.fulfill({ json: { data: [{ case_id: 3 }] } }));
  await page.reload();
  box = await form(page, "getCase");
  await becomes(() => box.locator('[data-in="path"]').inputValue(), "3");
  await page.unroute("**/api/cases?*");
  await page.reload();
  box = await form(page, "getCase");
  await becomes(() => box.locator('[data-in="path"]').inputValue(), "1");
  answer = await send(page, box);
  assert.deepEqual([answer.status, answer.body.code, answer.body.data.case_id], ["200", "1026", 1]);
  const other = await page.context().newPage();
  await open(other, "");
  assert.equal(await other.locator("#token summary").innerText(), "Set a token");
  await other.close();
  await page.goto(`${base}/console`);
  await page.getByRole("navigation", { name: "Sections" }).waitFor();

  // Sends an invalid body, and then a valid body.
  box = await form(page, "createAffiliates");
  const body = box.getByRole("textbox", { name: "Body" });
  await body.fill(JSON.stringify({ client_affiliate_id: "P-1", country: 5 }));
  answer = await send(page, box);
  assert.deepEqual([answer.status, Object.keys(answer.body.errors).sort()], ["422", ["affiliate_name", "country"]]);
  // The page shows markup in a response as text.
  const name = `<img src=x> ${Date.now()}`;
  await body.fill(JSON.stringify({ client_affiliate_id: "P-1", affiliate_name: name, country: "CH" }));
  answer = await send(page, box);
  assert.deepEqual([answer.status, answer.body.code, answer.body.detail.client_affiliate_id], ["201", "1020", "P-1"]);
  box = await form(page, "getAffiliate");
  await box.locator('[data-in="path"]').fill(String(answer.body.detail.affiliate_id));
  answer = await send(page, box);
  assert.equal(answer.body.data.distributor_name, name);
  assert.equal(await box.locator("img").count(), 0);
  await box.scrollIntoViewIfNeeded();
  await picture(page, "docs-try.png");

  // Filters the operations.
  await page.locator("#filter").fill("put affil");
  await becomes(() => page.locator(".contents li:visible").count(), 1);
  // A chosen language applies to all samples, even after a reload.
  await page.locator('#createAffiliates [role="tab"][data-name="TypeScript"]').click();
  await page.reload();
  await page.locator("html[data-ready]").waitFor();
  assert.ok(await page.locator('#listCases .sample[data-name="TypeScript"]').isVisible());
  // A link opens its schema.
  await page.goto(`${base}/docs/reference#schema-Affiliate`);
  await becomes(() => page.locator("#schema-Affiliate").evaluate((element) => element.open), true);

  // Signs out.
  await page.locator("#token summary").click();
  await page.getByRole("button", { name: "Forget" }).click();
  await becomes(() => page.locator("#token summary").innerText(), "Set a token");
}

async function check(page, problems) {
  // In a browser, `/` links to the pages.
  await page.goto(`${base}/`);
  await page.getByRole("link", { name: "Documentation" }).click();
  await page.waitForURL(`${base}/docs`);
  await page.getByRole("navigation").getByRole("link", { name: "Console", exact: true }).waitFor();
  await page.locator("html[data-ready]").waitFor();
  const hrefs = await page.evaluate("[...document.querySelectorAll('.pages > li > a')].map((link) => link.href)");
  PAGES = hrefs.map((href) => href.replace(`${base}/docs`, "")).filter((path) => /^(\/[\w-]+)?$/.test(path));
  assert.ok(PAGES.length > 20, `the navigation contains ${PAGES.length} pages`);

  await checkPages(page);
  const links = await checkLinks(page);
  await checkSearch(page);
  await checkForms(page);
  // Takes a screenshot of an operation as a new user sees it.
  await page.evaluate("sessionStorage.clear()");
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.emulateMedia({ reducedMotion: "reduce" });
  await open(page, "");
  await page.goto(`${base}/docs/reference#createAffiliates`);
  await page.locator("html[data-ready]").waitFor();
  await picture(page, "docs.png");
  assert.deepEqual(problems, []);
  console.log(`checked ${PAGES.length} pages with ${operations.length} operations and ${links} links; signed in, and sent requests from the forms`);
}

withPage({ origins: [base], expected: EXPECTED, viewport: WIDE }, check).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
