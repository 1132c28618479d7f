// Tests console functions that do not need the DOM: words, times and texts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { restoresNote } from "../src/console/activity.js";
import { byOption, crowdedLine, plainLines, urlColumn } from "../src/console/adding.js";
import { alpha2, countryName } from "../src/console/countries.js";
import { inLabels, label, rowError, words } from "../src/console/description.js";
import { columnPicker, recordSplitter } from "../src/console/export.js";
import { allows, refusal } from "../src/console/session.js";
import { tagsText } from "../src/console/tags.js";
import { ago, due, hasEnded, instant, isTimestamp } from "../src/console/timestamps.js";
import { isCurrent } from "../src/console/undo.js";
import { shortUrl } from "../src/console/urls.js";
import { changedFields, merged, sent } from "../src/console/work.js";

const NOW = Date.parse("2026-08-15T12:00:00Z");

test("labels spell out field names", () => {
  const expected = {
    email_one: "E-mail 1", owner_email: "Owner e-mail", follow_up_date: "Follow-up date", sub_status: "Sub-status", url: "URL",
    discovery_dt: "Discovery date", created_after: "Created from", follow_up_before: "Follow-up until", pintrest: "Pinterest", client_affiliate_id: "Your affiliate ID", disabled: "Monitoring",
  };
  for (const [name, text] of Object.entries(expected)) assert.equal(label(name), text);
  assert.equal(label("constructor"), "Constructor");
});

test("disabled is shown as monitoring on or off", () => {
  assert.deepEqual([words("disabled", "no"), words("disabled", "yes"), words("false_positive", "no"), words("note", null)], ["On", "Off", "no", null]);
});

test("errors use field labels", () => {
  assert.equal(inLabels("affiliate_name", "The affiliate name field is required."), "Affiliate name is required.");
  assert.equal(inLabels("email_one", "The email one field must be a valid email address."), "E-mail 1 must be a valid email address.");
  assert.equal(inLabels("zip", "An affiliate with this name already exists."), "An affiliate with this name already exists.");
  assert.equal(inLabels("tags.0", "The tags.0 field must not be greater than 128 characters."), "Tags must not be greater than 128 characters.");
  assert.equal(inLabels("urls.1.url", "The urls.1.url field must be a valid URL."), "URL must be a valid URL that begins with http:// or https://.");
  assert.equal(inLabels("status", "The selected status is invalid. It must be one of: active."), "Status is not valid. It must be one of: active.");
});

test("file errors use labels and options", () => {
  const expected = {
    'The column "my_size" is not a field: map it to a field or to nothing; the fields are client_affiliate_id, zip.':
      'The column "my_size" is unknown. Rename it, or enter it under Columns to ignore. Known columns: Your affiliate ID, ZIP or postal code.',
    'The columns "hat", "shoe" are not fields: map each to a field or to nothing; the fields are url.':
      'The columns "hat", "shoe" are unknown. Rename them, or enter them under Columns to ignore. Known columns: URL.',
    "One of the first rows must name the columns, but no cell in the first row is a field name: a, b; the fields are url.":
      "One of the first rows must name the columns, but no cell in the first row is a known column: a, b. Known columns: URL.",
    "No column contains the required field affiliate_name; the columns are: City.": "The required column Affiliate name is missing; the columns are: City.",
    'Columns 3 ("E-mail") and 4 ("email_one") both map to the field email_one: map "email_one" to nothing.':
      'Columns 3 ("E-mail") and 4 ("email_one") both contain E-mail 1: enter "email_one" under Columns to ignore.',
    "1/5/2026 on line 2 is ambiguous: choose dmy (day first) or mdy (month first), or write the date as YYYY-MM-DD.":
      "1/5/2026 on line 2 is ambiguous: choose day first or month first, or write the date as YYYY-MM-DD.",
  };
  for (const [message, text] of Object.entries(expected)) assert.equal(inLabels("columns", message), text);
});

