// Drives the console in a headless Chromium: every view, the refusals it has to explain, and records that hold markup. Each view
// must pass axe in both colour schemes and fit into 320 pixels. Nothing may be loaded from elsewhere.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const { becomes, picture, withPage } = require("./browser.cjs");

// `LARGE` is a token of a company with 1,200 affiliates, 300 URLs and 450 cases; `LIMITED` is a service that takes six requests
// a minute, and `CORELESS` a gateway whose core does not run.
const { BASE: base, TOKEN: token, EXPIRED: expired, LARGE: large, LIMITED: limited, LIMITED_TOKEN: limitedToken, CORELESS: coreless } = process.env;
const AXE = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const MARKUP = `<img src=x onerror="alert(1)">`;
// Refusals that are asked for are reported as failed loads.
const EXPECTED = /status of (401|404|409|422|429|503)|ERR_INTERNET_DISCONNECTED/;
const WIDE = { width: 1200, height: 900 };

/** Sends a request of its own to the API, to prepare records. */
async function api(method, path, body) {
  const response = await fetch(`${base}/api/${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
  });
  assert.ok(response.ok, `${method} ${path}: ${response.status}`);
  return response.json();
}

/** How many affiliates there are. */
async function total() {
  return (await api("GET", "affiliates")).data.length;
}

async function checked(page, view) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    for (const width of [WIDE.width, 320]) {
      await page.setViewportSize({ ...WIDE, width });
      const where = `${view}, ${colorScheme}, ${width} px`;
      assert.ok(await page.evaluate("document.documentElement.scrollWidth") <= width, `${where} is too wide`);
      await page.evaluate(AXE);
      const { violations } = await page.evaluate("axe.run(document, { resultTypes: ['violations'] })");
      const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
      assert.deepEqual(found, [], where);
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize(WIDE);
}

const heading = (page, name, level = 1) => page.getByRole("heading", { name, level, exact: typeof name === "string" }).waitFor();
const message = (page, text) => page.locator(".message, .field-error").filter({ hasText: text }).first().waitFor();
const rows = (page) => page.locator("tbody tr");
const column = (page, number) => page.locator(`tbody tr > :nth-child(${number})`).allInnerTexts();

async function signIn(page, text) {
  await page.getByLabel("Token").fill(text);
  await page.getByRole("button", { name: "Sign in" }).click();
}

async function section(page, name) {
  await page.getByRole("navigation", { name: "Sections" }).getByRole("link", { name }).click();
}

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
  await message(page, "The service did not accept the token.");
  await signIn(page, expired);
  await message(page, "The bearer token has expired.");
  await checked(page, "a refused sign-in");
  await signIn(page, token);
  await heading(page, "Affiliates");
  const stored = await page.evaluate("[JSON.stringify(localStorage), document.cookie, sessionStorage.length]");
  assert.deepEqual(stored, ["{}", "", 1]);
}

/** By keyboard alone: skip link, sections, account, and the heading has the focus after a change of the view. */
async function keyboard(page) {
  await page.reload();
  await heading(page, `${await total()} affiliates`, 2);
  const focused = () => page.evaluate("document.activeElement.textContent");
  await becomes(focused, "Affiliates");
  await page.evaluate("document.body.focus(); document.activeElement.blur(); window.getSelection().removeAllRanges()");
  await page.locator("#skip").focus();
  for (const name of ["Affiliates", "URLs"]) {
    await page.keyboard.press("Tab");
    await becomes(focused, name);
  }
  await page.keyboard.press("Enter");
  await heading(page, "URLs");
  await page.getByRole("heading", { name: /URLs 1–20 of/ }).waitFor();
  await becomes(focused, "URLs");
  await section(page, "Affiliates");
}

async function affiliates(page) {
  const all = await total();
  await heading(page, `${all} affiliates`, 2);
  await checked(page, "affiliates");
  await picture(page, "console-affiliates.png");
  const [name] = await column(page, 3);
  for (const text of [name.toUpperCase(), "linnea EKDAHL"]) {
    await page.getByLabel("Search").fill(text);
    await heading(page, `1 of ${all} affiliates`, 2);
  }
  await page.getByLabel("Search").fill("");
  await heading(page, `${all} affiliates`, 2);
  await page.getByLabel("Status").selectOption("active");
  await heading(page, new RegExp(`of ${all} affiliates`), 2);
  await becomes(async () => [...new Set(await column(page, 6))], ["active"]);
  await page.getByLabel("Status").selectOption("");
  const header = page.getByRole("columnheader", { name: "Name" });
  await header.getByRole("link").click();
  await becomes(() => header.getAttribute("aria-sort"), "ascending");
  const { compare } = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const names = (await api("GET", "affiliates")).data.map((record) => record.distributor_name).sort(compare);
  await becomes(() => column(page, 3), names.slice(0, 50));

  // One is opened, edited and saved; only what was changed is sent.
  const before = (await api("GET", "affiliates/1")).data;
  await page.goto(`${base}/console#/affiliates/1`);
  await heading(page, "Affiliate 1");
  await becomes(() => page.getByLabel("Affiliate name").inputValue(), before.distributor_name);
  await page.getByRole("button", { name: "Save" }).click();
  await message(page, "Nothing has changed.");
  await page.getByLabel("City", { exact: true }).fill("Neuchâtel");
  await page.getByLabel("Country").fill("CH");
  await page.getByLabel("Start date").fill("2026-02-03");
  await page.getByLabel("Notes").fill("");
  const sent = page.waitForRequest((request) => request.method() === "PUT");
  await page.getByRole("button", { name: "Save" }).click();
  await message(page, "Saved.");
  const put = JSON.parse((await sent).postData());
  assert.deepEqual({ city: "Neuchâtel", country: "CH", ...put }, { id: 1, city: "Neuchâtel", country: "CH", start_date: "2026-02-03", ...(before.notes && { notes: null }) });
  const { data: after } = await api("GET", "affiliates/1");
  assert.deepEqual(after, { ...before, city: "Neuchâtel", country: 756, start_date: "2026-02-03", notes: null });
  await becomes(() => page.getByLabel("Country").inputValue(), "CH");

  // A refused edit: each violation at its field; what was typed stays.
  await page.getByLabel("E-mail 1").fill("no address");
  await page.getByLabel("Replicated website").fill("ftp://example.org");
  await page.getByLabel("Affiliate name").fill(names.find((other) => other !== before.distributor_name));
  await page.getByRole("button", { name: "Save" }).click();
  await message(page, "Nothing was saved. Some values are not valid.");
  const error = async (label) => page.locator(`#${await page.getByLabel(label).getAttribute("id")}-error`).innerText();
  assert.match(await error("E-mail 1"), /must be a valid email address/);
  assert.match(await error("Replicated website"), /must be a valid URL/);
  assert.equal(await page.getByLabel("E-mail 1").getAttribute("aria-invalid"), "true");
  await page.getByRole("link", { name: /valid email/ }).click();
  await becomes(() => page.evaluate("document.activeElement.id"), "field-email_one");
  await checked(page, "a refused edit");
  await page.getByLabel("E-mail 1").fill("");
  await page.getByLabel("Replicated website").fill("");
  await page.getByRole("button", { name: "Save" }).click();
  await message(page, "has already been taken");
  assert.match(await error("Affiliate name"), /has already been taken/);

  // Leaving with changes asks.
  page.once("dialog", (dialog) => dialog.dismiss());
  await section(page, "Cases");
  await page.waitForURL(/#\/affiliates\/1$/);
  assert.notEqual(await page.getByLabel("Affiliate name").inputValue(), before.distributor_name);
  page.once("dialog", (dialog) => dialog.accept());
  await section(page, "Affiliates");
  await heading(page, `${all} affiliates`, 2);
}

async function creating(page) {
  await page.getByRole("link", { name: "New affiliate" }).click();
  await heading(page, "New affiliate");
  await checked(page, "a new affiliate");
  await page.getByRole("button", { name: "Save" }).click();
  await message(page, "The affiliate name field is required.");
  const [{ distributor_name: taken }] = (await api("GET", "affiliates")).data;
  await page.getByLabel("Affiliate name").fill(taken);
  await page.getByLabel("Your affiliate ID").fill("NEW-1");
  await page.getByRole("button", { name: "Save" }).click();
  await message(page, "Nothing was saved. An affiliate with this name already exists.");
  await page.getByLabel("Affiliate name").fill("Console One");
  await page.getByRole("button", { name: "Save" }).click();
  await message(page, "The affiliate was created.");
  await section(page, "Affiliates");
  await heading(page, `${await total()} affiliates`, 2);

  // Several: some are created, some are not.
  await page.getByRole("link", { name: "Add several" }).click();
  await heading(page, "Add several affiliates");
  await page.getByLabel("Affiliates").fill("NEW-2;Console Two;DE\n\nNEW-1\tConsole One\nNEW-3;Console Three;ZZ");
  await page.getByRole("button", { name: "Add" }).click();
  await message(page, "1 affiliate was created, 2 not.");
  await becomes(() => column(page, 1), ["Line 1", "Line 3", "Line 4"]);
  await becomes(async () => (await column(page, 3)).map((text) => text.slice(0, 11)), ["created", "not created", "not created"]);
  await checked(page, "several affiliates");
  await page.getByLabel("Affiliates").fill(`NEW-4;Console Four\n;${"x".repeat(200)}`);
  await page.getByRole("button", { name: "Add" }).click();
  await message(page, /Line 2: The affiliates.1.client_affiliate_id field is required/);
  await page.getByLabel("Affiliates").fill("NEW-4;Console Four");
  await page.getByRole("button", { name: "Add" }).click();
  await message(page, "All 1 affiliate was created.");
}

async function lists(page) {
  await section(page, "URLs");
  await heading(page, "URLs 1–20 of 30", 2);
  await checked(page, "URLs");
  const documented = JSON.parse(fs.readFileSync("docs/openapi.json", "utf8"));
  for (const path of ["/api/urls", "/api/cases"]) {
    const names = documented.paths[path].get.parameters.filter((parameter) => parameter.in === "query" && parameter.name !== "page");
    await page.goto(`${base}/console#${path.slice(4)}`);
    await heading(page, /^(URLs|Cases) 1–/, 2);
    for (const { name } of names) await becomes(() => page.locator(`form #field-${name}`).count(), 1, `${path} ${name}`);
  }
  await section(page, "URLs");
  await heading(page, "URLs 1–20 of 30", 2);
  const pages = page.getByRole("navigation", { name: "Pages" });
  await pages.getByRole("link", { name: "Next" }).click();
  await heading(page, "URLs 21–30 of 30", 2);
  await becomes(() => rows(page).count(), 10);
  await becomes(() => page.evaluate("document.activeElement.textContent.slice(0, 7)"), "URLs 21");
  await page.goBack();
  await heading(page, "URLs 1–20 of 30", 2);

  const same = async (path) => {
    const expected = (await api("GET", path)).data.map((record) => String(record.id ?? record.case_id));
    // The results before may still be there.
    await page.waitForFunction((ids) => {
      const cells = Array.from(document.querySelectorAll("tbody tr > :first-child"), (cell) => cell.textContent);
      return JSON.stringify(cells) === ids;
    }, JSON.stringify(expected)).catch(async () => assert.deepEqual(await column(page, 1), expected, path));
  };
  await page.getByLabel("Disabled").selectOption("no");
  await page.getByLabel("Incident status", { exact: true }).selectOption({ label: "In Violation" });
  await page.getByLabel("Sort by").selectOption("last_seen");
  await page.getByLabel("Sort direction").selectOption("asc");
  await page.getByLabel("Records a page").selectOption("10");
  await page.getByLabel("Discovery after").fill("2020-01-01");
  await page.getByLabel("Discovery before").fill("2030-01-01");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.waitForURL(/sort_by=last_seen/);
  await heading(page, /^URLs 1–/, 2);
  await same("urls?disabled=no&incident_status_id=3&sort_by=last_seen&sort_dir=asc&per_page=10&discovery_after=2020-01-01&discovery_before=2030-01-01");
  await becomes(async () => [...new Set(await column(page, 3))], ["In Violation"]);
  await page.getByRole("link", { name: "Clear all" }).click();
  await heading(page, "URLs 1–20 of 30", 2);
  await page.getByRole("columnheader", { name: "Discovery date" }).getByRole("link").click();
  await page.locator("th[aria-sort=descending]").filter({ hasText: "Discovery date" }).waitFor();
  await same("urls?sort_by=discovery_dt&sort_dir=desc&per_page=20");
  await page.getByLabel("Affiliate ID in this service").fill("1");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.waitForURL(/distributor_id=1/);
  await heading(page, /^(URLs 1–\d+ of \d$|No URLs)/, 2);
  await same("urls?distributor_id=1&sort_by=discovery_dt&per_page=20");
  await page.getByLabel("Affiliate ID in this service").fill("abc");
  await page.getByRole("button", { name: "Apply" }).click();
  await message(page, "Some values are not valid.");
  await becomes(async () => await page.locator("#field-distributor_id-error").innerText() !== "", true);
  await page.getByLabel("Affiliate ID in this service").fill("");
  await page.getByLabel("Incident status", { exact: true }).selectOption("other");
  await page.getByLabel("ID of another incident status").fill("1000");
  await page.getByRole("button", { name: "Apply" }).click();
  await heading(page, "No URLs match these filters", 2);
  await checked(page, "URLs without a match");
  await page.goto(`${base}/console#/urls?page=99`);
  await heading(page, "None of 30 URLs on this page", 2);
  await page.goto(`${base}/console#/urls/1`);
  await heading(page, "URL 1");
  await heading(page, "Infractions", 2);
  await checked(page, "a URL");

  await section(page, "Cases");
  await heading(page, "Cases 1–10 of 10", 2);
  await checked(page, "cases");
  await page.getByLabel("Case status", { exact: true }).selectOption({ label: "Open" });
  await page.getByLabel("Created after").fill("2020-01-01");
  await page.getByLabel("Sort by").selectOption("created_dt");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.waitForURL(/sort_by=created_dt/);
  await page.locator("th[aria-sort=descending]").filter({ hasText: "Created date" }).or(page.getByRole("heading", { name: /^No cases/ })).waitFor();
  await same("cases?case_status_id=2&created_after=2020-01-01&sort_by=created_dt&per_page=20");
}

async function cases(page) {
  const all = (await api("GET", "cases")).data;
  const chosen = all.find((record) => record.incidents.length > 1 && record.tags.length > 0) ?? all[0];
  await page.goto(`${base}/console#/cases`);
  await heading(page, "Cases 1–10 of 10", 2);
  await page.getByRole("rowheader").getByRole("link", { name: String(chosen.case_id), exact: true }).click();
  await heading(page, `Case ${chosen.case_id}`);
  await becomes(() => column(page, 1), chosen.incidents.map((incident) => String(incident.incident_id)));
  await becomes(() => page.locator("dt").count(), Object.keys(chosen).length - 1);
  await checked(page, "a case");
  await picture(page, "console-case.png");
  await page.goto(`${base}/console#/cases/999999`);
  await message(page, "Case not found.");
  assert.match(await page.locator(".message code").innerText(), /^console-[0-9a-f]{16}$/);
  await checked(page, "an unknown case");
  await page.goto(`${base}/console#/nonsense`);
  await heading(page, "Not found");
}

async function charts(page) {
  const all = (await api("GET", "cases?per_page=200")).data;
  const expected = (names) => Object.fromEntries(names.map((name) => [name ?? "none", String(names.filter((other) => other === name).length)]));
  const shown = async (title) => {
    const chart = page.getByRole("table", { name: title });
    const cells = async (selector) => chart.locator(selector).allInnerTexts();
    const [names, numbers] = [await cells("tbody th"), await cells("tbody td.number")];
    return Object.fromEntries(names.map((name, index) => [name.trim(), numbers[index]]));
  };
  await section(page, "Charts");
  await page.getByText("Made of all 10 cases.").and(page.locator("p")).waitFor();
  await becomes(() => shown("Infractions by type"), expected(all.flatMap((record) => record.incidents.map((incident) => incident.infraction_type))));
  await becomes(() => shown("Cases by status"), expected(all.map((record) => record.case_status)));
  await becomes(async () => Object.values(await shown("Cases by age")).map(Number).reduce((one, other) => one + other, 0), 10);
  await checked(page, "charts");
  await page.getByRole("table", { name: "Cases by status" }).getByRole("link").first().click();
  await page.waitForURL(/case_status_id=/);
}

/** Records hold what strangers wrote. */
async function markup(page, context, problems) {
  const texts = Object.fromEntries(["affiliate_name", "first_name", "last_name", "notes", "city", "facebook", "company_name", "address"].map((name) => [name, MARKUP]));
  const affected = (await api("GET", "cases?per_page=1")).data[0];
  const { id } = (await api("GET", "affiliates")).data.find((record) => record.distributor_name === affected.affiliate_name);
  await api("PUT", `affiliates/${id}`, { id, ...texts });
  const [{ detail: { url_id: url } }] = await api("POST", "urls", { urls: [{ url: `https://example.org/?q=${MARKUP}` }] });
  const views = [["affiliates?search=onerror", "Affiliates"], [`affiliates/${id}`, `Affiliate ${id}`], ["urls", "URLs"], [`urls/${url}`, `URL ${url}`],
    ["cases", "Cases"], [`cases/${affected.case_id}`, `Case ${affected.case_id}`]];
  for (const [path, title] of views) {
    await page.goto(`${base}/console#/${path}`);
    await page.reload();
    await heading(page, title);
    const text = path === `affiliates/${id}` ? page.getByLabel("Affiliate name") : page.locator("bdi").filter({ hasText: MARKUP }).first();
    await text.waitFor();
    if (path === `affiliates/${id}`) await assert.doesNotReject(page.waitForFunction((wanted) => document.getElementById("field-affiliate_name").value === wanted, MARKUP));
    assert.equal(await page.locator("main img, main script").count(), 0, path);
  }
  // Were there code that made markup of a text, the browser would refuse it.
  const refused = await page.evaluate(`try { document.createElement("p").innerHTML = "x"; "made" } catch (error) { error.name }`);
  assert.equal(refused, "TypeError");
  assert.match(problems.pop() ?? "", /TrustedHTML/);
}

/** What the page says when the service cannot be reached, limits, is unavailable, or the token expires. */
async function refusals(page, context) {
  await page.goto(`${base}/console#/affiliates/2`);
  await heading(page, "Affiliate 2");
  await page.getByLabel("City", { exact: true }).fill("Offline");
  await context.setOffline(true);
  await page.getByRole("button", { name: "Save" }).click();
  await message(page, "The service cannot be reached.");
  await context.setOffline(false);
  await page.getByRole("button", { name: "Try again" }).click();
  await message(page, "Saved.");
  assert.equal((await api("GET", "affiliates/2")).data.city, "Offline");

  // The token expires while somebody types: the reason, and after the next sign-in what was typed.
  await page.getByLabel("City", { exact: true }).fill("Kept");
  await page.evaluate((text) => sessionStorage.setItem("compliance-token", text), expired);
  await page.getByRole("button", { name: "Save" }).click();
  await heading(page, "Sign in");
  await message(page, "The bearer token has expired.");
  await becomes(() => page.evaluate("sessionStorage.length"), 0);
  await signIn(page, token);
  await message(page, "What you had typed is in the form again.");
  await becomes(() => page.getByLabel("City", { exact: true }).inputValue(), "Kept");
  await page.getByRole("button", { name: "Save" }).click();
  await message(page, "Saved.");
  await page.getByRole("button", { name: "Sign out" }).click();
  await message(page, "You have signed out.");
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
  await heading(page, "12 affiliates", 2);
  for (let number = 0; number < 8; number += 1) {
    await page.goto(`${limited}/console#/cases/${(number % 9) + 1}`);
    const limitedMessage = page.locator(".message").filter({ hasText: "has reached its request limit" });
    await page.getByRole("heading", { name: `Case ${(number % 9) + 1}`, level: 1 }).or(limitedMessage).first().waitFor();
    if (await limitedMessage.count() === 0) continue;
    await message(page, /Try again in \d+ seconds?\./);
    await checked(page, "the limit");
    return;
  }
  assert.fail("the limit was not reached");
}

/** Records are found in a list however it is cut into pieces, and a list that breaks off is noticed. */
async function pieces(page) {
  const records = [{ id: 1, name: 'a "b\\"} ]{', list: [{}, []] }, { id: 2, name: "\\" }, { id: 3, name: "é\u2028😀", none: null }];
  const text = JSON.stringify({ code: "1026", detail: { msg: "[{}]" }, data: records });
  const read = await page.evaluate(async ([whole, path]) => {
    const { RecordStream } = await import(path);
    const results = [];
    for (let size = 1; size <= whole.length; size += 1) {
      const found = [];
      const stream = new RecordStream((record) => found.push(record));
      const wasComplete = [];
      for (let start = 0; start < whole.length; start += size) {
        wasComplete.push(stream.isComplete);
        stream.push(whole.slice(start, start + size));
      }
      results.push([found, stream.isComplete, wasComplete.includes(true)]);
    }
    return results;
  }, [text, `${base}/console/record-stream.js`]);
  for (const result of read) assert.deepEqual(result, [records, true, false]);
}

/** Lists that do not fit on a page. */
async function largeLists(page) {
  await page.goto(`${base}/console`);
  await heading(page, "Sign in");
  await signIn(page, large);
  await heading(page, "1,200 affiliates", 2);
  await becomes(() => rows(page).count(), 50);
  await page.getByRole("link", { name: "Last" }).click();
  await page.getByText("Page 24 of 24").waitFor();
  await becomes(() => rows(page).count(), 50);
  await section(page, "Charts");
  await page.getByText("Made of all 450 cases.").and(page.locator("p")).waitFor();
}

async function check(page, problems, context) {
  const steps = { headers, signingIn, keyboard, affiliates, creating, lists, cases, charts, markup, refusals, limit, largeLists, pieces };
  page.on("dialog", (dialog) => dialog.message() === "1" && problems.push("a record ran a script"));
  for (const [name, step] of Object.entries(steps)) {
    await step(page, context, problems).catch((error) => {
      throw new Error(name, { cause: error });
    });
    assert.deepEqual(problems, [], name);
  }
  console.log(`the console: ${Object.keys(steps).length} walks, every view without violations in both colour schemes and at 320 px`);
}

withPage({ origins: [base, limited, coreless], expected: EXPECTED, viewport: WIDE }, check).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
