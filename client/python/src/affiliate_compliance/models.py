"""The records and the inputs of the interface, as JSON has them. Generated from docs/openapi.json by generate_models.py."""

from typing import Literal, NotRequired, TypedDict


AffiliateStatus = Literal["active", "inactive", "probation", "suspended", "terminated", "forgotten"]


class Affiliate(TypedDict):
    """An affiliate as responses show it. Some fields have other names than in requests."""

    id: int
    """Assigned by the service."""
    client_id: int
    """The company that the record belongs to."""
    client_distributor_id: str | None
    """The client's own affiliate identifier. Several affiliates can have the same identifier."""
    distributor_name: str | None
    """Name of the affiliate, unique within the company. Names are compared exactly."""
    email_one: str | None
    """E-mail address."""
    email_two: str | None
    """E-mail address."""
    phone_one: str | None
    """Phone number."""
    phone_two: str | None
    """Phone number."""
    facebook: str | None
    """Profile or page URL."""
    instagram: str | None
    """URL or handle."""
    youtube: str | None
    """URL."""
    twitter: str | None
    """URL or handle."""
    tiktok: str | None
    """URL or handle."""
    pintrest: str | None
    """URL or handle on Pinterest. The field name is spelled this way."""
    country: int | None
    """ISO 3166-1 numeric code (840 for US)."""
    first_name: str | None
    """First name."""
    last_name: str | None
    """Last name."""
    notes: str | None
    """Internal notes."""
    address: str | None
    """Street address."""
    city: str | None
    """City."""
    state: str | None
    """State or province, name or code."""
    zip: str | None
    """Postal code."""
    ranking: str | None
    """Ranking."""
    replicated_website: str | None
    """The affiliate's copy of the company's site."""
    sponsor: str | None
    """Name of the sponsor."""
    upline: str | None
    """The upline's own affiliate identifier."""
    distributor_status: AffiliateStatus | None
    """Status of the affiliate."""
    start_date: str | None
    """Calendar day, YYYY-MM-DD."""
    language_used: str | None
    """Language."""
    territory: str | None
    """Territory."""
    entrepreneur_id: str | None
    """Identifier."""
    entrepreneur_spouse_id: str | None
    """Identifier."""
    international_distributor: str | None
    """Flag or identifier."""
    is_territory_director: str | None
    """Flag or identifier."""
    jv_status: str | None
    """Status."""
    league: str | None
    """League."""
    territory_master: str | None
    """Territory master."""
    merchant_type: str | None
    """Merchant type."""
    company_name: str | None
    """Name of the affiliate's company."""
    sponsor_id: str | None
    """The sponsor's own affiliate identifier."""
    sponsor_email: str | None
    """The sponsor's e-mail address."""
    pay_rank: str | None
    """Pay rank."""
    recognition_rank: str | None
    """Recognition rank."""


class AffiliateCreate(TypedDict):
    """A new affiliate. For optional fields, null and `""` are the same as absent."""

    client_affiliate_id: str
    """The client's own affiliate identifier. Several affiliates can have the same identifier."""
    affiliate_name: str
    """Name of the affiliate, unique within the company. Names are compared exactly."""
    email_one: NotRequired[str | None]
    """E-mail address."""
    email_two: NotRequired[str | None]
    """E-mail address."""
    phone_one: NotRequired[str | None]
    """Phone number."""
    phone_two: NotRequired[str | None]
    """Phone number."""
    facebook: NotRequired[str | None]
    """Profile or page URL."""
    instagram: NotRequired[str | None]
    """URL or handle."""
    youtube: NotRequired[str | None]
    """URL."""
    twitter: NotRequired[str | None]
    """URL or handle."""
    tiktok: NotRequired[str | None]
    """URL or handle."""
    pintrest: NotRequired[str | None]
    """URL or handle on Pinterest. The field name is spelled this way."""
    country: NotRequired[str | None]
    """ISO 3166-1 alpha-2 code, in either case."""
    first_name: NotRequired[str | None]
    """First name."""
    last_name: NotRequired[str | None]
    """Last name."""
    notes: NotRequired[str | None]
    """Internal notes."""
    address: NotRequired[str | None]
    """Street address."""
    city: NotRequired[str | None]
    """City."""
    state: NotRequired[str | None]
    """State or province, name or code."""
    zip: NotRequired[str | None]
    """Postal code."""
    ranking: NotRequired[str | None]
    """Ranking."""
    replicated_website: NotRequired[str | None]
    """The affiliate's copy of the company's site."""
    sponsor: NotRequired[str | None]
    """Name of the sponsor."""
    upline: NotRequired[str | None]
    """The upline's own affiliate identifier."""
    status: NotRequired[AffiliateStatus | None]
    """Status of the affiliate."""
    start_date: NotRequired[str | None]
    """Calendar day, YYYY-MM-DD or MM/DD/YYYY."""
    language_used: NotRequired[str | None]
    """Language."""
    territory: NotRequired[str | None]
    """Territory."""
    entrepreneur_id: NotRequired[str | None]
    """Identifier."""
    entrepreneur_spouse_id: NotRequired[str | None]
    """Identifier."""
    international_distributor: NotRequired[str | None]
    """Flag or identifier."""
    is_territory_director: NotRequired[str | None]
    """Flag or identifier."""
    jv_status: NotRequired[str | None]
    """Status."""
    league: NotRequired[str | None]
    """League."""
    territory_master: NotRequired[str | None]
    """Territory master."""
    merchant_type: NotRequired[str | None]
    """Merchant type."""
    company_name: NotRequired[str | None]
    """Name of the affiliate's company."""
    sponsor_id: NotRequired[str | None]
    """The sponsor's own affiliate identifier."""
    sponsor_email: NotRequired[str | None]
    """The sponsor's e-mail address."""
    pay_rank: NotRequired[str | None]
    """Pay rank."""
    recognition_rank: NotRequired[str | None]
    """Recognition rank."""