test("plain URL lists become a CSV column", () => {
  for (const text of ["URL\nhttps://a.example", "Name\tPage.URL\nAnn\thttps://a.example", "name;page.url", "Web site / URL\nhttps://a.example"]) assert.equal(plainLines(text), null, text);
  for (const text of ["a.example/x", "\ufeff a.example \nhttps://b.example", "localhost/x\r\n"]) assert.equal(plainLines(text)?.join("\n"), text.replaceAll("\r", ""), text);
  assert.deepEqual(plainLines("\ufeff\u200b\n https://a.example/\r\nb"), ["\ufeff\u200b", " https://a.example/", "b"]);
  assert.equal(urlColumn(["https://a.example/?x=1,2", "", 'https://a.example/"']), 'URL\n"https://a.example/?x=1,2"\n""\n"https://a.example/"""');
  for (const line of ["https://a.example\tJohn", "https://a.example https://b.example", "https://a.example; http://b.example", "https://a.example\vhttps://b.example"]) {
    assert.equal(crowdedLine(["https://a.example", line]), 2, line);
  }
  assert.equal(crowdedLine(["https://a.example/one,two;three", " https://web.archive.org/web/https://a.example\t", ""]), 0);
});

test("row errors name the column and cell", () => {
  const field = { path: "affiliates.0.email_one", row: 2, cell: null, column: null };
  const why = "E-mail 1 must be a valid email address.";
  const message = (place) => `Row 2, ${place}: The email one field must be a valid email address.`;
  assert.deepEqual(rowError({ ...field, column: "Mail: work", message: message("column Mail: work") }), { where: "Mail: work", why });
  assert.deepEqual(rowError({ ...field, cell: "C2", message: message("cell C2") }), { where: "E-mail 1 (C2)", why });
  assert.deepEqual(rowError({ ...field, path: "affiliates.0", message: "Row 2: The row has 4 columns." }), { where: "", why: "The row has 4 columns." });
});

test("relative times end after 30 days", () => {
  const expected = {
    "2026-08-15 12:00:05": "just now", "2026-08-15 11:59:30": "just now", "2026-08-15 11:59:00": "1 min ago", "2026-08-15 11:00:01": "59 min ago",
    "2026-08-15 10:00:00": "2 h ago", "2026-08-14 11:00:00": "1 d ago", "2026-07-17 12:00:01": "28 d ago", "2026-07-16 12:00:00": "2026-07-16",
  };
  for (const [time, text] of Object.entries(expected)) assert.equal(ago(time, NOW), text, time);
  assert.equal(instant("2026-08-15 12:00:00"), NOW);
});

test("only open cases are overdue", () => {
  const dueOf = (case_status, follow_up_date) => due({ case_status, follow_up_date }, NOW);
  assert.deepEqual([dueOf("Open", "2026-08-14 23:59:59"), dueOf("Open", "2026-08-15 00:00:00"), dueOf("Open", "2026-08-15 12:00:01"), dueOf("Open", null)], ["overdue", "due today", null, null]);
  for (const status of ["Resolved", "Closed", "Rejected", "Invalid", "Duplicate"]) {
    assert.ok(hasEnded({ case_status: status }));
    assert.equal(dueOf(status, "2026-01-01 00:00:00"), null);
  }
  // Custom statuses do not end a case.
  assert.equal(dueOf("On hold", "2026-01-01 00:00:00"), "overdue");
});

test("start dates are days, not timestamps", () => {
  assert.deepEqual(["follow_up_date", "last_seen", "start_date", "note"].map(isTimestamp), [true, true, false, false]);
});

test("short URLs omit scheme, www and trailing slash", () => {
  assert.equal(shortUrl("https://www.mindful-fitness.example/2026/08/"), "mindful-fitness.example/2026/08");
  assert.equal(shortUrl(`HTTP://a.example/${"é".repeat(60)}`), `a.example/${"é".repeat(38)}…`);
});

