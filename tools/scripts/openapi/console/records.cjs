// Checks record pages, and markup in records.
"use strict";

const assert = require("node:assert/strict");
const { becomes, picture } = require("../browser.cjs");
const { base, WIDE, api, changing, checked, column, columnOf, heading, message, onRecord } = require("./common.cjs");

async function cases(page) {
  const all = (await api("GET", "cases")).data;
  const chosen = all.find((record) => record.incidents.length > 1 && record.tags.length > 0) ?? all[0];
  await page.goto(`${base}/console#/cases`);
  await heading(page, "Cases 1–10 of 10", 2);
  await page.getByRole("rowheader").getByRole("link", { name: String(chosen.case_id), exact: true }).click();
  await onRecord(page, `Case ${chosen.case_id}`);
  const types = { url: "URL", form: "Form", "display ad": "Display ad", "paid search ad": "Paid search ad" };
  await becomes(() => columnOf(page, "Incidents", 2), chosen.incidents.map(({ infraction_type: type, infraction_name: name }) => [type, name].filter(Boolean).join(": ") || "–\nno value"));
  // A case whose incidents are all about URLs does not repeat their type.
  const areUrls = chosen.incidents.every((incident) => incident.incident_type === "url");
  if (!areUrls) assert.deepEqual(await columnOf(page, "Incidents", 3), chosen.incidents.map((incident) => types[incident.incident_type]));
  await becomes(() => page.getByRole("columnheader").allInnerTexts(), ["Content", "Infraction", ...(areUrls ? [] : ["Incident type"]), "Actions"]);
  // The page shows every field once: in the head, in the form or in the list.
  const terms = page.locator("dt, details.long summary, main :not(.next-incident) > .field label");
  await becomes(() => terms.count(), Object.keys(chosen).filter((name) => !["case_id", "incidents", "affiliate_name"].includes(name)).length);
  assert.equal(new Set(await terms.allInnerTexts()).size, await terms.count());
  await becomes(() => page.title(), `Case ${chosen.case_id} · ${[chosen.affiliate_name, ...new Set(chosen.incidents.map((incident) => incident.infraction_type))].join(" · ")} · ${chosen.case_status} – Compliance console`);
  await becomes(() => page.locator("main [aria-busy]").count(), 0);
  await checked(page, "a case");
  await picture(page, "console-case.png");
  await page.getByRole("button", { name: /^Show \d+ empty fields?$/ }).click();
  await checked(page, "a case with its empty fields");
  await page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)");
  const { y } = await page.getByRole("button", { name: "Save", exact: true }).boundingBox();
  assert.ok(y > 0 && y < WIDE.height, `*Save* is at ${y} px at the end of the page`);
  await page.goto(`${base}/console#/cases/999999`);
  await message(page, "Case not found.");
  assert.match(await page.locator(".message code").innerText(), /^console-[0-9a-f]{16}$/);
  await checked(page, "an unknown case");
  await page.goto(`${base}/console#/nonsense`);
  await heading(page, "Not found");
}

const MARKUP = `<img src=x onerror="alert(1)">`;

/** Checks that markup in records appears as text. */
async function markup(page, context, problems) {
  const texts = Object.fromEntries(["affiliate_name", "first_name", "last_name", "notes", "city", "facebook", "company_name", "address"].map((name) => [name, MARKUP]));
  const affected = (await api("GET", "cases?per_page=1")).data[0];
  const { id } = (await api("GET", "affiliates")).data.find((record) => record.distributor_name === affected.affiliate_name);
  await api("PUT", `affiliates/${id}`, { id, ...texts });
  const [{ detail: { url_id: url } }] = await api("POST", "urls", { urls: [{ url: `https://example.org/?q=${MARKUP}` }] });
  const views = [["affiliates?q=onerror", "Affiliates"], [`affiliates/${id}`, `Affiliate ${id}`], ["urls", "URLs"], [`urls/${url}`, `URL ${url}`],
    ["cases", "Cases"], [`cases/${affected.case_id}`, `Case ${affected.case_id}`]];
  for (const [path, title] of views) {
    await page.goto(`${base}/console#/${path}`);
    await page.reload();
    await (/\d$/.test(title) ? onRecord : heading)(page, title);
    await page.locator("bdi").filter({ hasText: MARKUP }).first().waitFor();
    if (path === `affiliates/${id}`) await page.getByRole("button", { name: "Edit", exact: true }).click();
    if (path === `affiliates/${id}`) await assert.doesNotReject(page.waitForFunction((wanted) => document.getElementById("field-affiliate_name").value === wanted, MARKUP));
    assert.equal(await page.locator("main img, main script").count(), 0, path);
  }
  // The browser rejects code that creates markup from text.
  const refused = await page.evaluate(`try { document.createElement("p").innerHTML = "x"; "made" } catch (error) { error.name }`);
  assert.equal(refused, "TypeError");
  assert.match(problems.pop() ?? "", /TrustedHTML/);
}