class AffiliateUpdate(TypedDict):
    """Changes to an affiliate. Only the fields that you send change. Null and `""` clear an optional field."""

    id: int
    """ID assigned by the service. It equals the ID in the URL."""
    client_affiliate_id: NotRequired[str]
    """The client's own affiliate identifier. Several affiliates can have the same identifier."""
    affiliate_name: NotRequired[str]
    """Name of the affiliate, unique within the company. Names are compared exactly."""
    email_one: NotRequired[str | None]
    """E-mail address."""
    email_two: NotRequired[str | None]
    """E-mail address."""
    phone_one: NotRequired[str | None]
    """Phone number."""
    phone_two: NotRequired[str | None]
    """Phone number."""
    facebook: NotRequired[str | None]
    """Profile or page URL."""
    instagram: NotRequired[str | None]
    """URL or handle."""
    youtube: NotRequired[str | None]
    """URL."""
    twitter: NotRequired[str | None]
    """URL or handle."""
    tiktok: NotRequired[str | None]
    """URL or handle."""
    pintrest: NotRequired[str | None]
    """URL or handle on Pinterest. The field name is spelled this way."""
    country: NotRequired[str | None]
    """ISO 3166-1 alpha-2 code, in either case."""
    first_name: NotRequired[str | None]
    """First name."""
    last_name: NotRequired[str | None]
    """Last name."""
    notes: NotRequired[str | None]
    """Internal notes."""
    address: NotRequired[str | None]
    """Street address."""
    city: NotRequired[str | None]
    """City."""
    state: NotRequired[str | None]
    """State or province, name or code."""
    zip: NotRequired[str | None]
    """Postal code."""
    ranking: NotRequired[str | None]
    """Ranking."""
    replicated_website: NotRequired[str | None]
    """The affiliate's copy of the company's site."""
    sponsor: NotRequired[str | None]
    """Name of the sponsor."""
    upline: NotRequired[str | None]
    """The upline's own affiliate identifier."""
    status: NotRequired[AffiliateStatus | None]
    """Status of the affiliate."""
    start_date: NotRequired[str | None]
    """Calendar day, YYYY-MM-DD or MM/DD/YYYY."""
    language_used: NotRequired[str | None]
    """Language."""
    territory: NotRequired[str | None]
    """Territory."""
    entrepreneur_id: NotRequired[str | None]
    """Identifier."""
    entrepreneur_spouse_id: NotRequired[str | None]
    """Identifier."""
    international_distributor: NotRequired[str | None]
    """Flag or identifier."""
    is_territory_director: NotRequired[str | None]
    """Flag or identifier."""
    jv_status: NotRequired[str | None]
    """Status."""
    league: NotRequired[str | None]
    """League."""
    territory_master: NotRequired[str | None]
    """Territory master."""
    merchant_type: NotRequired[str | None]
    """Merchant type."""
    company_name: NotRequired[str | None]
    """Name of the affiliate's company."""
    sponsor_id: NotRequired[str | None]
    """The sponsor's own affiliate identifier."""
    sponsor_email: NotRequired[str | None]
    """The sponsor's e-mail address."""
    pay_rank: NotRequired[str | None]
    """Pay rank."""
    recognition_rank: NotRequired[str | None]
    """Recognition rank."""


YesNo = Literal["yes", "no"]


class Infraction(TypedDict):
    """A breach of policy found on a URL."""

    infraction_type: str | None
    """Infraction type, a vocabulary name."""
    infraction_name: str | None
    """Infraction name, a vocabulary name."""
    created_date: str | None
    """When it was recorded, UTC."""


class ComplianceUrl(TypedDict):
    """A web address monitored for the company."""

    id: int
    """Assigned by the service."""
    url: str
    """The full URL, as it was sent."""
    domain: str | None
    """Host of the URL."""
    incident_status: str | None
    """Name of the incident status. Every company starts with: New, Open, In Violation, Approved, Remediated, Archived. It can add its own names."""
    disabled: YesNo
    """Whether monitoring is switched off (`yes` or `no` in JSON)."""
    false_positive: YesNo | None
    """Whether the URL was marked a false positive (`yes` or `no` in JSON)."""
    country: str | None
    """ISO 3166-1 short name of the country."""
    discovery_date: str | None
    """When the URL was first discovered, UTC."""
    last_review_date: str | None
    """When the URL was last reviewed, UTC."""
    last_crawl_date: str | None
    """When the URL was last crawled, UTC."""
    last_seen: str | None
    """When the URL was last seen active, UTC."""
    affiliate_name: str | None
    """Name of the affiliate."""
    affiliate_id: str | None
    """The client's own identifier of the affiliate."""
    sub_affiliate_id: str | None
    """Identifier of the sub-affiliate."""
    owner_email: str | None
    """E-mail address of the URL's owner."""
    social_one: str | None
    """Social media link."""
    social_two: str | None
    """Social media link."""
    social_three: str | None
    """Social media link."""
    phone_one: str | None
    """Phone number."""
    phone_two: str | None
    """Phone number."""
    landing_page: str | None
    """URL of the landing page."""
    case_id: int | None
    """ID of the case that contains this URL as an incident."""
    note: str | None
    """Notes."""
    video_path: str | None
    """Path to video content."""
    transcription_text: str | None
    """Transcribed text."""
    transcription_status: str | None
    """Name of the transcription status. Every company starts with: Queued, In Progress, Completed, Failed. It can add its own names."""
    infractions: list[Infraction]
    """The infractions found on the URL, oldest first."""


