"""The records and the inputs of the interface, as JSON has them. Generated from docs/openapi.json by generate_models.py."""

from typing import Literal, NotRequired, TypedDict


AffiliateStatus = Literal["active", "inactive", "probation", "suspended", "terminated", "forgotten"]


class Affiliate(TypedDict):
    """An affiliate as it is read. Names are those of the documented read form."""

    id: int
    """Assigned by the service."""
    client_id: int
    """The company that the record belongs to."""
    client_distributor_id: str | None
    """The client's own affiliate identifier. Several affiliates may have the same one."""
    distributor_name: str | None
    """Unique within the company; compared exactly."""
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
    """URL or handle (the name is spelled so in the interface)."""
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
    """An affiliate to be created. For optional fields, null and `""` are the same as absent."""

    client_affiliate_id: str
    """The client's own affiliate identifier. Several affiliates may have the same one."""
    affiliate_name: str
    """Unique within the company; compared exactly."""
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
    """URL or handle (the name is spelled so in the interface)."""
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
    """Changes to an affiliate: only the fields that are sent. Null and `""` clear an optional field."""

    id: int
    """ID assigned by the service. It equals the ID in the URL."""
    client_affiliate_id: NotRequired[str]
    """The client's own affiliate identifier. Several affiliates may have the same one."""
    affiliate_name: NotRequired[str]
    """Unique within the company; compared exactly."""
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
    """URL or handle (the name is spelled so in the interface)."""
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
    """Type, a name of the catalogue."""
    infraction_name: str | None
    """Name, a name of the catalogue."""
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
    """Name of the incident status. Every company starts with: New, Open, In Violation, Approved, Remediated, Archived. It may add its own names."""
    disabled: YesNo
    """Whether monitoring is switched off (`yes` or `no` in JSON)."""
    false_positive: YesNo | None
    """Whether it was marked a false positive (`yes` or `no` in JSON)."""
    country: str | None
    """ISO 3166-1 short name of the country."""
    discovery_date: str | None
    """When it was first discovered, UTC."""
    last_review_date: str | None
    """When it was last reviewed, UTC."""
    last_crawl_date: str | None
    """When it was last crawled, UTC."""
    last_seen: str | None
    """When it was last seen active, UTC."""
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
    """The compliance case that the URL is an incident of."""
    note: str | None
    """Notes."""
    video_path: str | None
    """Path to video content."""
    transcription_text: str | None
    """Transcribed text."""
    transcription_status: str | None
    """Name of the transcription status. Every company starts with: Queued, In Progress, Completed, Failed. It may add its own names."""
    infractions: list[Infraction]
    """What was found on it, oldest first."""


IncidentType = Literal["url", "form", "display ad", "paid search ad"]


class Incident(TypedDict):
    """Content found in breach of policy."""

    incident_id: int
    """Identifier of the incident."""
    incident_type: IncidentType
    """What it was found in."""
    infraction_type: str | None
    """Type, a name of the catalogue."""
    infraction_name: str | None
    """Name, a name of the catalogue."""
    url_id: int | None
    """For the type url: ID of the URL."""
    url: str | None
    """For the type url: the URL."""
    reference: str | None
    """For any other type: the finder's identifier of the content."""


class ComplianceCase(TypedDict):
    """Incidents grouped for an affiliate. Fields of the affiliate have its current data."""

    case_id: int
    """Assigned by the service."""
    case_worker: str | None
    """Who works on the case."""
    tags: list[str]
    """Tags, in the order they were given."""
    case_status: str | None
    """Name of the case status. Every company starts with: New, Open, In Progress, Blocked, Resolved, Closed, Rejected, Invalid, Duplicate. It may add its own names."""
    sub_status: str | None
    """Name of the sub-status. Every company starts with: Under Review, Quality Assurance, Awaiting Evidence, Awaiting Response, Content Removed, Content Modified, Platform Takedown Requested, Escalated, Appealed. It may add its own names."""
    submitter: str | None
    """Who submitted the case."""
    notice_status: str | None
    """Name of the notice status. Every company starts with: Pending, Not Required, Sent, Reminder Sent, Final Notice, Acknowledged, Responded, Expired. It may add its own names."""
    risk_level: str | None
    """Name of the risk level. Every company starts with: Low, Medium, High, Critical. It may add its own names."""
    case_country: str | None
    """ISO 3166-1 short name of the case's country."""
    sub_affiliate_id: str | None
    """Identifier of the sub-affiliate."""
    created_date: str | None
    """When the case was created, UTC."""
    reviewed_date: str | None
    """When it was reviewed, UTC."""
    resolved_date: str | None
    """When it was resolved, UTC."""
    first_action_date: str | None
    """When the first action was taken, UTC."""
    flagged_date: str | None
    """When it was flagged, UTC."""
    follow_up_date: str | None
    """When it is to be followed up, UTC."""
    closed_date: str | None
    """When it was closed, UTC."""
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
    """URL or handle (the name is spelled so in the interface)."""
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
    """What the case is about, in the order attached."""
    distributor_id: int
    """ID of the affiliate, assigned by the service."""
    note: str | None
    """Notes on the case."""


