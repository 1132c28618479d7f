/** Records and inputs, as JSON has them. */

import type { components } from "./schema.js";

type Schemas = components["schemas"];

export type Affiliate = Schemas["Affiliate"];
export type AffiliateCreate = Schemas["AffiliateCreate"];
export type AffiliateRosterItem = Schemas["AffiliateRosterItem"];
export type AffiliateUpdate = Schemas["AffiliateUpdate"];
export type Change = Schemas["Change"];
export type ChangePage = Schemas["ListChangesResponse"];
export type ComplianceCase = Schemas["ComplianceCase"];
export type ComplianceUrl = Schemas["ComplianceUrl"];
export type Incident = Schemas["Incident"];
export type Infraction = Schemas["Infraction"];
export type OverdueCase = Schemas["OverdueCase"];
export type Overview = Schemas["Overview"];
export type OverviewWeek = Schemas["OverviewWeek"];
export type SyncedAffiliates = Schemas["BatchSyncAffiliatesResponse"];
export type VocabularyEntry = Schemas["VocabularyEntry"];
export type VocabularyNames = Schemas["VocabularyNames"];