IncidentType = Literal["url", "form", "display ad", "paid search ad"]


class Incident(TypedDict):
    """Content found in breach of policy."""

    incident_id: int
    """ID of the incident."""
    incident_type: IncidentType
    """The kind of content."""
    infraction_type: str | None
    """Infraction type, a vocabulary name."""
    infraction_name: str | None
    """Infraction name, a vocabulary name."""
    url_id: int | None
    """For the type `url`: ID of the URL."""
    url: str | None
    """For the type `url`: the URL."""
    reference: str | None
    """For other types: the finder's identifier of the content."""


class ComplianceCase(TypedDict):
    """Incidents grouped for an affiliate. Affiliate fields show the affiliate's current data."""

    case_id: int
    """Assigned by the service."""
    case_worker: str | None
    """Who works on the case."""
    tags: list[str]
    """Tags, in the order they were given."""
    case_status: str | None
    """Name of the case status. Every company starts with: New, Open, In Progress, Blocked, Resolved, Closed, Rejected, Invalid, Duplicate. It can add its own names."""
    sub_status: str | None
    """Name of the sub-status. Every company starts with: Under Review, Quality Assurance, Awaiting Evidence, Awaiting Response, Content Removed, Content Modified, Platform Takedown Requested, Escalated, Appealed. It can add its own names."""
    submitter: str | None
    """Who submitted the case."""
    notice_status: str | None
    """Name of the notice status. Every company starts with: Pending, Not Required, Sent, Reminder Sent, Final Notice, Acknowledged, Responded, Expired. It can add its own names."""
    risk_level: str | None
    """Name of the risk level. Every company starts with: Low, Medium, High, Critical. It can add its own names."""
    case_country: str | None
    """ISO 3166-1 short name of the case's country."""
    sub_affiliate_id: str | None
    """Identifier of the sub-affiliate."""
    created_date: str | None
    """When the case was created, UTC."""
    reviewed_date: str | None
    """When the case was reviewed, UTC."""
    resolved_date: str | None
    """When the case was resolved, UTC."""
    first_action_date: str | None
    """When the first action was taken, UTC."""
    flagged_date: str | None
    """When the case was flagged, UTC."""
    follow_up_date: str | None
    """When the case is due for follow-up, UTC."""
    closed_date: str | None
    """When the case was closed, UTC."""
    affiliate_name: str | None
    """Name of the affiliate."""
    affiliate_id: str | None
    """The client's own identifier of the affiliate."""
    merchant_type: str | None
    """The affiliate's merchant type."""
    first_name: str | None
    """The affiliate's first name."""
    last_name: str | None
    """The affiliate's last name."""
    status: AffiliateStatus | None
    """The affiliate's status."""
    ranking: str | None
    """The affiliate's ranking."""
    start_date: str | None
    """The affiliate's start date, YYYY-MM-DD."""
    language_used: str | None
    """The affiliate's language."""
    territory: str | None
    """The affiliate's territory."""
    notes: str | None
    """Internal notes on the affiliate."""
    email_one: str | None
    """The affiliate's e-mail address."""
    email_two: str | None
    """The affiliate's e-mail address."""
    phone_one: str | None
    """The affiliate's phone number."""
    phone_two: str | None
    """The affiliate's phone number."""
    address: str | None
    """The affiliate's street address."""
    city: str | None
    """The affiliate's city."""
    state: str | None
    """The affiliate's state or province."""
    zip: str | None
    """The affiliate's postal code."""
    affiliate_country: str | None
    """ISO 3166-1 short name of the affiliate's country."""
    facebook: str | None
    """URL or handle."""
    youtube: str | None
    """URL or handle."""
    twitter: str | None
    """URL or handle."""
    tiktok: str | None
    """URL or handle."""
    pintrest: str | None
    """URL or handle on Pinterest. The field name is spelled this way."""
    replicated_website: str | None
    """The affiliate's copy of the company's site."""
    sponsor: str | None
    """The sponsor's own affiliate identifier."""
    upline: str | None
    """The upline's own affiliate identifier."""
    upline_name: str | None
    """Name of the affiliate that the upline identifies."""
    last_updated_date: str | None
    """When the case was last changed, UTC."""
    incidents: list[Incident]
    """The incidents of the case, in the order attached."""
    distributor_id: int
    """ID of the affiliate, assigned by the service."""
    note: str | None
    """Notes on the case."""


class OpenCasesByRisk(TypedDict):
    """Open cases of one risk level."""

    risk_level: str | None
    """Name of the risk level."""
    open: int
    """Number of open cases."""


class OpenCasesByAge(TypedDict):
    """Open cases within an age range."""

    from_days: int
    """Minimum number of days since the creation day."""
    to_days: int | None
    """Maximum number of days since the creation day."""
    open: int
    """Number of open cases."""


class OverdueCase(TypedDict):
    """An open case whose follow-up date has passed."""

    case_id: int
    """ID assigned by the service."""
    follow_up_date: str | None
    """When the follow-up was due, UTC."""
    risk_level: str | None
    """Name of the risk level."""
    case_status: str | None
    """Name of the case status."""
    affiliate_name: str | None
    """Name of the affiliate."""
    affiliate_id: str | None
    """The client's own identifier of the affiliate."""