/** Follows links from a case to its affiliate and URLs, and back. */
async function links(page) {
  const [url] = (await api("GET", "urls?per_page=200")).data.filter((record) => record.case_id !== null);
  const { data: record } = await api("GET", `cases/${url.case_id}`);
  const { id } = (await api("GET", "affiliates")).data.find((affiliate) => affiliate.distributor_name === record.affiliate_name);
  const of = async (kind) => (await api("GET", `${kind}?distributor_id=${id}&per_page=200`)).data;
  await changing(page, `**/api/urls/${url.id}`, (found) => Object.assign(found, { transcription_text: `It cures everything. ${"Buy it. ".repeat(30)}` }), async () => {
    await page.goto(`${base}/console#/cases/${record.case_id}`);
    await onRecord(page, `Case ${record.case_id}`);
    await page.locator(".excerpt", { hasText: /^It cures everything\. .*…$/ }).waitFor();
  });
  await page.getByRole("region", { name: "Incidents" }).getByRole("link", { name: `URL ${url.id}`, exact: true }).click();
  await onRecord(page, `URL ${url.id}`);
  await page.locator(".head").getByText(`Last attached to Case ${record.case_id}`, { exact: true }).waitFor();
  await page.getByRole("link", { name: "Cases of this URL" }).click();
  await becomes(() => column(page, 1), (await api("GET", `cases?url_id=${url.id}`)).data.map((other) => String(other.case_id)));
  await page.goBack();
  await onRecord(page, `URL ${url.id}`);
  await page.locator("main").getByRole("link", { name: `Case ${record.case_id}`, exact: true }).click();
  await onRecord(page, `Case ${record.case_id}`);
  await page.locator("h1").getByRole("link", { name: record.affiliate_name }).click();
  await onRecord(page, `Affiliate ${id}`);
  await becomes(() => columnOf(page, "Newest cases", 1), (await of("cases")).slice(0, 5).map((other) => String(other.case_id)));
  await becomes(() => columnOf(page, "Newest URLs", 1), (await of("urls")).slice(0, 5).map((other) => String(other.id)));
  // The table has room for usual URLs.
  await page.setViewportSize({ width: 1440, height: 900 });
  const areCut = await page.getByRole("region", { name: "Newest URLs" }).locator("bdi").evaluateAll((nodes) => nodes.filter((node) => node.textContent.length < 60 && node.scrollHeight > node.clientHeight + 2).length);
  assert.equal(areCut, 0, "a URL is cut beside empty space");
  await checked(page, "an affiliate");
  await page.getByRole("link", { name: "Cases of this affiliate" }).click();
  await page.waitForURL(new RegExp(`cases\\?distributor_id=${id}$`));
  await becomes(() => column(page, 1), (await of("cases")).map((other) => String(other.case_id)));
  await page.getByRole("link", { name: String(record.case_id), exact: true }).click();
  await onRecord(page, `Case ${record.case_id}`);
  await page.getByRole("link", { name: "URLs of this affiliate" }).click();
  await page.waitForURL(new RegExp(`urls\\?distributor_id=${id}$`));
  await becomes(() => column(page, 1), (await of("urls")).slice(0, 20).map((other) => String(other.id)));
  await page.goto(`${base}/console#/affiliates/named?name=Nobody%20at%20all`);
  await heading(page, "No such affiliate");
}

/** Checks that a one-megabyte transcript is collapsed, and scrolls in its own box when expanded. */
async function longTexts(page) {
  const change = (record) => Object.assign(record, { transcription_text: "one line of speech\n".repeat(55_000), note: "a note ".repeat(60) });
  await changing(page, "**/api/urls/1", change, async () => {
    await page.goto(`${base}/console#/urls/1`);
    await page.reload();
    await onRecord(page, "URL 1");
    const height = () => page.evaluate("document.documentElement.scrollHeight");
    const summary = page.locator("summary", { hasText: "Transcription text 1,045,000 characters" });
    const box = page.getByRole("region", { name: "Transcription text" });
    await summary.waitFor();
    await becomes(() => box.isVisible(), false);
    await page.locator("blockquote", { hasText: "a note a note" }).waitFor();
    assert.ok(await height() < 3000, `${await height()} px`);
    await checked(page, "a URL with a transcript");
    await summary.click();
    await box.waitFor();
    assert.ok(await height() < 3000, `${await height()} px`);
    const [inner, outer, width, page_width] = await box.evaluate((node) => [node.scrollHeight, node.clientHeight, node.clientWidth, document.querySelector("main").clientWidth]);
    assert.ok(inner > 100_000 && outer < 500 && width > page_width * 0.6, `${inner} ${outer} ${width}`);
    await summary.click();
    await becomes(() => box.isVisible(), false);
  });
}

/** Checks that pages show timestamps in UTC and local time. The browser's time zone is Kolkata. */
async function localTime(page) {
  await changing(page, "**/api/urls/1", (record) => Object.assign(record, { discovery_date: "2026-01-31 20:15:42" }), async () => {
    await page.goto(`${base}/console#/overview`);
    await heading(page, "Overview");
    await page.goto(`${base}/console#/urls/1`);
    await onRecord(page, "URL 1");
    const shown = page.locator("dl > div", { hasText: "Discovery date" }).locator(".timestamp");
    assert.equal(await shown.locator("time").innerText(), "2026-01-31 20:15:42 UTC");
    assert.equal(await shown.locator(".local").innerText(), "2026-02-01 01:45 GMT+5:30");
  });
}

module.exports = { cases, links, longTexts, localTime, markup };