class OpenCasesByRisk(TypedDict):
    """Open cases of a risk level."""

    risk_level: str | None
    """Name of the risk level."""
    open: int
    """How many are open."""


class OpenCasesByAge(TypedDict):
    """Open cases of an age."""

    from_days: int
    """Days since the day of creation, at least."""
    to_days: int | None
    """The same, at most."""
    open: int
    """How many are open."""


class OverdueCase(TypedDict):
    """An open case whose follow-up date has passed."""

    case_id: int
    """ID assigned by the service."""
    follow_up_date: str | None
    """When it was to be followed up, UTC."""
    risk_level: str | None
    """Name of the risk level."""
    case_status: str | None
    """Name of the case status."""
    affiliate_name: str | None
    """Name of the affiliate."""
    affiliate_id: str | None
    """The client's own identifier of the affiliate."""


class CaseOverview(TypedDict):
    """Cases that are open: those with another status than Resolved, Closed, Rejected, Invalid and Duplicate."""

    open: int
    """How many are open."""
    by_risk: list[OpenCasesByRisk]
    """How many of them have each risk level: Critical, High, Medium, Low, those without one, then the company's own names."""
    by_age: list[OpenCasesByAge]
    """How many of them were created how many days ago. A date of creation in the future counts as today."""
    overdue: int
    """How many of them have a follow-up date in the past."""
    overdue_cases: list[OverdueCase]
    """The first of these, at most 20, oldest follow-up date first."""


class UrlOverview(TypedDict):
    """URLs."""

    total: int
    """How many there are."""
    new: int
    """How many were discovered in the last seven days, today included."""


class InfractionOverview(TypedDict):
    """Infractions."""

    new: int
    """How many were recorded in the last seven days, today included."""
    urls: int
    """How many URLs they are of."""


OverviewWeek = TypedDict("OverviewWeek", {
    # The first day, YYYY-MM-DD.
    "from": str,
    # URLs that were discovered.
    "new_urls": int,
    # Infractions that were recorded.
    "new_infractions": int,
    # Cases that were created.
    "new_cases": int,
    # Cases that were closed.
    "closed_cases": int,
    # URLs whose infractions were recorded.
    "infraction_urls": int,
})
"""Seven days."""


class Overview(TypedDict):
    """What is open, overdue and new. Days and weeks are UTC; "new" is what the last week of `weeks` counts."""

    cases: CaseOverview
    urls: UrlOverview
    infractions: InfractionOverview
    weeks: list[OverviewWeek]
    """The last twelve weeks, oldest first. The last one ends today."""


class VocabularyEntry(TypedDict):
    """One name."""

    id: int
    """Its ID: below 1000 for names that every company has, the same for all of them."""
    name: str
    """The name."""
    infraction_type: str | None
    """For an infraction name: the type that it belongs to."""
    own: YesNo
    """Whether the company added it."""


class VocabularyNames(TypedDict):
    """One vocabulary."""

    vocabulary: Literal["case_status", "case_sub_status", "notice_status", "risk_level", "url_incident_status", "transcription_status", "infraction_type", "infraction_name", "incident_type"]
    """The vocabulary."""
    entries: list[VocabularyEntry]
    """Its names, by ID."""


class FieldChange(TypedDict):
    """A field with another value. Values are texts, as they are stored: numbers in decimal, flags as `yes` or `no`, timestamps as `YYYY-MM-DD HH:MM:SS` (UTC), days as `YYYY-MM-DD`, lists as JSON, countries as ISO 3166-1 numeric codes, and names of vocabularies as their IDs."""

    field: str
    """Name of the field, as records are written. IDs have names such as `affiliate_id` or `incident_status_id`."""
    before: str | None
    """The value before."""
    after: str | None
    """The value after."""