class CaseOverview(TypedDict):
    """Open cases: all cases except those with the status Resolved, Closed, Rejected, Invalid or Duplicate."""

    open: int
    """Number of open cases."""
    by_risk: list[OpenCasesByRisk]
    """Open cases by risk level: Critical, High, Medium, Low, none, then the company's own risk levels."""
    by_age: list[OpenCasesByAge]
    """Open cases by age in days. A creation date in the future counts as today."""
    overdue: int
    """Number of open cases with a follow-up date in the past."""
    overdue_cases: list[OverdueCase]
    """The first 20 overdue cases, oldest follow-up date first."""


class UrlOverview(TypedDict):
    """All and new URLs."""

    total: int
    """Number of URLs."""
    new: int
    """Number of URLs discovered in the last seven days, including today."""


class InfractionOverview(TypedDict):
    """New infractions."""

    new: int
    """Number of infractions recorded in the last seven days, including today."""
    urls: int
    """How many URLs they are of."""


OverviewWeek = TypedDict("OverviewWeek", {
    # The first day, YYYY-MM-DD.
    "from": str,
    # Number of discovered URLs.
    "new_urls": int,
    # Number of recorded infractions.
    "new_infractions": int,
    # Number of created cases.
    "new_cases": int,
    # Number of closed cases.
    "closed_cases": int,
    # URLs whose infractions were recorded.
    "infraction_urls": int,
})
"""Figures of seven days."""


class Overview(TypedDict):
    """What is open, overdue and new. Days and weeks are in UTC. "New" means within the last seven days, the last entry of `weeks`."""

    cases: CaseOverview
    urls: UrlOverview
    infractions: InfractionOverview
    weeks: list[OverviewWeek]
    """The last twelve weeks, oldest first. The last one ends today."""


class VocabularyEntry(TypedDict):
    """One name."""

    id: int
    """ID of the name. Names that every company has share IDs below 1000."""
    name: str
    """The name."""
    infraction_type: str | None
    """For an infraction name: the infraction type that the name belongs to."""
    own: YesNo
    """Whether the company added the name."""


class VocabularyNames(TypedDict):
    """One vocabulary."""

    vocabulary: Literal["case_status", "case_sub_status", "notice_status", "risk_level", "url_incident_status", "transcription_status", "infraction_type", "infraction_name", "incident_type"]
    """The vocabulary."""
    entries: list[VocabularyEntry]
    """The names, by ascending ID."""


class FieldChange(TypedDict):
    """A field that changed. Values are texts in their stored form:

- numbers in decimal, flags as `yes` or `no`, lists as JSON.
- timestamps as `YYYY-MM-DD HH:MM:SS` (UTC), days as `YYYY-MM-DD`.
- countries as ISO 3166-1 numeric codes, vocabulary names as IDs."""

    field: str
    """Name of the field, as in requests. Stored IDs have names such as `affiliate_id` or `incident_status_id`."""
    before: str | None
    """The value before the change."""
    after: str | None
    """The value after the change."""


class Change(TypedDict):
    """A change of one record."""

    position: int
    """Position among the company's changes, from 1."""
    time: str | None
    """When the change was made, UTC. A higher position never has an earlier time."""
    resource: str
    """The record type: `affiliate`, `url`, `infraction` (of the URL `url_id`), `case`, `incident` (of the case `case_id`) or `vocabulary_entry` (a name that the company added). An erasure has the type `affiliate` or `company`. Only searches return changes of the type `webhook`, which never contain the secret."""
    id: int
    """ID of the record."""
    operation: str
    """The operation: `created`, `updated`, `deleted`, `erased` or `restored`. `erased`: the record is deleted, and its changes keep only IDs, dates and statuses. `restored`, of the type `company`: the database was restored from a backup, and the positions between the two values of the field `position` are lost."""
    fields: list[FieldChange]
    """The fields that changed. For a new or deleted record, all fields with a value."""
    subject: str | None
    """Subject of the token that made the change. Absent if the token has no subject, or if another program made the change. Only callers with the scope `audit` receive it. Webhook messages never contain it."""
    request_id: str | None
    """ID of the request that made the change, if any. Only callers with the scope `audit` receive it. Webhook messages never contain it."""


