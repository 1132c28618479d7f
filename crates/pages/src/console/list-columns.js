// Defines the names, columns and cells of the affiliate, URL and case lists.

import { affiliateLink } from "./affiliate-lookup.js";
import { badge, isBadge } from "./badges.js";
import { countryName } from "./countries.js";
import { words } from "./description.js";
import { element, value } from "./elements.js";
import { tagsText } from "./tags.js";
import { due, isTimestamp, timestamp } from "./timestamps.js";

/** Each list's record schema, ID field (`key`), sortable columns (`sorts`) and default columns (`initial`). */
export const LISTS = {
  affiliates: {
    title: "Affiliates", one: "affiliate", many: "affiliates", schema: "Affiliate", key: "id",
    sorts: { id: "id", distributor_name: "affiliate_name", distributor_status: "status", start_date: "start_date" },
    initial: ["id", "client_distributor_id", "distributor_name", "email_one", "city", "distributor_status"],
  },
  urls: {
    title: "URLs", one: "URL", many: "URLs", schema: "ComplianceUrl", key: "id",
    sorts: { id: "id", discovery_date: "discovery_dt", last_review_date: "last_review_dt", last_seen: "last_seen" },
    initial: ["id", "url", "incident_status", "affiliate_name", "infractions", "case_id", "discovery_date", "last_seen"],
  },
  cases: {
    title: "Cases", one: "case", many: "cases", schema: "ComplianceCase", key: "case_id",
    sorts: {
      case_id: "id", created_date: "created_dt", case_status: "case_status", sub_status: "sub_status", risk_level: "risk_level",
      case_worker: "case_worker", follow_up_date: "follow_up_date",
    },
    initial: ["case_id", "case_status", "risk_level", "affiliate_name", "incidents", "case_worker", "follow_up_date", "created_date"],
  },
};

const link = (section, id) => (id === null ? value(null) : element("a", { href: `#/${section}/${id}` }, id));
/** Maximum text length in a list. The record's page shows the whole text. */
const MOST = 300;

/** Returns the cell for a record's field. */
export function cell(section, name, record) {
  const content = record[name];
  if (name === LISTS[section].key) return link(section, content);
  if (name === "case_id") return link("cases", content);
  if (name === "affiliate_name") return affiliateLink(record);
  if (name === "distributor_name") return element("a", { href: `#/affiliates/${record.id}` }, value(content));
  if (name === "country" && section === "affiliates") return value(content === null ? null : countryName(content));
  if (isBadge(name)) return badge(content);
  if (name === "follow_up_date" && due(record)) return element("span", { class: "overdue" }, timestamp(content, { isShort: true }), ` ${due(record)}`);
  if (isTimestamp(name)) return timestamp(content, { isShort: true });
  if (name === "tags") return value(tagsText(content));
  if (Array.isArray(content)) return element("span", { class: "number" }, content.length);
  if (typeof content !== "string" || name === "disabled") return value(words(name, content));
  const text = content.length > MOST ? `${content.slice(0, MOST)}…` : content;
  return element("span", { class: name === "url" ? "cut url" : "cut", title: text.length > 30 && text }, value(text.replace(/\s+/g, " ")));
}