test("form values are converted for the service", () => {
  assert.equal(sent("follow_up_date", "2027-02-01"), "2027-02-01 00:00:00");
  assert.deepEqual(sent("tags", '["spring, summer"," z "]'), ["spring, summer", " z "]);
  assert.deepEqual(sent("infractions", '["[\\"Health Claim\\",null]"]'), [{ infraction_type: "Health Claim", infraction_name: null }]);
  assert.deepEqual([sent("note", ""), sent("note", "one\r\ntwo"), sent("follow_up_date", "")], [null, "one\r\ntwo", null]);
});

test("CSV is split only between records", () => {
  const records = [];
  const push = recordSplitter((record) => records.push(record));
  for (const piece of ['id,note\r\n1,"a ""b""\n', 'c"\r', "\n2,d\r\n"]) push(piece);
  assert.deepEqual(records, ["id,note\r\n", '1,"a ""b""\nc"\r\n', "2,d\r\n"]);
});

test("exports contain the chosen columns with labels", () => {
  const pick = columnPicker(["id", "disabled", "note", "country"]);
  const lines = ["id,note,country,disabled\r\n", '1,"a ""b"",\r\nc;",840,no\r\n', '2,,"Korea, Republic of","yes"\r\n'];
  assert.deepEqual(lines.map(pick), ["ID,Monitoring,Note,Country\r\n", '1,On,"a ""b"",\r\nc;",US\r\n', '2,Off,,"Korea, Republic of"\r\n']);
});

test("exports contain lists as text", () => {
  const pick = columnPicker(["tags", "infractions", "incidents"]);
  const json = (list) => `"${JSON.stringify(list).replaceAll('"', '""')}"`;
  const infraction = { infraction_type: "Health Claim", infraction_name: "weight loss" };
  const incidents = [{ url_id: 4, reference: null, ...infraction }, { url_id: null, reference: 'form "7"', infraction_type: null, infraction_name: null }];
  pick("tags,infractions,incidents\r\n");
  assert.equal(pick(`${json(["=1+1", "b"])},${json([infraction, { infraction_type: "Disclosure", infraction_name: null }])},${json(incidents)}\r\n`),
    '"\'=1+1; b","Health Claim: weight loss; Disclosure","URL 4 (Health Claim: weight loss); form ""7"""\r\n');
  assert.equal(pick("[],[],[]\r\n"), '"","",""\r\n');
});

test("numeric country codes map to alpha-2 codes and names", () => {
  assert.deepEqual([alpha2(756), alpha2("004"), alpha2(null), alpha2("x")], ["CH", "AF", "", ""]);
  assert.deepEqual([countryName(756), countryName("x")], ["Switzerland", "x"]);
});

test("list changes by two people are merged", () => {
  const after = (before, mine, theirs) => JSON.parse(merged(...[before, mine, theirs].map((list) => JSON.stringify(list))));
  assert.deepEqual(after(["a", "b"], ["b"], ["a", "b", "c"]), ["b", "c"]);
  assert.deepEqual(after(["a"], ["a", "mine"], ["a", "theirs"]), ["a", "theirs", "mine"]);
  assert.deepEqual(after(["a"], ["a", "b"], ["b"]), ["b"]);
});

test("tags with commas are quoted", () => {
  assert.equal(tagsText(["a, b", "x"]), "“a, b”, x");
  assert.equal(tagsText([]), "");
});

test("errors without a field keep their text", () => {
  assert.equal(inLabels("", "The list is empty."), "The list is empty.");
});

test("repeated notes are recognized", () => {
  const change = (position, ...notes) => ({ position, resource: "case", fields: notes.map((after) => ({ field: "note", after })) });
  const changes = [change(4, "one"), change(3, null), change(2, "two"), change(1, "one"), change(0)];
  assert.deepEqual(changes.map((one) => restoresNote(one, changes)), [true, false, false, false, false]);
});