class Change(TypedDict):
    """A change of one record."""

    position: int
    """Its position among the changes of the company, from 1."""
    time: str | None
    """When it was made, UTC. It never decreases with the position."""
    resource: str
    """The kind of the record: `affiliate`, `url`, `infraction` (of the URL `url_id`), `case`, `incident` (of the case `case_id`) or `vocabulary_entry` (a name of the company's own). What was erased as a whole is an `affiliate` or the `company`. Only searches return changes of a `webhook`, which never have its secret: they are no part of what ListChanges and WatchChanges return."""
    id: int
    """ID of the record."""
    operation: str
    """What was done: `created`, `updated` or `deleted`; or `erased`: the record is deleted, and of its changes only IDs, dates and statuses are left. `restored`, of the `company`: the database was restored from a backup, and the positions between those of the field `position` are lost."""
    fields: list[FieldChange]
    """The fields that changed; of a record that is new or deleted, all that have a value."""
    subject: str | None
    """The subject of the token that made the change, if the token has one. A change by another program has none. Only callers whose own token has the scope `audit` receive it; messages to webhooks never have it."""
    request_id: str | None
    """ID of the request that made the change, if it has one. Only callers whose token has the scope `audit` receive it; messages to webhooks never have it."""


class AffiliateRosterItem(TypedDict):
    """An affiliate of a roster, identified by its `client_affiliate_id`. The fields have the rules of a creation; an item that violates one is refused alone. Null and `""` clear an optional field."""

    client_affiliate_id: NotRequired[str | None]
    """The client's own affiliate identifier. Several affiliates may have the same one."""
    affiliate_name: NotRequired[str | None]
    """Unique within the company; compared exactly."""
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
    """URL or handle (the name is spelled so in the interface)."""
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
    """A violation of a rule by one field of an item."""

    field: str
    """Path of the field within the item: `country`, `infractions.0.infraction_name`."""
    description: str
    """What is wrong, in a sentence."""


class AffiliateSyncResult(TypedDict):
    """The result of one item."""

    code: Literal["1020", "1021", "1023"]
    """1020: the affiliate has the values of the item. 1021: refused. 1023: refused, because another affiliate has the name."""
    outcome: Literal["created", "updated", "unchanged", "refused"]
    """What became of the item."""
    affiliate_id: int | None
    """The affiliate. Of one that `validate_only` would create, there is none yet."""
    client_affiliate_id: str | None
    """The identifier, as sent."""
    changed_fields: list[str]
    """The fields that differed, by name."""
    conflicting_ids: list[int]
    """Of a refused item: the affiliates that have the identifier, if they are several, at most 10, or the one that has the name."""
    conflicting_positions: list[int]
    """Of a refused item: the positions, from 0, of the items that have the same identifier or name, this one included."""
    violations: list[FieldViolation]
    """What is wrong with the fields of a refused item."""
    msg: str
    """What happened, in a sentence."""


class AbsentAffiliate(TypedDict):
    """An affiliate that the roster does not have."""

    affiliate_id: int
    """ID assigned by the service."""
    client_affiliate_id: str
    """The client's own identifier."""
    status: str | None
    """The status that it had."""
    changed: YesNo
    """Whether it got another one, or would get it."""


class BatchSyncAffiliatesResponse(TypedDict):
    """What became of a roster."""

    results: list[AffiliateSyncResult]
    """One result per item, in the order sent."""
    absent: list[AbsentAffiliate]
    """The affiliates that the roster does not have, by ID, at most 1,000."""
    absent_total: int
    """How many there are in all; 0 if they were not asked for."""
    absent_changed: int
    """How many of them got `absent_status`, or would get it. The others have it already."""


class EraseAffiliateResponse(TypedDict):
    """How many records were erased, besides the affiliate."""

    urls: int
    """URLs of the affiliate."""
    cases: int
    """Cases of the affiliate."""
    incidents: int
    """Incidents of these cases, and those of other cases with these URLs."""
    infractions: int
    """Infractions of these URLs."""


