/**
 * Client of the Affiliate Compliance Service.
 *
 *     const client = new Client("http://127.0.0.1:8080", token);
 *     for await (const url of client.urls({ disabled: "no" })) {
 *       console.log(url.url, url.incident_status);
 *     }
 */

export { Client, type CaseFilters, type Paging, type Result, type SyncOptions, type UrlFilters } from "./client.js";
export { Changed, ComplianceError, Invalid, Refused, Unavailable } from "./errors.js";
export type { Options, Token } from "./transport.js";
export type {
  Affiliate,
  AffiliateCreate,
  AffiliateRosterItem,
  AffiliateUpdate,
  Change,
  ComplianceCase,
  ComplianceUrl,
  Incident,
  Infraction,
  OverdueCase,
  Overview,
  OverviewWeek,
  SyncedAffiliates,
  VocabularyEntry,
  VocabularyNames,
} from "./records.js";