test("changes are current until their fields change again", () => {
  const part = (operation, type) => ({ operation, resource: "infraction", fields: [{ field: "infraction_type_id", before: null, after: type }] });
  const names = { parts: ({ parts = [] }) => parts, name: (_, id) => id };
  const change = (resource, fields, parts) => ({ resource, operation: "updated", fields: fields.map(([field, before, after]) => ({ field, before, after })), parts });
  const first = change("case", [["note", "a", "b"], ["risk_level_id", null, "2"], ["etag", "1", "2"]]);
  const current = (...later) => isCurrent(first, [...later, first], names);
  assert.equal(current(), true);
  assert.equal(current(change("case", [["case_worker", null, "bea"], ["etag", "2", "3"]])), true);
  assert.equal(current(change("case", [["note", "b", "c"]])), false);
  assert.equal(current(change("case", [["note", "c", "b"]]), change("case", [["note", "b", "c"]])), true);
  const found = change("url", [["last_review_date", "1", "2"]], [part("created", "Disclosure")]);
  assert.equal(isCurrent(found, [change("url", [["last_review_date", "2", "3"]], [part("deleted", "Trademark")]), found], names), true);
  assert.equal(isCurrent(found, [change("url", [], [part("deleted", "Disclosure")]), found], names), false);
});

test("only unknown columns can be ignored", () => {
  const unknown = 'The column "Size" is not a field: map it to a field or to nothing; the fields are url.';
  const missing = "No column contains the required field url; the columns are: Size.";
  assert.deepEqual(byOption({ columns: [unknown], dates: ["x"] }), { columns: [unknown], dates: ["x"] });
  assert.deepEqual(byOption({ columns: [missing] }), { file: [missing] });
});

test("refused sign-ins say what to do", () => {
  assert.equal(refusal({ message: "The bearer token has expired." }), "Your sign-in has expired. Sign in again.");
  assert.match(refusal({ message: "The bearer token is invalid." }), /^The service did not accept your sign-in\. Sign in again\./);
});

test("changes by programs are not conflicts", () => {
  const infraction = { infraction_type: "Health Claim", infraction_name: null, created_date: "2026-01-02 03:04:05" };
  const url = { incident_status: "New", infractions: [infraction], case_id: null, last_seen: "2026-01-02 03:04:05" };
  const seen = { ...url, infractions: [{ ...infraction, created_date: null }], last_seen: "2026-02-03 04:05:06" };
  assert.deepEqual(changedFields("urls", url, seen), []);
  assert.deepEqual(changedFields("urls", url, { ...url, infractions: [], case_id: 4 }), ["infractions", "case_id"]);
  const record = { case_status: "New", distributor_id: 1, affiliate_name: "Ann", case_country: null, incidents: [], last_updated_date: null };
  assert.deepEqual(changedFields("cases", record, { ...record, affiliate_name: "Anne", last_updated_date: "2026-01-02 03:04:05" }), []);
  const incidents = [{ incident_id: 1, incident_type: "form", reference: "form 1", url_id: null, infraction_type: null, infraction_name: null }];
  assert.deepEqual(changedFields("cases", record, { ...record, distributor_id: 2, case_country: "Switzerland", incidents }), ["distributor_id", "case_country", "incidents"]);
});

test("scopes are unknown for roles and opaque tokens", () => {
  const token = (claims) => `e30.${btoa(JSON.stringify(claims))}.sig`;
  for (const claims of [{ scope: "audit cases" }, { scp: ["audit", "cases"] }, { scp: "cases" }, { roles: [] }, { realm_access: { roles: ["officer"] } }, { "realm_access.roles": ["officer"] }]) assert.ok(allows("cases", token(claims)), JSON.stringify(claims));
  for (const claims of [{}, { scope: "audit" }, { scope: "cases.read" }, { scope: 1 }]) assert.ok(!allows("cases", token(claims)), JSON.stringify(claims));
  assert.ok(allows("cases", "opaque"));
});