class InfractionInput(TypedDict):
    """An infraction to be recorded or withdrawn."""

    infraction_type: str
    """A name of the vocabulary of infraction types."""
    infraction_name: NotRequired[str | None]
    """A name of the vocabulary of infraction names that belongs to the type."""
    created_date: NotRequired[str | None]
    """When it was found; by default now. An infraction that exists keeps its date."""


class UrlReview(TypedDict):
    """The fields that a review changes."""

    incident_status: NotRequired[str | None]
    """A name of the vocabulary of URL incident statuses; cannot be cleared."""
    false_positive: NotRequired[bool | YesNo | None]
    """Whether the URL was marked a false positive."""
    disabled: NotRequired[bool | YesNo | None]
    """Whether monitoring is switched off; cannot be cleared."""
    note: NotRequired[str | None]
    """Notes."""
    infractions: NotRequired[list[InfractionInput] | None]
    """The infractions of the URL, which replace all that it has; at most 100. An infraction that exists keeps its date."""


class CaseFields(TypedDict):
    """The fields of a case as they are written. The service sets the dates that follow from a change to the time of the change, unless the same request gives them (or clears them by the mask):

| Date | set when | cleared when |
|---------------------|---------------------------------------------------------------------|-------------------|
| `created_date` | the case is opened | never |
| `first_action_date` | first: the status leaves New, a worker or a notice status is set, | never |
| | or an incident is attached or detached after the opening | |
| `reviewed_date` | first: the status becomes another than New or Open, or a sub-status | never |
| | is set | |
| `flagged_date` | first: the risk level becomes High or Critical | never |
| `resolved_date` | the status becomes Resolved | the case reopens |
| `closed_date` | the status becomes Closed, Rejected, Invalid or Duplicate | the status leaves |
| | | these four |
| `last_updated_date` | the case is opened, and at every change of it or of its incidents | never |

"First" means that the date is set only while it is null. The opening counts as a change of an empty case of the status New; incidents that a case is opened with are not an action. A case reopens when its status changes from Resolved or one of the four that close to any other; a case that is resolved and then closed keeps its `resolved_date`. A request that changes nothing sets nothing."""

    client_affiliate_id: NotRequired[str | None]
    """The affiliate by the client's own identifier; if several affiliates have it, the one created first. A case always has an affiliate: it can be changed, not cleared."""
    affiliate_id: NotRequired[int | None]
    """The affiliate by the ID that the service assigned, instead of `client_affiliate_id`."""
    case_worker: NotRequired[str | None]
    """Who works on the case."""
    tags: NotRequired[list[str] | None]
    """Tags, in this order; at most 100. An update replaces all of them."""
    case_status: NotRequired[str | None]
    """A name of the vocabulary of case statuses. By default New; cannot be cleared."""
    sub_status: NotRequired[str | None]
    """A name of the vocabulary of case sub-statuses."""
    submitter: NotRequired[str | None]
    """Who submitted the case."""
    notice_status: NotRequired[str | None]
    """A name of the vocabulary of notice statuses."""
    risk_level: NotRequired[str | None]
    """A name of the vocabulary of risk levels."""
    case_country: NotRequired[str | None]
    """ISO 3166-1 alpha-2 code, in either case."""
    sub_affiliate_id: NotRequired[str | None]
    """Identifier of the sub-affiliate."""
    created_date: NotRequired[str | None]
    """When the case was created; cannot be cleared."""
    reviewed_date: NotRequired[str | None]
    """When it was reviewed."""
    resolved_date: NotRequired[str | None]
    """When it was resolved."""
    first_action_date: NotRequired[str | None]
    """When the first action was taken."""
    flagged_date: NotRequired[str | None]
    """When it was flagged."""
    follow_up_date: NotRequired[str | None]
    """When it is to be followed up."""
    closed_date: NotRequired[str | None]
    """When it was closed."""
    last_updated_date: NotRequired[str | None]
    """When it was last changed."""
    note: NotRequired[str | None]
    """Notes on the case."""


class IncidentInput(TypedDict):
    """Content found in breach of policy, to be part of a case."""

    incident_type: IncidentType
    """What it was found in."""
    url: NotRequired[str | None]
    """For the type url: the URL by its text. The company must have it."""
    url_id: NotRequired[int | None]
    """For the type url: the URL by its ID, instead of `url`."""
    reference: NotRequired[str | None]
    """For any other type: the finder's identifier of the content. The same reference identifies the same incident."""
    infraction_type: NotRequired[str | None]
    """A name of the vocabulary of infraction types."""
    infraction_name: NotRequired[str | None]
    """A name of the vocabulary of infraction names that belongs to the type."""


