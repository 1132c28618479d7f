/**
 * A client for the Affiliate Compliance Service.
 *
 *     const client = new Client("http://127.0.0.1:8080", token);
 *     for await (const url of client.urls({ disabled: "no" })) {
 *       console.log(url.url, url.incident_status);
 *     }
 */

export type { Condition, Paging, Past, Result } from "./calls.js";
export type { AffiliateFilters, CaseFilters, UrlFilters } from "./case_work.js";
export { Client, type AuditFilters, type SyncOptions } from "./client.js";
export { Changed, ComplianceError, Invalid, Refused, Unavailable } from "./errors.js";
export type {
  Affiliate,
  AffiliateCreate,
  AffiliateRosterItem,
  AffiliateUpdate,
  CaseClose,
  CaseOpen,
  CaseReopen,
  CaseResolve,
  CaseUpdate,
  Change,
  ComplianceCase,
  ComplianceUrl,
  Erased,
  Incident,
  IncidentItem,
  IncidentKey,
  Infraction,
  OverdueCase,
  Overview,
  OverviewWeek,
  SyncedAffiliates,
  UrlInput,
  UrlReview,
  VocabularyEntry,
  VocabularyNames,
  Webhook,
  WebhookCreate,
  WebhookDelivery,
  WebhookTest,
  WebhookUpdate,
  WebhookWithSecret,
} from "./records.js";
export type { Options, Token } from "./transport.js";
export type { Webhooks } from "./webhooks.js";