class AffiliateRosterItem(TypedDict):
    """An affiliate in a list, identified by its `client_affiliate_id`. The fields have the same rules as for a creation. An item that violates a rule fails alone. Null and `""` clear an optional field."""

    client_affiliate_id: NotRequired[str | None]
    """The client's own affiliate identifier. Several affiliates can have the same identifier."""
    affiliate_name: NotRequired[str | None]
    """Name of the affiliate, unique within the company. Names are compared exactly."""
    email_one: NotRequired[str | None]
    """E-mail address."""
    email_two: NotRequired[str | None]
    """E-mail address."""
    phone_one: NotRequired[str | None]
    """Phone number."""
    phone_two: NotRequired[str | None]
    """Phone number."""
    facebook: NotRequired[str | None]
    """Profile or page URL."""
    instagram: NotRequired[str | None]
    """URL or handle."""
    youtube: NotRequired[str | None]
    """URL."""
    twitter: NotRequired[str | None]
    """URL or handle."""
    tiktok: NotRequired[str | None]
    """URL or handle."""
    pintrest: NotRequired[str | None]
    """URL or handle on Pinterest. The field name is spelled this way."""
    country: NotRequired[str | None]
    """ISO 3166-1 alpha-2 code, in either case."""
    first_name: NotRequired[str | None]
    """First name."""
    last_name: NotRequired[str | None]
    """Last name."""
    notes: NotRequired[str | None]
    """Internal notes."""
    address: NotRequired[str | None]
    """Street address."""
    city: NotRequired[str | None]
    """City."""
    state: NotRequired[str | None]
    """State or province, name or code."""
    zip: NotRequired[str | None]
    """Postal code."""
    ranking: NotRequired[str | None]
    """Ranking."""
    replicated_website: NotRequired[str | None]
    """The affiliate's copy of the company's site."""
    sponsor: NotRequired[str | None]
    """Name of the sponsor."""
    upline: NotRequired[str | None]
    """The upline's own affiliate identifier."""
    status: NotRequired[str | None]
    """Status of the affiliate."""
    start_date: NotRequired[str | None]
    """Calendar day, YYYY-MM-DD or MM/DD/YYYY."""
    language_used: NotRequired[str | None]
    """Language."""
    territory: NotRequired[str | None]
    """Territory."""
    entrepreneur_id: NotRequired[str | None]
    """Identifier."""
    entrepreneur_spouse_id: NotRequired[str | None]
    """Identifier."""
    international_distributor: NotRequired[str | None]
    """Flag or identifier."""
    is_territory_director: NotRequired[str | None]
    """Flag or identifier."""
    jv_status: NotRequired[str | None]
    """Status."""
    league: NotRequired[str | None]
    """League."""
    territory_master: NotRequired[str | None]
    """Territory master."""
    merchant_type: NotRequired[str | None]
    """Merchant type."""
    company_name: NotRequired[str | None]
    """Name of the affiliate's company."""
    sponsor_id: NotRequired[str | None]
    """The sponsor's own affiliate identifier."""
    sponsor_email: NotRequired[str | None]
    """The sponsor's e-mail address."""
    pay_rank: NotRequired[str | None]
    """Pay rank."""
    recognition_rank: NotRequired[str | None]
    """Recognition rank."""


class FieldViolation(TypedDict):
    """A rule violation by one field of an item."""

    field: str
    """Path of the field within the item, such as `country` or `infractions.0.infraction_name`."""
    description: str
    """What is wrong, in a sentence."""


class AffiliateSyncResult(TypedDict):
    """The result of one item."""

    code: Literal["1020", "1021", "1023"]
    """1020: the affiliate has the item's values. 1021: refused. 1023: refused, because another affiliate has the name."""
    outcome: Literal["created", "updated", "unchanged", "refused"]
    """What became of the item."""
    affiliate_id: int | None
    """ID of the affiliate. Absent if `validate_only` would create it."""
    client_affiliate_id: str | None
    """The client's own identifier, as sent."""
    changed_fields: list[str]
    """Names of the fields that differed."""
    conflicting_ids: list[int]
    """For a refused item: IDs of up to 10 affiliates that share the identifier, or ID of the affiliate that has the name."""
    conflicting_positions: list[int]
    """For a refused item: positions, from 0, of all items with the same identifier or name, including this one."""
    violations: list[FieldViolation]
    """For a refused item: the violations."""
    msg: str
    """What happened, in a sentence."""


class AbsentAffiliate(TypedDict):
    """An affiliate that is missing in the list."""

    affiliate_id: int
    """ID assigned by the service."""
    client_affiliate_id: str
    """The client's own identifier."""
    status: str | None
    """The status before the sync."""
    changed: YesNo
    """Whether the status changed, or would change."""


class BatchSyncAffiliatesResponse(TypedDict):
    """The result of a sync."""

    results: list[AffiliateSyncResult]
    """One result per item, in the order sent."""
    absent: list[AbsentAffiliate]
    """Absent affiliates by ascending ID, at most 1,000."""
    absent_total: int
    """Number of all absent affiliates; 0 if they were not requested."""
    absent_changed: int
    """Number of absent affiliates whose status changed, or would change. The others already have this status."""


class EraseAffiliateResponse(TypedDict):
    """The number of erased records, besides the affiliate."""

    urls: int
    """Number of erased URLs."""
    cases: int
    """Number of erased cases."""
    incidents: int
    """Number of erased incidents, including incidents of other cases with these URLs."""
    infractions: int
    """Number of erased infractions."""


class InfractionInput(TypedDict):
    """An infraction to record or withdraw."""

    infraction_type: str
    """A name in the infraction type vocabulary."""
    infraction_name: NotRequired[str | None]
    """A name in the infraction name vocabulary that belongs to the type."""
    created_date: NotRequired[str | None]
    """When the infraction was found; now by default. A known infraction keeps its date."""


class UrlReview(TypedDict):
    """The fields that a review changes."""

    incident_status: NotRequired[str | None]
    """A name in the URL incident status vocabulary. It cannot be cleared."""
    false_positive: NotRequired[bool | YesNo | None]
    """Whether the URL was marked a false positive."""
    disabled: NotRequired[bool | YesNo | None]
    """Whether monitoring is switched off. It cannot be cleared."""
    note: NotRequired[str | None]
    """Notes."""
    infractions: NotRequired[list[InfractionInput] | None]
    """The infractions of the URL; at most 100. They replace all infractions that the URL has. A known infraction keeps its date."""