class CaseOpen(TypedDict):
    """A request to open a case. This is also the form of an exported case."""

    request_id: str
    """The caller's identifier of the case or the request, unique within the company. A request with one that has opened a case opens no other. If its content is the same, it returns that case, whatever the case has become. If not, it is ALREADY_EXISTS: the error names the case, and the fields that differ from those that the case was opened with. With `dates_as_given`, content that is equal to the exported case as it is now also returns the case."""
    case: CaseFields
    """Its fields; the affiliate is required."""
    incidents: NotRequired[list[IncidentInput] | None]
    """Its incidents, in this order; at most 10,000."""
    dates_as_given: NotRequired[bool | YesNo | None]
    """The case is a record of the past: dates that are absent stay absent (but `created_date`, which every case has)."""


class CaseUpdate(TypedDict):
    """The fields of a case as they are written. The service sets the dates that follow from a change to the time of the change, unless the same request gives them (or clears them by the mask):

| Date | set when | cleared when |
|---------------------|---------------------------------------------------------------------|-------------------|
| `created_date` | the case is opened | never |
| `first_action_date` | first: the status leaves New, a worker or a notice status is set, | never |
| | or an incident is attached or detached after the opening | |
| `reviewed_date` | first: the status becomes another than New or Open, or a sub-status | never |
| | is set | |
| `flagged_date` | first: the risk level becomes High or Critical | never |
| `resolved_date` | the status becomes Resolved | the case reopens |
| `closed_date` | the status becomes Closed, Rejected, Invalid or Duplicate | the status leaves |
| | | these four |
| `last_updated_date` | the case is opened, and at every change of it or of its incidents | never |

"First" means that the date is set only while it is null. The opening counts as a change of an empty case of the status New; incidents that a case is opened with are not an action. A case reopens when its status changes from Resolved or one of the four that close to any other; a case that is resolved and then closed keeps its `resolved_date`. A request that changes nothing sets nothing."""

    client_affiliate_id: NotRequired[str | None]
    """The affiliate by the client's own identifier; if several affiliates have it, the one created first. A case always has an affiliate: it can be changed, not cleared."""
    affiliate_id: NotRequired[int | None]
    """The affiliate by the ID that the service assigned, instead of `client_affiliate_id`."""
    case_worker: NotRequired[str | None]
    """Who works on the case."""
    tags: NotRequired[list[str] | None]
    """Tags, in this order; at most 100. An update replaces all of them."""
    case_status: NotRequired[str | None]
    """A name of the vocabulary of case statuses. By default New; cannot be cleared."""
    sub_status: NotRequired[str | None]
    """A name of the vocabulary of case sub-statuses."""
    submitter: NotRequired[str | None]
    """Who submitted the case."""
    notice_status: NotRequired[str | None]
    """A name of the vocabulary of notice statuses."""
    risk_level: NotRequired[str | None]
    """A name of the vocabulary of risk levels."""
    case_country: NotRequired[str | None]
    """ISO 3166-1 alpha-2 code, in either case."""
    sub_affiliate_id: NotRequired[str | None]
    """Identifier of the sub-affiliate."""
    created_date: NotRequired[str | None]
    """When the case was created; cannot be cleared."""
    reviewed_date: NotRequired[str | None]
    """When it was reviewed."""
    resolved_date: NotRequired[str | None]
    """When it was resolved."""
    first_action_date: NotRequired[str | None]
    """When the first action was taken."""
    flagged_date: NotRequired[str | None]
    """When it was flagged."""
    follow_up_date: NotRequired[str | None]
    """When it is to be followed up."""
    closed_date: NotRequired[str | None]
    """When it was closed."""
    last_updated_date: NotRequired[str | None]
    """When it was last changed."""
    note: NotRequired[str | None]
    """Notes on the case."""


class CaseResolve(TypedDict):
    """A request to resolve a case."""

    resolved_date: NotRequired[str | None]
    """When it was resolved; by default now."""


