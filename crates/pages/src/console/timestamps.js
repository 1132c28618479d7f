// Shows service timestamps in UTC, with local time next to them if it differs.

import { element, value } from "./elements.js";

/** Parses a service timestamp, `YYYY-MM-DD HH:MM:SS` in UTC, and returns milliseconds since the epoch. */
export function instant(text) {
  return Date.parse(`${text.replace(" ", "T")}Z`);
}

const two = (number) => String(number).padStart(2, "0");

/** Formats a time in the browser's time zone, such as `2026-01-31 14:05`. */
export function localTime(time) {
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} ${two(time.getHours())}:${two(time.getMinutes())}`;
}

/**
 * Formats a timestamp in the browser's time zone, such as `2026-01-31 14:05 GMT+2`, or returns null if that is UTC. The short form omits the
 * day if it is the same.
 */
function local(text, isShort) {
  const time = new Date(instant(text));
  if (Number.isNaN(time.valueOf()) || time.getTimezoneOffset() === 0) return null;
  const zone = new Intl.DateTimeFormat("en", { timeZoneName: "short" }).formatToParts(time).find(({ type }) => type === "timeZoneName").value;
  const [day, hour] = localTime(time).split(" ");
  return `${isShort && text.startsWith(day) ? "" : `${isShort ? day.slice(5) : day} `}${hour} ${zone}`;
}

/** Shows a timestamp in UTC and local time. The short form omits seconds. Midnight is shown as a date without a time zone. */
export function timestamp(text, { isShort = false } = {}) {
  if (!text) return value(null);
  const [, day] = /^(\d{4}-\d\d-\d\d)(?: 00:00:00)?$/.exec(text) ?? [];
  if (day) return element("span", { class: "timestamp" }, element("time", { datetime: day }, day));
  const here = local(text, isShort);
  return element("span", { class: "timestamp", title: isShort && here },
    element("time", { datetime: `${text.replace(" ", "T")}Z` }, isShort ? text.slice(0, 16) : text, " UTC"),
    here && element("span", { class: "local" }, here));
}

/** Returns whether a field contains a timestamp. `start_date` contains a date. */
export function isTimestamp(name) {
  return (name.endsWith("_date") && name !== "start_date") || name === "last_seen";
}

/** @type {[string, number, number][]} */
const UNITS = [["min", 60_000, 60], ["h", 3_600_000, 24], ["d", 86_400_000, 30]];

/** Returns the age of a service timestamp, such as `2 h ago`, or its date after 30 days. */
export function ago(text, now = Date.now()) {
  const passed = now - instant(text);
  if (passed < UNITS[0][1]) return "just now";
  const unit = UNITS.find(([, length, most]) => passed < most * length);
  return unit ? `${Math.floor(passed / unit[1])} ${unit[0]} ago` : text.slice(0, 10);
}

/** Shows the current age of a service timestamp, with the timestamp as a tooltip. */
export function agoNode(text) {
  const node = element("time", { datetime: `${text.replace(" ", "T")}Z`, title: `${text} UTC` }, ago(text));
  const timer = setInterval(() => {
    if (node.isConnected) node.textContent = ago(text);
    else clearInterval(timer);
  }, UNITS[0][1]);
  return node;
}

/** The statuses of ended cases. */
const ENDED = new Set(["Resolved", "Closed", "Rejected", "Invalid", "Duplicate"]);

/** Returns whether a case has ended. */
export function hasEnded({ case_status: status }) {
  return ENDED.has(status);
}

/** Returns `due today` or `overdue` for an open case whose follow-up date is today or has passed, in UTC. Returns null for other cases. */
export function due(record, now = Date.now()) {
  const { follow_up_date: date } = record;
  if (!date || hasEnded(record) || instant(date) >= now) return null;
  return date.startsWith(new Date(now).toISOString().slice(0, 10)) ? "due today" : "overdue";
}