class CaseFields(TypedDict):
    """The writable fields of a case. Some dates follow from a change. The service sets them to the time of the change, unless the request sets or clears them:

- `created_date`: the case is opened.
- `first_action_date`: the first status other than New, case worker, notice status, or change of incidents.
- `reviewed_date`: for the first time, the status leaves New and Open, or a sub-status is set.
- `flagged_date`: for the first time, the risk level becomes High or Critical.
- `resolved_date`: the status becomes Resolved. It is cleared when the case reopens.
- `closed_date`: the status becomes Closed, Rejected, Invalid or Duplicate. It is cleared when the status leaves these.
- `last_updated_date`: the case is opened, or the case or its incidents change.

"For the first time" means while the date is null. Opening a case counts as a change of an empty case with the status New. The incidents of a new case do not count as an action. A case reopens when its status leaves Resolved, Closed, Rejected, Invalid and Duplicate. A case that is resolved and later closed keeps its `resolved_date`. A request that changes nothing sets no date."""

    client_affiliate_id: NotRequired[str | None]
    """The affiliate, by the client's own identifier. If several affiliates have it, the oldest one. A case always has an affiliate: you can change it but not clear it."""
    affiliate_id: NotRequired[int | None]
    """The affiliate by its ID, instead of `client_affiliate_id`."""
    case_worker: NotRequired[str | None]
    """Who works on the case."""
    tags: NotRequired[list[str] | None]
    """Tags, in this order; at most 100. An update replaces all tags."""
    case_status: NotRequired[str | None]
    """A name in the case status vocabulary; New by default. It cannot be cleared."""
    sub_status: NotRequired[str | None]
    """A name in the case sub-status vocabulary."""
    submitter: NotRequired[str | None]
    """Who submitted the case."""
    notice_status: NotRequired[str | None]
    """A name in the notice status vocabulary."""
    risk_level: NotRequired[str | None]
    """A name in the risk level vocabulary."""
    case_country: NotRequired[str | None]
    """ISO 3166-1 alpha-2 code, in either case."""
    sub_affiliate_id: NotRequired[str | None]
    """Identifier of the sub-affiliate."""
    created_date: NotRequired[str | None]
    """When the case was created. It cannot be cleared."""
    reviewed_date: NotRequired[str | None]
    """When the case was reviewed."""
    resolved_date: NotRequired[str | None]
    """When the case was resolved."""
    first_action_date: NotRequired[str | None]
    """When the first action was taken."""
    flagged_date: NotRequired[str | None]
    """When the case was flagged."""
    follow_up_date: NotRequired[str | None]
    """When the case is due for follow-up."""
    closed_date: NotRequired[str | None]
    """When the case was closed."""
    last_updated_date: NotRequired[str | None]
    """When the case was last changed."""
    note: NotRequired[str | None]
    """Notes on the case."""


class IncidentInput(TypedDict):
    """An incident to attach to a case: content found in breach of policy."""

    incident_type: IncidentType
    """The kind of content."""
    url: NotRequired[str | None]
    """For the type `url`: the URL as text. The company must have it."""
    url_id: NotRequired[int | None]
    """For the type `url`: the URL by its ID, instead of `url`."""
    reference: NotRequired[str | None]
    """For other types: the finder's identifier of the content. The same reference identifies the same incident."""
    infraction_type: NotRequired[str | None]
    """A name in the infraction type vocabulary."""
    infraction_name: NotRequired[str | None]
    """A name in the infraction name vocabulary that belongs to the type."""


class CaseOpen(TypedDict):
    """A request to open a case. Exported cases also have this form."""

    request_id: str
    """The caller's identifier for this case, unique within the company. A `request_id` opens at most one case. A second request with the same content returns the same case, even if the case has changed since. A second request with other content fails with ALREADY_EXISTS: the error names the case and the fields that differ. With `dates_as_given`, content that equals the case's current export also returns the case."""
    case: CaseFields
    """The fields of the case. The affiliate is required."""
    incidents: NotRequired[list[IncidentInput] | None]
    """The incidents, in this order; at most 10,000."""
    dates_as_given: NotRequired[bool | YesNo | None]
    """Imports a past case: absent dates stay absent, except `created_date`, which every case has."""


class CaseUpdate(TypedDict):
    """The writable fields of a case. Some dates follow from a change. The service sets them to the time of the change, unless the request sets or clears them:

- `created_date`: the case is opened.
- `first_action_date`: the first status other than New, case worker, notice status, or change of incidents.
- `reviewed_date`: for the first time, the status leaves New and Open, or a sub-status is set.
- `flagged_date`: for the first time, the risk level becomes High or Critical.
- `resolved_date`: the status becomes Resolved. It is cleared when the case reopens.
- `closed_date`: the status becomes Closed, Rejected, Invalid or Duplicate. It is cleared when the status leaves these.
- `last_updated_date`: the case is opened, or the case or its incidents change.

"For the first time" means while the date is null. Opening a case counts as a change of an empty case with the status New. The incidents of a new case do not count as an action. A case reopens when its status leaves Resolved, Closed, Rejected, Invalid and Duplicate. A case that is resolved and later closed keeps its `resolved_date`. A request that changes nothing sets no date."""

    client_affiliate_id: NotRequired[str | None]
    """The affiliate, by the client's own identifier. If several affiliates have it, the oldest one. A case always has an affiliate: you can change it but not clear it."""
    affiliate_id: NotRequired[int | None]
    """The affiliate by its ID, instead of `client_affiliate_id`."""
    case_worker: NotRequired[str | None]
    """Who works on the case."""
    tags: NotRequired[list[str] | None]
    """Tags, in this order; at most 100. An update replaces all tags."""
    case_status: NotRequired[str | None]
    """A name in the case status vocabulary; New by default. It cannot be cleared."""
    sub_status: NotRequired[str | None]
    """A name in the case sub-status vocabulary."""
    submitter: NotRequired[str | None]
    """Who submitted the case."""
    notice_status: NotRequired[str | None]
    """A name in the notice status vocabulary."""
    risk_level: NotRequired[str | None]
    """A name in the risk level vocabulary."""
    case_country: NotRequired[str | None]
    """ISO 3166-1 alpha-2 code, in either case."""
    sub_affiliate_id: NotRequired[str | None]
    """Identifier of the sub-affiliate."""
    created_date: NotRequired[str | None]
    """When the case was created. It cannot be cleared."""
    reviewed_date: NotRequired[str | None]
    """When the case was reviewed."""
    resolved_date: NotRequired[str | None]
    """When the case was resolved."""
    first_action_date: NotRequired[str | None]
    """When the first action was taken."""
    flagged_date: NotRequired[str | None]
    """When the case was flagged."""
    follow_up_date: NotRequired[str | None]
    """When the case is due for follow-up."""
    closed_date: NotRequired[str | None]
    """When the case was closed."""
    last_updated_date: NotRequired[str | None]
    """When the case was last changed."""
    note: NotRequired[str | None]
    """Notes on the case."""