class CaseClose(TypedDict):
    """A request to close a case."""

    case_status: NotRequired[Literal["Closed", "Rejected", "Invalid", "Duplicate"] | None]
    """The status that ends it; by default Closed. A case that another status has closed takes a status that is given."""
    closed_date: NotRequired[str | None]
    """When it was closed; by default now."""


class CaseReopen(TypedDict):
    """A request to reopen a case."""

    case_status: NotRequired[str | None]
    """A case status other than Resolved, Closed, Rejected, Invalid and Duplicate; by default Open."""


class IncidentItem(TypedDict):
    """Content found in breach of policy, to be part of a case. An item that breaks a rule is refused alone."""

    incident_type: NotRequired[IncidentType | None]
    """What it was found in."""
    url: NotRequired[str | None]
    """For the type url: the URL by its text. The company must have it."""
    url_id: NotRequired[int | None]
    """For the type url: the URL by its ID, instead of `url`."""
    reference: NotRequired[str | None]
    """For any other type: the finder's identifier of the content. The same reference identifies the same incident."""
    infraction_type: NotRequired[str | None]
    """A name of the vocabulary of infraction types."""
    infraction_name: NotRequired[str | None]
    """A name of the vocabulary of infraction names that belongs to the type."""


class IncidentKey(TypedDict):
    """The key of an incident within a case: its ID, or its type and content. An item that breaks a rule is refused alone."""

    incident_id: NotRequired[int | None]
    """ID of the incident."""
    incident_type: NotRequired[IncidentType | None | None]
    """What it was found in, unless `incident_id` is given."""
    url: NotRequired[str | None]
    """For the type url: the URL by its text."""
    url_id: NotRequired[int | None]
    """For the type url: the URL by its ID, instead of `url`."""
    reference: NotRequired[str | None]
    """For any other type: its reference."""


class Webhook(TypedDict):
    """An endpoint."""

    id: int
    """ID assigned by the service."""
    url: str
    """Address of the endpoint."""
    types: list[str]
    """The kinds of records whose changes are sent; all if there are none here."""
    description: str | None
    """What it is for."""
    status: str
    """`enabled` or `disabled`."""
    disabled_reason: str | None
    """Why it is disabled."""
    position: int
    """The changes up to this position were delivered."""
    attempts: int
    """How often the next message has failed."""
    failing_since: str | None
    """When it failed first. After three days, the webhook is disabled."""
    next_attempt_at: str | None
    """When a message that has failed is sent again."""
    previous_secret_until: str | None
    """Until when messages are signed with the secret before as well."""
    created_at: str | None
    """When it was created."""


class WebhookCreate(TypedDict):
    url: str
    """Address of the endpoint, beginning with `https://`, at a public address. A new webhook needs it."""
    types: NotRequired[list[Literal["affiliate", "url", "infraction", "case", "incident", "vocabulary_entry"]] | None]
    """Only changes of these kinds of records. A new webhook gets all by default; name all to go back to that."""
    description: NotRequired[str | None]
    """What it is for. The empty text removes it."""
    status: NotRequired[Literal["enabled", "disabled"] | None]
    """`disabled`, or `enabled` to deliver again after it was disabled. A new webhook is enabled."""
    position: NotRequired[int | None]
    """Send the changes after this position: 0 for all that are kept. A new webhook gets those that are made from then on by default."""


class WebhookUpdate(TypedDict):
    url: NotRequired[str | None]
    """Address of the endpoint, beginning with `https://`, at a public address. A new webhook needs it."""
    types: NotRequired[list[Literal["affiliate", "url", "infraction", "case", "incident", "vocabulary_entry"]] | None]
    """Only changes of these kinds of records. A new webhook gets all by default; name all to go back to that."""
    description: NotRequired[str | None]
    """What it is for. The empty text removes it."""
    status: NotRequired[Literal["enabled", "disabled"] | None]
    """`disabled`, or `enabled` to deliver again after it was disabled. A new webhook is enabled."""
    position: NotRequired[int | None]
    """Send the changes after this position: 0 for all that are kept. A new webhook gets those that are made from then on by default."""


class CreateWebhookResponse(TypedDict):
    """A new endpoint."""

    webhook: Webhook
    secret: str
    """The secret that messages are signed with. It cannot be read later."""


class TestWebhookResponse(TypedDict):
    """What came of a test message."""

    message_id: str
    """ID of the message, as its `webhook-id`."""
    http_status: int | None
    """The status of the response."""
    error: str | None
    """Why it was not delivered."""
    duration_ms: int
    """How long it took, in milliseconds."""


