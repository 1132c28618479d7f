/** The interface's records and inputs, as in JSON. */

import type { components } from "./schema.js";

type Schemas = components["schemas"];

export type Affiliate = Schemas["Affiliate"];
export type AffiliateCreate = Schemas["AffiliateCreate"];
export type AffiliateRosterItem = Schemas["AffiliateRosterItem"];
export type AffiliateUpdate = Schemas["AffiliateUpdate"];
export type AuditPage = Schemas["SearchChangesResponse"];
export type CaseClose = Schemas["CaseClose"];
export type CaseOpen = Schemas["CaseOpen"];
export type CaseReopen = Schemas["CaseReopen"];
export type CaseResolve = Schemas["CaseResolve"];
export type CaseUpdate = Schemas["CaseUpdate"];
export type Change = Schemas["Change"];
export type ChangePage = Schemas["ListChangesResponse"];
export type ComplianceCase = Schemas["ComplianceCase"];
export type ComplianceUrl = Schemas["ComplianceUrl"];
export type Erased = Schemas["EraseAffiliateResponse"];
export type Incident = Schemas["Incident"];
export type IncidentItem = Schemas["IncidentItem"];
export type IncidentKey = Schemas["IncidentKey"];
export type Infraction = Schemas["Infraction"];
export type OverdueCase = Schemas["OverdueCase"];
export type Overview = Schemas["Overview"];
export type OverviewWeek = Schemas["OverviewWeek"];
export type SyncedAffiliates = Schemas["BatchSyncAffiliatesResponse"];
export type UrlInput = Schemas["UrlInput"];
export type UrlReview = Schemas["UrlReview"];
export type VocabularyEntry = Schemas["VocabularyEntry"];
export type VocabularyNames = Schemas["VocabularyNames"];
export type Webhook = Schemas["Webhook"];
export type WebhookCreate = Schemas["WebhookCreate"];
export type WebhookDelivery = Schemas["WebhookDelivery"];
export type WebhookTest = Schemas["TestWebhookResponse"];
export type WebhookUpdate = Schemas["WebhookUpdate"];
export type WebhookWithSecret = Schemas["CreateWebhookResponse"];
