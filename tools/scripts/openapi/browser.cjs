// Runs page checks in a headless Chromium. Errors on the console and requests to other origins count as problems.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { isDeepStrictEqual } = require("node:util");
const { chromium } = require("playwright-core");

const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const TIMEOUT = 60_000;
const AXE = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

/**
 * Runs `check` with a page in a new browser and a list of problems: console errors that do not match `expected`, script errors, and requests to
 * origins outside `origins`.
 */
exports.withPage = async ({ origins, expected, ...options }, check) => {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), "chromium-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: "/usr/bin/chromium",
    headless: true,
    args: ARGUMENTS,
    ...options,
  });
  try {
    context.setDefaultTimeout(TIMEOUT);
    const page = await context.newPage();
    const problems = [];
    page.on("console", (message) => {
      if (message.type() === "error" && !expected.test(message.text())) problems.push(message.text());
    });
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("request", (request) => {
      const { protocol, origin } = new URL(request.url());
      if (protocol !== "data:" && !origins.includes(origin)) problems.push(`request to a different origin: ${request.url()}`);
    });
    await check(page, problems, context);
  } finally {
    await context.close();
    fs.rmSync(profile, { recursive: true, force: true });
  }
};

/** Reads until the value is as expected, because the page may not show the last action's result yet. */
exports.becomes = async (read, expected, what) => {
  for (const end = Date.now() + TIMEOUT; Date.now() < end; await new Promise((wake) => setTimeout(wake, 50))) {
    if (isDeepStrictEqual(await read(), expected)) return;
  }
  assert.deepEqual(await read(), expected, what);
};

/** Sets another token and presses a button in one step. Otherwise, one of the page's own requests could open the sign-in over the button. */
exports.pressWith = (page, name, token) => page.getByRole("button", { name, exact: true }).evaluate((button, text) => {
  sessionStorage.setItem("compliance-token", text);
  button.click();
}, token);

/**
 * Returns the color schemes in which axe checks a layout. Each layout and each scheme is checked once. If `ALL_SCHEMES` is set, as in the
 * nightly run, each layout is checked in both schemes.
 */
exports.schemes = (isWide) => (process.env.ALL_SCHEMES ? ["light", "dark"] : [isWide ? "light" : "dark"]);

/** Returns the axe rules that the page violates, with the elements. */
exports.violations = async (page) => {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(AXE);
  const { violations } = await page.evaluate("axe.run(document, { resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } })");
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(" ")}`);
};

/** Saves a screenshot of the page if `PICTURES` is set. */
exports.picture = async (page, name) => {
  const { PICTURES: pictures } = process.env;
  if (pictures) await page.screenshot({ path: path.join(pictures, name) });
};