class WebhookDelivery(TypedDict):
    """An attempt to deliver the changes of a range of positions."""

    number: int
    """Its number among the attempts of the webhook. Numbers may be missing."""
    message_id: str
    """ID of the message, as its `webhook-id`. Every attempt to send the message has it."""
    after: int
    """The changes follow this position."""
    position: int
    """The changes reach up to this position."""
    attempt: int
    """Which attempt of the message it was, from 1."""
    time: str | None
    """When it began."""
    duration_ms: int
    """How long it took, in milliseconds."""
    http_status: int | None
    """The status of the response."""
    error: str | None
    """Why the message was not delivered."""


class UrlFilters(TypedDict):
    incident_status_id: NotRequired[int]
    """Only URLs with this incident status. Every company starts with: 1 New, 2 Open, 3 In Violation, 4 Approved, 5 Remediated, 6 Archived. It may add its own names."""
    distributor_id: NotRequired[int]
    """Only URLs of this affiliate (ID assigned by the service)."""
    disabled: NotRequired[YesNo]
    """Only URLs whose monitoring is switched off, or only those whose monitoring is not."""
    discovery_after: NotRequired[str]
    """Discovered on or after this day, YYYY-MM-DD, UTC."""
    discovery_before: NotRequired[str]
    """Discovered on or before this day, YYYY-MM-DD, UTC."""
    infraction_after: NotRequired[str]
    """With an infraction recorded on or after this day, YYYY-MM-DD, UTC."""
    infraction_before: NotRequired[str]
    """With an infraction recorded on or before this day, YYYY-MM-DD, UTC. With both, one infraction is between them."""
    changed_after: NotRequired[int]
    """Only records that changed, or whose infractions did, after this position of the record of changes."""


class CaseFilters(TypedDict):
    case_status_id: NotRequired[int]
    """Only cases with this case status. Every company starts with: 1 New, 2 Open, 3 In Progress, 4 Blocked, 5 Resolved, 6 Closed, 7 Rejected, 8 Invalid, 9 Duplicate. It may add its own names."""
    created_after: NotRequired[str]
    """Created on or after this day, YYYY-MM-DD, UTC."""
    created_before: NotRequired[str]
    """Created on or before this day, YYYY-MM-DD, UTC."""
    distributor_id: NotRequired[int]
    """Only cases of this affiliate (ID assigned by the service)."""
    open: NotRequired[YesNo]
    """Only open cases, or only cases that have ended: Resolved, Closed, Rejected, Invalid or Duplicate."""
    risk_level_id: NotRequired[int]
    """Only cases with this risk level; 0 for cases without one. Every company starts with: 1 Low, 2 Medium, 3 High, 4 Critical. It may add its own names."""
    sub_status_id: NotRequired[int]
    """Only cases with this sub-status; 0 for cases without one. Every company starts with: 1 Under Review, 2 Quality Assurance, 3 Awaiting Evidence, 4 Awaiting Response, 5 Content Removed, 6 Content Modified, 7 Platform Takedown Requested, 8 Escalated, 9 Appealed. It may add its own names."""
    case_worker: NotRequired[str]
    """Only cases of exactly this worker."""
    assigned: NotRequired[YesNo]
    """Only cases that have a worker, or only cases without one."""
    follow_up_after: NotRequired[str]
    """To be followed up on or after this day, YYYY-MM-DD, UTC."""
    follow_up_before: NotRequired[str]
    """To be followed up on or before this day, YYYY-MM-DD, UTC."""
    overdue: NotRequired[YesNo]
    """Only open cases whose follow-up is overdue, or only the others."""
    closed_after: NotRequired[str]
    """Closed on or after this day, YYYY-MM-DD, UTC."""
    closed_before: NotRequired[str]
    """Closed on or before this day, YYYY-MM-DD, UTC."""
    infraction_type_id: NotRequired[int]
    """Only cases with an incident of this infraction type. Every company starts with: 1 Earnings Claim, 2 Health Claim, 3 Product Claim, 4 Trademark, 5 Promotion, 6 Disclosure, 7 Traffic Quality, 8 Recruiting. It may add its own names."""
    changed_after: NotRequired[int]
    """Only records that changed, or whose incidents did, after this position of the record of changes."""


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