class CaseResolve(TypedDict):
    """A request to resolve a case."""

    resolved_date: NotRequired[str | None]
    """When the case was resolved; now by default."""


class CaseClose(TypedDict):
    """A request to close a case."""

    case_status: NotRequired[Literal["Closed", "Rejected", "Invalid", "Duplicate"] | None]
    """The status that ends the case; Closed by default. A case that is already closed takes this status if you send one."""
    closed_date: NotRequired[str | None]
    """When the case was closed; now by default."""


class CaseReopen(TypedDict):
    """A request to reopen a case."""

    case_status: NotRequired[str | None]
    """A case status other than Resolved, Closed, Rejected, Invalid and Duplicate; Open by default."""


class IncidentItem(TypedDict):
    """An incident to attach to a case: content found in breach of policy. An item that violates a rule fails alone."""

    incident_type: NotRequired[IncidentType | None]
    """The kind of content."""
    url: NotRequired[str | None]
    """For the type `url`: the URL as text. The company must have it."""
    url_id: NotRequired[int | None]
    """For the type `url`: the URL by its ID, instead of `url`."""
    reference: NotRequired[str | None]
    """For other types: the finder's identifier of the content. The same reference identifies the same incident."""
    infraction_type: NotRequired[str | None]
    """A name in the infraction type vocabulary."""
    infraction_name: NotRequired[str | None]
    """A name in the infraction name vocabulary that belongs to the type."""


class IncidentKey(TypedDict):
    """Identifies an incident within a case: by ID, or by type and content. An item that violates a rule fails alone."""

    incident_id: NotRequired[int | None]
    """ID of the incident."""
    incident_type: NotRequired[IncidentType | None | None]
    """The kind of content, unless `incident_id` is given."""
    url: NotRequired[str | None]
    """For the type `url`: the URL as text."""
    url_id: NotRequired[int | None]
    """For the type `url`: the URL by its ID, instead of `url`."""
    reference: NotRequired[str | None]
    """For other types: the reference."""


class Webhook(TypedDict):
    """A webhook."""

    id: int
    """ID assigned by the service."""
    url: str
    """URL of the endpoint."""
    types: list[str]
    """The record types whose changes are sent; all types if empty."""
    description: str | None
    """What the webhook is for."""
    status: str
    """`enabled` or `disabled`."""
    disabled_reason: str | None
    """Why the webhook is disabled."""
    position: int
    """Changes up to this position are delivered."""
    attempts: int
    """Number of failed attempts to send the next message."""
    failing_since: str | None
    """When the next message first failed. After three days, the service disables the webhook."""
    next_attempt_at: str | None
    """When the service retries the failed message."""
    previous_secret_until: str | None
    """Until when messages are also signed with the previous secret."""
    created_at: str | None
    """When the webhook was created."""


class WebhookCreate(TypedDict):
    url: str
    """URL of the endpoint, beginning with `https://`, at a public address. Required for a new webhook."""
    types: NotRequired[list[Literal["affiliate", "url", "infraction", "case", "incident", "vocabulary_entry"]] | None]
    """Only changes of these record types; all types by default. To return to the default, name all types."""
    description: NotRequired[str | None]
    """What the webhook is for. An empty text removes the description."""
    status: NotRequired[Literal["enabled", "disabled"] | None]
    """`disabled`, or `enabled` to resume delivery. A new webhook is enabled."""
    position: NotRequired[int | None]
    """Sends changes after this position; 0 sends all available changes. By default, a new webhook receives only later changes."""


class WebhookUpdate(TypedDict):
    url: NotRequired[str | None]
    """URL of the endpoint, beginning with `https://`, at a public address. Required for a new webhook."""
    types: NotRequired[list[Literal["affiliate", "url", "infraction", "case", "incident", "vocabulary_entry"]] | None]
    """Only changes of these record types; all types by default. To return to the default, name all types."""
    description: NotRequired[str | None]
    """What the webhook is for. An empty text removes the description."""
    status: NotRequired[Literal["enabled", "disabled"] | None]
    """`disabled`, or `enabled` to resume delivery. A new webhook is enabled."""
    position: NotRequired[int | None]
    """Sends changes after this position; 0 sends all available changes. By default, a new webhook receives only later changes."""


class CreateWebhookResponse(TypedDict):
    """The webhook was created."""

    webhook: Webhook
    secret: str
    """The signing secret. You cannot read it later."""


class TestWebhookResponse(TypedDict):
    """The result of a test message."""

    message_id: str
    """ID of the message, which its header `webhook-id` carries."""
    http_status: int | None
    """HTTP status of the endpoint's response."""
    error: str | None
    """Why the message was not delivered."""
    duration_ms: int
    """Duration of the attempt, in milliseconds."""


