// Tests console functions that need no DOM: words, times and texts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { alpha2, countryName } from "../src/console/countries.js";
import { inLabels, label, words } from "../src/console/description.js";
import { recordSplitter } from "../src/console/export.js";
import { ago, hasEnded, instant, isOverdue, isTimestamp } from "../src/console/timestamps.js";
import { shortUrl } from "../src/console/urls.js";
import { sent } from "../src/console/work.js";

const NOW = Date.parse("2026-08-15T12:00:00Z");

test("labels spell out field names", () => {
  const expected = {
    email_one: "E-mail 1", owner_email: "Owner e-mail", follow_up_date: "Follow-up date", sub_status: "Sub-status", url: "URL",
    discovery_dt: "Discovery date", pintrest: "Pinterest", client_affiliate_id: "Your affiliate ID", disabled: "Monitoring",
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
  const due = (case_status, follow_up_date) => isOverdue({ case_status, follow_up_date }, NOW);
  assert.deepEqual([due("Open", "2026-08-15 11:59:59"), due("Open", "2026-08-15 12:00:01"), due("Open", null)], [true, false, false]);
  for (const status of ["Resolved", "Closed", "Rejected", "Invalid", "Duplicate"]) {
    assert.ok(hasEnded({ case_status: status }));
    assert.equal(due(status, "2026-01-01 00:00:00"), false);
  }
  // Custom statuses do not end a case.
  assert.ok(due("On hold", "2026-01-01 00:00:00"));
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
  assert.deepEqual([sent("note", ""), sent("note", "one\r\ntwo"), sent("follow_up_date", "")], [null, "one\r\ntwo", null]);
});

test("CSV is split only between records", () => {
  const records = [];
  const push = recordSplitter((record) => records.push(record));
  for (const piece of ['id,note\r\n1,"a ""b""\n', 'c"\r', "\n2,d\r\n"]) push(piece);
  assert.deepEqual(records, ["id,note\r\n", '1,"a ""b""\nc"\r\n', "2,d\r\n"]);
});

test("numeric country codes map to alpha-2 codes and names", () => {
  assert.deepEqual([alpha2(756), alpha2("004"), alpha2(null), alpha2("x")], ["CH", "AF", "", ""]);
  assert.deepEqual([countryName(756), countryName("x")], ["Switzerland", "x"]);
});