class WebhookDelivery(TypedDict):
    """An attempt to deliver the changes of a range of positions."""

    number: int
    """Number of the attempt among all attempts of the webhook. Numbers can have gaps."""
    message_id: str
    """ID of the message, which its header `webhook-id` carries. All attempts to send the message share it."""
    after: int
    """The message contains changes after this position."""
    position: int
    """The message contains changes up to this position."""
    attempt: int
    """Number of the attempt to send this message, from 1."""
    time: str | None
    """When the attempt began."""
    duration_ms: int
    """Duration of the attempt, in milliseconds."""
    http_status: int | None
    """HTTP status of the endpoint's response."""
    error: str | None
    """Why the message was not delivered."""


class UrlFilters(TypedDict):
    incident_status_id: NotRequired[int]
    """Only URLs with this incident status. Every company starts with: 1 New, 2 Open, 3 In Violation, 4 Approved, 5 Remediated, 6 Archived. It can add its own names."""
    distributor_id: NotRequired[int]
    """Only URLs of the affiliate with this ID, assigned by the service."""
    disabled: NotRequired[YesNo]
    """Only URLs with monitoring switched off, or only URLs with monitoring switched on."""
    discovery_after: NotRequired[str]
    """Only URLs discovered on or after this day, YYYY-MM-DD, UTC."""
    discovery_before: NotRequired[str]
    """Only URLs discovered on or before this day, YYYY-MM-DD, UTC."""
    infraction_after: NotRequired[str]
    """With an infraction recorded on or after this day, YYYY-MM-DD, UTC."""
    infraction_before: NotRequired[str]
    """With an infraction recorded on or before this day, YYYY-MM-DD, UTC. With both, one infraction is between them."""
    changed_after: NotRequired[int]
    """Only URLs that changed after this position in the record of changes, or whose infractions did."""


class CaseFilters(TypedDict):
    case_status_id: NotRequired[int]
    """Only cases with this case status. Every company starts with: 1 New, 2 Open, 3 In Progress, 4 Blocked, 5 Resolved, 6 Closed, 7 Rejected, 8 Invalid, 9 Duplicate. It can add its own names."""
    created_after: NotRequired[str]
    """Only cases created on or after this day, YYYY-MM-DD, UTC."""
    created_before: NotRequired[str]
    """Only cases created on or before this day, YYYY-MM-DD, UTC."""
    distributor_id: NotRequired[int]
    """Only cases of the affiliate with this ID, assigned by the service."""
    open: NotRequired[YesNo]
    """Only open cases, or only ended cases: Resolved, Closed, Rejected, Invalid or Duplicate."""
    risk_level_id: NotRequired[int]
    """Only cases with this risk level; 0 selects cases without a risk level. Every company starts with: 1 Low, 2 Medium, 3 High, 4 Critical. It can add its own names."""
    sub_status_id: NotRequired[int]
    """Only cases with this sub-status; 0 selects cases without a sub-status. Every company starts with: 1 Under Review, 2 Quality Assurance, 3 Awaiting Evidence, 4 Awaiting Response, 5 Content Removed, 6 Content Modified, 7 Platform Takedown Requested, 8 Escalated, 9 Appealed. It can add its own names."""
    case_worker: NotRequired[str]
    """Only cases of this case worker, compared exactly."""
    assigned: NotRequired[YesNo]
    """Only cases with a case worker, or only cases without a case worker."""
    follow_up_after: NotRequired[str]
    """Only cases due for follow-up on or after this day, YYYY-MM-DD, UTC."""
    follow_up_before: NotRequired[str]
    """Only cases due for follow-up on or before this day, YYYY-MM-DD, UTC."""
    overdue: NotRequired[YesNo]
    """Only open cases with an overdue follow-up, or only all other cases."""
    closed_after: NotRequired[str]
    """Only cases closed on or after this day, YYYY-MM-DD, UTC."""
    closed_before: NotRequired[str]
    """Only cases closed on or before this day, YYYY-MM-DD, UTC."""
    infraction_type_id: NotRequired[int]
    """Only cases with an incident of this infraction type. Every company starts with: 1 Earnings Claim, 2 Health Claim, 3 Product Claim, 4 Trademark, 5 Promotion, 6 Disclosure, 7 Traffic Quality, 8 Recruiting. It can add its own names."""
    changed_after: NotRequired[int]
    """Only cases that changed after this position in the record of changes, or whose incidents did."""


AFFILIATE_FIELDS: dict[str, int | None] = {
    "client_affiliate_id": 64,
    "affiliate_name": 128,
    "email_one": 50,
    "email_two": 50,
    "phone_one": 30,
    "phone_two": 128,
    "facebook": 128,
    "instagram": 255,
    "youtube": 128,
    "twitter": 64,
    "tiktok": 64,
    "pintrest": 64,
    "country": 2,
    "first_name": 128,
    "last_name": 64,
    "notes": 2048,
    "address": 512,
    "city": 64,
    "state": 64,
    "zip": 16,
    "ranking": 64,
    "replicated_website": 256,
    "sponsor": 64,
    "upline": 255,
    "status": None,
    "start_date": 10,
    "language_used": 64,
    "territory": 64,
    "entrepreneur_id": 255,
    "entrepreneur_spouse_id": 255,
    "international_distributor": 255,
    "is_territory_director": 255,
    "jv_status": 255,
    "league": 255,
    "territory_master": 255,
    "merchant_type": 255,
    "company_name": 255,
    "sponsor_id": 64,
    "sponsor_email": 255,
    "pay_rank": 64,
    "recognition_rank": 64,
}
"""The fields of an affiliate that can be sent, with the most characters of each."""
