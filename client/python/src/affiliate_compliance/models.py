"""The interface's records and inputs, as in JSON. Generated from docs/openapi.json by generate_models.py."""

from typing import Literal, NotRequired, TypedDict


AffiliateStatus = Literal["active", "inactive", "probation", "suspended", "terminated", "forgotten"]


class Affiliate(TypedDict):
    """An affiliate, as returned in responses. Some fields have different names in requests."""

    id: int
    """ID of the affiliate, assigned by the service."""
    client_id: int
    """ID of the company that the affiliate belongs to."""
    client_distributor_id: str | None
    """The company's own identifier for the affiliate. Several affiliates can have the same identifier."""
    distributor_name: str | None
    """The affiliate's name, unique within the company. The service compares names exactly, including upper and lower case."""
    email_one: str | None
    """The affiliate's first e-mail address."""
    email_two: str | None
    """The affiliate's second e-mail address."""
    phone_one: str | None
    """The affiliate's first phone number, in any notation."""
    phone_two: str | None
    """The affiliate's second phone number, in any notation."""
    facebook: str | None
    """URL of the affiliate's Facebook profile or page."""
    instagram: str | None
    """The affiliate's Instagram URL or handle."""
    youtube: str | None
    """URL of the affiliate's YouTube channel or page."""
    twitter: str | None
    """The affiliate's Twitter URL or handle."""
    tiktok: str | None
    """The affiliate's TikTok URL or handle."""
    pintrest: str | None
    """The affiliate's Pinterest URL or handle. The field name is spelled this way."""
    country: int | None
    """The affiliate's country, as an ISO 3166-1 numeric code such as 840 for `US`."""
    first_name: str | None
    """The affiliate's first name."""
    last_name: str | None
    """The affiliate's last name."""
    notes: str | None
    """The company's internal notes on the affiliate."""
    address: str | None
    """The affiliate's street address."""
    city: str | None
    """The affiliate's city."""
    state: str | None
    """The affiliate's state or province, as a name or a code."""
    zip: str | None
    """The affiliate's postal code."""
    ranking: str | None
    """The affiliate's rank in the company's program. The company defines the values."""
    replicated_website: str | None
    """URL of the affiliate's own copy of the company's website."""
    sponsor: str | None
    """Name of the affiliate's sponsor. The service does not check whether the sponsor exists."""
    upline: str | None
    """`client_affiliate_id` of the affiliate above this one in the company's program. Cases show the name of that affiliate as `upline_name`."""
    distributor_status: AffiliateStatus | None
    """The affiliate's status in the company's program."""
    start_date: str | None
    """The affiliate's start date, YYYY-MM-DD."""
    language_used: str | None
    """The affiliate's language, in any notation, such as `en` or `English`."""
    territory: str | None
    """The affiliate's territory, as the company names it."""
    entrepreneur_id: str | None
    """The affiliate's entrepreneur ID in the company's own systems. The company defines its meaning."""
    entrepreneur_spouse_id: str | None
    """Entrepreneur ID of the affiliate's spouse in the company's own systems. The company defines its meaning."""
    international_distributor: str | None
    """Marks an international distributor: a flag or an identifier. The company defines the values and their meaning."""
    is_territory_director: str | None
    """Marks a territory director: a flag or an identifier. The company defines the values and their meaning."""
    jv_status: str | None
    """The affiliate's JV status. The company defines the values and their meaning."""
    league: str | None
    """The affiliate's league in the company's program. The company defines the values and their meaning."""
    territory_master: str | None
    """The affiliate's territory master. The company defines the values and their meaning."""
    merchant_type: str | None
    """The affiliate's merchant type. The company defines the values and their meaning."""
    company_name: str | None
    """Name of the affiliate's own company."""
    sponsor_id: str | None
    """The company's own identifier for the affiliate's sponsor. Cases show it as `sponsor`."""
    sponsor_email: str | None
    """The sponsor's e-mail address."""
    pay_rank: str | None
    """The affiliate's pay rank. The company defines the values and their meaning."""
    recognition_rank: str | None
    """The affiliate's recognition rank. The company defines the values and their meaning."""


class AffiliateCreate(TypedDict):
    """A new affiliate. For optional fields, null and `""` are the same as absent."""

    client_affiliate_id: str
    """The company's own identifier for the affiliate. Several affiliates can have the same identifier."""
    affiliate_name: str
    """The affiliate's name, unique within the company. The service compares names exactly, including upper and lower case."""
    email_one: NotRequired[str | None]
    """The affiliate's first e-mail address, in a valid format."""
    email_two: NotRequired[str | None]
    """The affiliate's second e-mail address, in a valid format."""
    phone_one: NotRequired[str | None]
    """The affiliate's first phone number, in any notation."""
    phone_two: NotRequired[str | None]
    """The affiliate's second phone number, in any notation."""
    facebook: NotRequired[str | None]
    """URL of the affiliate's Facebook profile or page."""
    instagram: NotRequired[str | None]
    """The affiliate's Instagram URL or handle."""
    youtube: NotRequired[str | None]
    """URL of the affiliate's YouTube channel or page."""
    twitter: NotRequired[str | None]
    """The affiliate's Twitter URL or handle."""
    tiktok: NotRequired[str | None]
    """The affiliate's TikTok URL or handle."""
    pintrest: NotRequired[str | None]
    """The affiliate's Pinterest URL or handle. The field name is spelled this way."""
    country: NotRequired[str | None]
    """The affiliate's country, as an ISO 3166-1 alpha-2 code such as `US` or `us`."""
    first_name: NotRequired[str | None]
    """The affiliate's first name."""
    last_name: NotRequired[str | None]
    """The affiliate's last name."""
    notes: NotRequired[str | None]
    """The company's internal notes on the affiliate."""
    address: NotRequired[str | None]
    """The affiliate's street address."""
    city: NotRequired[str | None]
    """The affiliate's city."""
    state: NotRequired[str | None]
    """The affiliate's state or province, as a name or a code."""
    zip: NotRequired[str | None]
    """The affiliate's postal code."""
    ranking: NotRequired[str | None]
    """The affiliate's rank in the company's program. The company defines the values."""
    replicated_website: NotRequired[str | None]
    """URL of the affiliate's own copy of the company's website."""
    sponsor: NotRequired[str | None]
    """Name of the affiliate's sponsor. The service does not check whether the sponsor exists."""
    upline: NotRequired[str | None]
    """`client_affiliate_id` of the affiliate above this one in the company's program. Cases show the name of that affiliate as `upline_name`."""
    status: NotRequired[AffiliateStatus | None]
    """The affiliate's status in the company's program. The company decides when it changes."""
    start_date: NotRequired[str | None]
    """The affiliate's start date, YYYY-MM-DD or MM/DD/YYYY. Responses have YYYY-MM-DD."""
    language_used: NotRequired[str | None]
    """The affiliate's language, in any notation, such as `en` or `English`."""
    territory: NotRequired[str | None]
    """The affiliate's territory, as the company names it."""
    entrepreneur_id: NotRequired[str | None]
    """The affiliate's entrepreneur ID in the company's own systems. The company defines its meaning."""
    entrepreneur_spouse_id: NotRequired[str | None]
    """Entrepreneur ID of the affiliate's spouse in the company's own systems. The company defines its meaning."""
    international_distributor: NotRequired[str | None]
    """Marks an international distributor: a flag or an identifier. The company defines the values and their meaning."""
    is_territory_director: NotRequired[str | None]
    """Marks a territory director: a flag or an identifier. The company defines the values and their meaning."""
    jv_status: NotRequired[str | None]
    """The affiliate's JV status. The company defines the values and their meaning."""
    league: NotRequired[str | None]
    """The affiliate's league in the company's program. The company defines the values and their meaning."""
    territory_master: NotRequired[str | None]
    """The affiliate's territory master. The company defines the values and their meaning."""
    merchant_type: NotRequired[str | None]
    """The affiliate's merchant type. The company defines the values and their meaning."""
    company_name: NotRequired[str | None]
    """Name of the affiliate's own company."""
    sponsor_id: NotRequired[str | None]
    """The company's own identifier for the affiliate's sponsor. Cases show it as `sponsor`."""
    sponsor_email: NotRequired[str | None]
    """The sponsor's e-mail address, in a valid format."""
    pay_rank: NotRequired[str | None]
    """The affiliate's pay rank. The company defines the values and their meaning."""
    recognition_rank: NotRequired[str | None]
    """The affiliate's recognition rank. The company defines the values and their meaning."""


class AffiliateUpdate(TypedDict):
    """Changes to an affiliate. Only the fields that you send change. Null and `""` clear an optional field."""

    id: int
    """ID of the affiliate, assigned by the service. It equals the ID in the URL."""
    client_affiliate_id: NotRequired[str]
    """The company's own identifier for the affiliate. Several affiliates can have the same identifier."""
    affiliate_name: NotRequired[str]
    """The affiliate's name, unique within the company. The service compares names exactly, including upper and lower case."""
    email_one: NotRequired[str | None]
    """The affiliate's first e-mail address, in a valid format."""
    email_two: NotRequired[str | None]
    """The affiliate's second e-mail address, in a valid format."""
    phone_one: NotRequired[str | None]
    """The affiliate's first phone number, in any notation."""
    phone_two: NotRequired[str | None]
    """The affiliate's second phone number, in any notation."""
    facebook: NotRequired[str | None]
    """URL of the affiliate's Facebook profile or page."""
    instagram: NotRequired[str | None]
    """The affiliate's Instagram URL or handle."""
    youtube: NotRequired[str | None]
    """URL of the affiliate's YouTube channel or page."""
    twitter: NotRequired[str | None]
    """The affiliate's Twitter URL or handle."""
    tiktok: NotRequired[str | None]
    """The affiliate's TikTok URL or handle."""
    pintrest: NotRequired[str | None]
    """The affiliate's Pinterest URL or handle. The field name is spelled this way."""
    country: NotRequired[str | None]
    """The affiliate's country, as an ISO 3166-1 alpha-2 code such as `US` or `us`."""
    first_name: NotRequired[str | None]
    """The affiliate's first name."""
    last_name: NotRequired[str | None]
    """The affiliate's last name."""
    notes: NotRequired[str | None]
    """The company's internal notes on the affiliate."""
    address: NotRequired[str | None]
    """The affiliate's street address."""
    city: NotRequired[str | None]
    """The affiliate's city."""
    state: NotRequired[str | None]
    """The affiliate's state or province, as a name or a code."""
    zip: NotRequired[str | None]
    """The affiliate's postal code."""
    ranking: NotRequired[str | None]
    """The affiliate's rank in the company's program. The company defines the values."""
    replicated_website: NotRequired[str | None]
    """URL of the affiliate's own copy of the company's website."""
    sponsor: NotRequired[str | None]
    """Name of the affiliate's sponsor. The service does not check whether the sponsor exists."""
    upline: NotRequired[str | None]
    """`client_affiliate_id` of the affiliate above this one in the company's program. Cases show the name of that affiliate as `upline_name`."""
    status: NotRequired[AffiliateStatus | None]
    """The affiliate's status in the company's program. The company decides when it changes."""
    start_date: NotRequired[str | None]
    """The affiliate's start date, YYYY-MM-DD or MM/DD/YYYY. Responses have YYYY-MM-DD."""
    language_used: NotRequired[str | None]
    """The affiliate's language, in any notation, such as `en` or `English`."""
    territory: NotRequired[str | None]
    """The affiliate's territory, as the company names it."""
    entrepreneur_id: NotRequired[str | None]
    """The affiliate's entrepreneur ID in the company's own systems. The company defines its meaning."""
    entrepreneur_spouse_id: NotRequired[str | None]
    """Entrepreneur ID of the affiliate's spouse in the company's own systems. The company defines its meaning."""
    international_distributor: NotRequired[str | None]
    """Marks an international distributor: a flag or an identifier. The company defines the values and their meaning."""
    is_territory_director: NotRequired[str | None]
    """Marks a territory director: a flag or an identifier. The company defines the values and their meaning."""
    jv_status: NotRequired[str | None]
    """The affiliate's JV status. The company defines the values and their meaning."""
    league: NotRequired[str | None]
    """The affiliate's league in the company's program. The company defines the values and their meaning."""
    territory_master: NotRequired[str | None]
    """The affiliate's territory master. The company defines the values and their meaning."""
    merchant_type: NotRequired[str | None]
    """The affiliate's merchant type. The company defines the values and their meaning."""
    company_name: NotRequired[str | None]
    """Name of the affiliate's own company."""
    sponsor_id: NotRequired[str | None]
    """The company's own identifier for the affiliate's sponsor. Cases show it as `sponsor`."""
    sponsor_email: NotRequired[str | None]
    """The sponsor's e-mail address, in a valid format."""
    pay_rank: NotRequired[str | None]
    """The affiliate's pay rank. The company defines the values and their meaning."""
    recognition_rank: NotRequired[str | None]
    """The affiliate's recognition rank. The company defines the values and their meaning."""


YesNo = Literal["yes", "no"]


class Infraction(TypedDict):
    """A breach of the company's rules, found on a URL."""

    infraction_type: str | None
    """Name of the infraction type, such as `Health Claim`."""
    infraction_name: str | None
    """Name of the infraction, such as `weight loss`. Each name belongs to an infraction type."""
    created_date: str | None
    """When the infraction was found, UTC."""


class ComplianceUrl(TypedDict):
    """A web address monitored for the company."""

    id: int
    """ID of the URL, assigned by the service."""
    url: str
    """The complete URL, as it was sent."""
    domain: str | None
    """Host of the URL, such as `shop.example`."""
    incident_status: str | None
    """Name of the incident status, such as `In Violation`. Every company starts with: New, Open, In Violation, Approved, Remediated, Archived. It can add its own names."""
    disabled: YesNo
    """Whether monitoring of the URL is switched off (`yes` or `no` in JSON)."""
    false_positive: YesNo | None
    """Whether a reviewer marked the URL as a false positive (`yes` or `no` in JSON). Null if nobody decided."""
    country: str | None
    """ISO 3166-1 short name of the country of the URL."""
    discovery_date: str | None
    """When the URL was first discovered, UTC."""
    last_review_date: str | None
    """When the URL was last reviewed, UTC."""
    last_crawl_date: str | None
    """When the URL was last crawled, UTC."""
    last_seen: str | None
    """When a crawler last found the URL active, UTC."""
    affiliate_name: str | None
    """The affiliate's name."""
    affiliate_id: str | None
    """The company's own identifier for the affiliate: its `client_affiliate_id`."""
    sub_affiliate_id: str | None
    """Identifier of the sub-affiliate. The company or its crawler defines it; the service does not look it up."""
    owner_email: str | None
    """E-mail address of the URL's owner."""
    social_one: str | None
    """First social media link in the URL's contact data."""
    social_two: str | None
    """Second social media link in the URL's contact data."""
    social_three: str | None
    """Third social media link in the URL's contact data."""
    phone_one: str | None
    """First phone number in the URL's contact data."""
    phone_two: str | None
    """Second phone number in the URL's contact data."""
    landing_page: str | None
    """URL of the landing page that belongs to this URL."""
    case_id: int | None
    """ID of the case that the URL was last attached to as an incident. Null if it belongs to no case."""
    note: str | None
    """Notes on the URL."""
    video_path: str | None
    """Path to the URL's video content. The crawler that reports it defines the form of the path."""
    transcription_text: str | None
    """Transcript of the URL's video."""
    transcription_status: str | None
    """Name of the transcription status of the URL's video, such as `Completed`. Every company starts with: Queued, In Progress, Completed, Failed. It can add its own names."""
    infractions: list[Infraction]
    """The infractions found on the URL, oldest first."""


IncidentType = Literal["url", "form", "display ad", "paid search ad"]


class Incident(TypedDict):
    """Content that breaks the company's rules."""

    incident_id: int
    """ID of the incident, assigned by the service."""
    incident_type: IncidentType
    """The kind of content: `url`, `form`, `display ad` or `paid search ad`."""
    infraction_type: str | None
    """Name of the infraction type, such as `Health Claim`."""
    infraction_name: str | None
    """Name of the infraction, such as `weight loss`. Each name belongs to an infraction type."""
    url_id: int | None
    """For the incident type `url`: ID of the URL, assigned by the service."""
    url: str | None
    """For the incident type `url`: the URL."""
    reference: str | None
    """For other incident types: the identifier that the caller gave the content, such as an ad ID."""


class ComplianceCase(TypedDict):
    """A case: what one affiliate did against the company's rules. Fields of the affiliate show its current data."""

    case_id: int
    """ID of the case, assigned by the service."""
    case_worker: str | None
    """Name of the person who works on the case."""
    tags: list[str]
    """The case's tags, in the order they were given."""
    case_status: str | None
    """Name of the case status, such as `Open`. Every company starts with: New, Open, In Progress, Blocked, Resolved, Closed, Rejected, Invalid, Duplicate. It can add its own names."""
    sub_status: str | None
    """Name of the sub-status, such as `Under Review`. It describes the current step in more detail. Every company starts with: Under Review, Quality Assurance, Awaiting Evidence, Awaiting Response, Content Removed, Content Modified, Platform Takedown Requested, Escalated, Appealed. It can add its own names."""
    submitter: str | None
    """Name of the person or program that submitted the case."""
    notice_status: str | None
    """Name of the notice status: whether the affiliate was notified, such as `Sent`. Every company starts with: Pending, Not Required, Sent, Reminder Sent, Final Notice, Acknowledged, Responded, Expired. It can add its own names."""
    risk_level: str | None
    """Name of the risk level, such as `High`. Every company starts with: Low, Medium, High, Critical. It can add its own names."""
    case_country: str | None
    """ISO 3166-1 short name of the case's country."""
    sub_affiliate_id: str | None
    """Identifier of the sub-affiliate. The caller who opens the case defines it; the service does not look it up."""
    created_date: str | None
    """When the case was created, UTC."""
    reviewed_date: str | None
    """When the case was first reviewed, UTC. The service sets it with the first sub-status, or the first status other than New and Open."""
    resolved_date: str | None
    """When the case was resolved, UTC."""
    first_action_date: str | None
    """When somebody first acted on the case, UTC."""
    flagged_date: str | None
    """When the case was flagged, UTC. The service sets it when the risk level first becomes High or Critical."""
    follow_up_date: str | None
    """When the case is due for follow-up, UTC."""
    closed_date: str | None
    """When the case was closed, UTC."""
    affiliate_name: str | None
    """The affiliate's name."""
    affiliate_id: str | None
    """The company's own identifier for the affiliate: its `client_affiliate_id`."""
    merchant_type: str | None
    """The affiliate's merchant type, as the company defines it."""
    first_name: str | None
    """The affiliate's first name."""
    last_name: str | None
    """The affiliate's last name."""
    status: AffiliateStatus | None
    """The affiliate's status in the company's program."""
    ranking: str | None
    """The affiliate's rank in the company's program."""
    start_date: str | None
    """The affiliate's start date, YYYY-MM-DD."""
    language_used: str | None
    """The affiliate's language."""
    territory: str | None
    """The affiliate's territory."""
    notes: str | None
    """The company's internal notes on the affiliate."""
    email_one: str | None
    """The affiliate's first e-mail address."""
    email_two: str | None
    """The affiliate's second e-mail address."""
    phone_one: str | None
    """The affiliate's first phone number."""
    phone_two: str | None
    """The affiliate's second phone number."""
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
    """URL of the affiliate's Facebook profile or page."""
    youtube: str | None
    """URL of the affiliate's YouTube channel or page."""
    twitter: str | None
    """The affiliate's Twitter URL or handle."""
    tiktok: str | None
    """The affiliate's TikTok URL or handle."""
    pintrest: str | None
    """The affiliate's Pinterest URL or handle. The field name is spelled this way."""
    replicated_website: str | None
    """URL of the affiliate's own copy of the company's website."""
    sponsor: str | None
    """The company's own identifier for the affiliate's sponsor: the affiliate's `sponsor_id`."""
    upline: str | None
    """`client_affiliate_id` of the affiliate above this one in the company's program."""
    upline_name: str | None
    """Name of the affiliate with the `client_affiliate_id` that `upline` holds; the oldest one if there are several. Null if there is none."""
    last_updated_date: str | None
    """When the case was last changed, UTC."""
    incidents: list[Incident]
    """The incidents of the case, in the order they were attached."""
    distributor_id: int
    """ID of the affiliate, assigned by the service."""
    note: str | None
    """Notes on the case."""


class OpenCasesByRisk(TypedDict):
    """Open cases of one risk level."""

    risk_level: str | None
    """Name of the risk level; null for cases without a risk level."""
    open: int
    """Number of open cases."""


class OpenCasesByAge(TypedDict):
    """Open cases within an age range."""

    from_days: int
    """Minimum number of days since the creation day."""
    to_days: int | None
    """Maximum number of days since the creation day; null for the oldest cases."""
    open: int
    """Number of open cases."""


class OverdueCase(TypedDict):
    """An open case whose follow-up date has passed."""

    case_id: int
    """ID of the case, assigned by the service."""
    follow_up_date: str | None
    """When the follow-up was due, UTC."""
    risk_level: str | None
    """Name of the risk level."""
    case_status: str | None
    """Name of the case status."""
    affiliate_name: str | None
    """The affiliate's name."""
    affiliate_id: str | None
    """The company's own identifier for the affiliate: its `client_affiliate_id`."""


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
    """Number of URLs with at least one of these infractions."""


OverviewWeek = TypedDict("OverviewWeek", {
    # The first of the seven days, YYYY-MM-DD.
    "from": str,
    # Number of discovered URLs.
    "new_urls": int,
    # Number of recorded infractions.
    "new_infractions": int,
    # Number of created cases.
    "new_cases": int,
    # Number of closed cases.
    "closed_cases": int,
    # Number of URLs with at least one of these infractions.
    "infraction_urls": int,
})
"""Figures of seven days."""


class Overview(TypedDict):
    """What is open, overdue and new. Days and weeks are in UTC. "New" means within the last seven days, including today: the last entry of `weeks`."""

    cases: CaseOverview
    urls: UrlOverview
    infractions: InfractionOverview
    weeks: list[OverviewWeek]
    """The last twelve weeks, oldest first. The last one ends today."""


class VocabularyEntry(TypedDict):
    """One name."""

    id: int
    """ID of the name, which filters take. IDs below 1000 are the same for every company."""
    name: str
    """The name."""
    infraction_type: str | None
    """For an infraction name: the infraction type that the name belongs to."""
    own: YesNo
    """Whether the company added the name. Otherwise every company has it."""


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
    """Name of the field, as in requests. Fields that hold an ID have names such as `affiliate_id` or `incident_status_id`."""
    before: str | None
    """The value before the change. Absent if the field had no value."""
    after: str | None
    """The value after the change. Absent if the field has no value."""


class Change(TypedDict):
    """A change of one record."""

    position: int
    """Position among the company's changes, from 1."""
    time: str | None
    """When the change was made, UTC. A higher position never has an earlier time."""
    resource: str
    """The record type: `affiliate`, `url`, `infraction` (of the URL `url_id`), `case`, `incident` (of the case `case_id`) or `vocabulary_entry` (a name that the company added). An erasure has the type `affiliate` or `company`. Only searches return the type `webhook`, and never a webhook's secret."""
    id: int
    """ID of the record."""
    operation: str
    """What happened: `created`, `updated`, `deleted`, `erased` or `restored`. `erased`: the record is deleted, and its changes keep only IDs, dates and statuses. `restored` (type `company`): the database was restored from a backup, or a standby took over. The positions between the two values of the field `position` are lost."""
    fields: list[FieldChange]
    """The fields that changed. For a new or deleted record: all fields with a value."""
    subject: str | None
    """Subject (claim `sub`) of the token that made the change. Absent if the token has no subject, or if a program made the change without a token. Only callers with the scope `audit` receive it. Webhook messages never contain it."""
    request_id: str | None
    """ID of the request that made the change (`X-Request-Id`). Absent if no request made it. Only callers with the scope `audit` receive it. Webhook messages never contain it."""


class AffiliateRosterItem(TypedDict):
    """An affiliate in a list. `client_affiliate_id` identifies it. The fields have the same rules as when you create an affiliate. If an item violates a rule, only this item fails. Null and `""` clear an optional field."""

    client_affiliate_id: NotRequired[str | None]
    """The company's own identifier for the affiliate. Several affiliates can have the same identifier."""
    affiliate_name: NotRequired[str | None]
    """The affiliate's name, unique within the company. The service compares names exactly, including upper and lower case."""
    email_one: NotRequired[str | None]
    """The affiliate's first e-mail address, in a valid format."""
    email_two: NotRequired[str | None]
    """The affiliate's second e-mail address, in a valid format."""
    phone_one: NotRequired[str | None]
    """The affiliate's first phone number, in any notation."""
    phone_two: NotRequired[str | None]
    """The affiliate's second phone number, in any notation."""
    facebook: NotRequired[str | None]
    """URL of the affiliate's Facebook profile or page."""
    instagram: NotRequired[str | None]
    """The affiliate's Instagram URL or handle."""
    youtube: NotRequired[str | None]
    """URL of the affiliate's YouTube channel or page."""
    twitter: NotRequired[str | None]
    """The affiliate's Twitter URL or handle."""
    tiktok: NotRequired[str | None]
    """The affiliate's TikTok URL or handle."""
    pintrest: NotRequired[str | None]
    """The affiliate's Pinterest URL or handle. The field name is spelled this way."""
    country: NotRequired[str | None]
    """The affiliate's country, as an ISO 3166-1 alpha-2 code such as `US` or `us`."""
    first_name: NotRequired[str | None]
    """The affiliate's first name."""
    last_name: NotRequired[str | None]
    """The affiliate's last name."""
    notes: NotRequired[str | None]
    """The company's internal notes on the affiliate."""
    address: NotRequired[str | None]
    """The affiliate's street address."""
    city: NotRequired[str | None]
    """The affiliate's city."""
    state: NotRequired[str | None]
    """The affiliate's state or province, as a name or a code."""
    zip: NotRequired[str | None]
    """The affiliate's postal code."""
    ranking: NotRequired[str | None]
    """The affiliate's rank in the company's program. The company defines the values."""
    replicated_website: NotRequired[str | None]
    """URL of the affiliate's own copy of the company's website."""
    sponsor: NotRequired[str | None]
    """Name of the affiliate's sponsor. The service does not check whether the sponsor exists."""
    upline: NotRequired[str | None]
    """`client_affiliate_id` of the affiliate above this one in the company's program. Cases show the name of that affiliate as `upline_name`."""
    status: NotRequired[str | None]
    """The affiliate's status in the company's program. The company decides when it changes."""
    start_date: NotRequired[str | None]
    """The affiliate's start date, YYYY-MM-DD or MM/DD/YYYY. Responses have YYYY-MM-DD."""
    language_used: NotRequired[str | None]
    """The affiliate's language, in any notation, such as `en` or `English`."""
    territory: NotRequired[str | None]
    """The affiliate's territory, as the company names it."""
    entrepreneur_id: NotRequired[str | None]
    """The affiliate's entrepreneur ID in the company's own systems. The company defines its meaning."""
    entrepreneur_spouse_id: NotRequired[str | None]
    """Entrepreneur ID of the affiliate's spouse in the company's own systems. The company defines its meaning."""
    international_distributor: NotRequired[str | None]
    """Marks an international distributor: a flag or an identifier. The company defines the values and their meaning."""
    is_territory_director: NotRequired[str | None]
    """Marks a territory director: a flag or an identifier. The company defines the values and their meaning."""
    jv_status: NotRequired[str | None]
    """The affiliate's JV status. The company defines the values and their meaning."""
    league: NotRequired[str | None]
    """The affiliate's league in the company's program. The company defines the values and their meaning."""
    territory_master: NotRequired[str | None]
    """The affiliate's territory master. The company defines the values and their meaning."""
    merchant_type: NotRequired[str | None]
    """The affiliate's merchant type. The company defines the values and their meaning."""
    company_name: NotRequired[str | None]
    """Name of the affiliate's own company."""
    sponsor_id: NotRequired[str | None]
    """The company's own identifier for the affiliate's sponsor. Cases show it as `sponsor`."""
    sponsor_email: NotRequired[str | None]
    """The sponsor's e-mail address, in a valid format."""
    pay_rank: NotRequired[str | None]
    """The affiliate's pay rank. The company defines the values and their meaning."""
    recognition_rank: NotRequired[str | None]
    """The affiliate's recognition rank. The company defines the values and their meaning."""


class FieldViolation(TypedDict):
    """A rule violation by one field of an item."""

    field: str
    """Path of the field within the item, such as `country` or `infractions.0.infraction_name`."""
    description: str
    """What is wrong, in a sentence for people."""
    row: NotRequired[int]
    """Only for a file: the line of CSV, or the row of the sheet."""
    cell: NotRequired[str | None]
    """The cell of a workbook, such as `C7`."""
    column: NotRequired[str | None]
    """The heading of a column of CSV."""


class AffiliateSyncResult(TypedDict):
    """The result of one item."""

    code: Literal["1020", "1021", "1023"]
    """1020: the affiliate has the item's values. 1021: not saved; `msg` gives the reason. 1023: not saved, because another affiliate has the name."""
    outcome: Literal["created", "updated", "unchanged", "refused"]
    """What the service did with the item."""
    affiliate_id: int | None
    """ID of the affiliate. Not set if the item is refused, or if `validate_only` is true and the affiliate does not exist yet."""
    client_affiliate_id: str | None
    """The company's own identifier, as sent."""
    changed_fields: list[str]
    """Names of the fields that differed."""
    conflicting_ids: list[int]
    """For a refused item: IDs of up to 10 affiliates that share the identifier, or the ID of the affiliate that has the name."""
    conflicting_positions: list[int]
    """For a refused item: positions of all items with the same identifier or name, including this one. Positions count from 0."""
    violations: list[FieldViolation]
    """For a refused item: the violations."""
    msg: str
    """What happened, in a sentence for people."""
    row: NotRequired[int]
    """Only for a file: the line of CSV, or the row of the sheet."""


class AbsentAffiliate(TypedDict):
    """An affiliate that is missing from the list."""

    affiliate_id: int
    """ID of the affiliate, assigned by the service."""
    client_affiliate_id: str
    """The company's own identifier for the affiliate."""
    status: str | None
    """The affiliate's status before the sync."""
    changed: YesNo
    """Whether the status changed. With `validate_only`, whether it would change."""


class BatchSyncAffiliatesResponse(TypedDict):
    """The result of a sync."""

    results: list[AffiliateSyncResult]
    """One result per item, in the order sent."""
    absent: list[AbsentAffiliate]
    """Absent affiliates by ascending ID, at most 1,000."""
    absent_total: int
    """Number of all absent affiliates; 0 if they were not requested."""
    absent_changed: int
    """Number of absent affiliates whose status changed or, with `validate_only`, would change. The others already have this status."""
    notes: NotRequired[list[str]]
    """Only for a file: what the service skipped in the table, in plain English."""


class EraseAffiliateResponse(TypedDict):
    """How many records were erased with the affiliate."""

    urls: int
    """Number of erased URLs."""
    cases: int
    """Number of erased cases."""
    incidents: int
    """Number of erased incidents, including incidents of other cases with the erased URLs."""
    infractions: int
    """Number of erased infractions."""


class UrlInput(TypedDict):
    url: str
    """The complete URL to monitor, with its scheme."""


class InfractionInput(TypedDict):
    """An infraction to record or withdraw."""

    infraction_type: str
    """A name in the infraction type vocabulary, such as `Health Claim`."""
    infraction_name: NotRequired[str | None]
    """A name in the infraction name vocabulary, such as `weight loss`. It belongs to the infraction type."""
    created_date: NotRequired[str | None]
    """When the infraction was found; now by default. A known infraction keeps its date."""


class UrlReview(TypedDict):
    """The verdict of a review: the fields that it changes."""

    incident_status: NotRequired[str | None]
    """A name in the URL incident status vocabulary, such as `In Violation`. You cannot clear it."""
    false_positive: NotRequired[bool | YesNo | None]
    """Whether the URL is a false positive."""
    disabled: NotRequired[bool | YesNo | None]
    """Whether to switch off monitoring of the URL. You cannot clear it."""
    note: NotRequired[str | None]
    """Notes on the URL."""
    infractions: NotRequired[list[InfractionInput] | None]
    """All infractions of the URL; at most 100. They replace the infractions that the URL has; an infraction in both lists keeps its date."""


class CaseFields(TypedDict):
    """The writable fields of a case. The service sets some dates to the time of a change, unless the request sets or clears them:

- `created_date`: when the case is opened.
- `first_action_date`: when it first has a status other than New, a case worker, a notice status, or changed incidents.
- `reviewed_date`: when the case first gets a sub-status, or a status other than New and Open.
- `flagged_date`: when the risk level first becomes High or Critical.
- `resolved_date`: when the status becomes Resolved. Reopening the case clears it.
- `closed_date`: when the status becomes Closed, Rejected, Invalid or Duplicate. Any other status clears it.
- `last_updated_date`: when the case is opened, or when the case or its incidents change.

"First" means that the date was null before the change. When a request opens a case, the service compares it with a case that has the status New and no other values. The incidents in that request do not set `first_action_date`. A case reopens when it gets a status other than Resolved, Closed, Rejected, Invalid and Duplicate. A resolved case that is closed later keeps its `resolved_date`. A request that changes nothing sets no date."""

    client_affiliate_id: NotRequired[str | None]
    """`client_affiliate_id` of the affiliate that the case is about. If several affiliates have it, the service takes the oldest one. You can change the affiliate of a case, but not clear it."""
    affiliate_id: NotRequired[int | None]
    """ID of the affiliate, assigned by the service. Send it instead of `client_affiliate_id`."""
    case_worker: NotRequired[str | None]
    """Name of the person who works on the case. Set it to assign the case."""
    tags: NotRequired[list[str] | None]
    """Tags, in the order that you want; at most 100. An update replaces all tags."""
    case_status: NotRequired[str | None]
    """A name in the case status vocabulary, such as `Open`; New by default. You cannot clear it."""
    sub_status: NotRequired[str | None]
    """A name in the case sub-status vocabulary, such as `Under Review`."""
    submitter: NotRequired[str | None]
    """Name of the person or program that submitted the case."""
    notice_status: NotRequired[str | None]
    """A name in the notice status vocabulary, such as `Sent`. It says whether the affiliate was notified."""
    risk_level: NotRequired[str | None]
    """A name in the risk level vocabulary, such as `High`."""
    case_country: NotRequired[str | None]
    """Country of the case, as an ISO 3166-1 alpha-2 code such as `US` or `us`."""
    sub_affiliate_id: NotRequired[str | None]
    """Your identifier of the sub-affiliate. The service does not look it up."""
    created_date: NotRequired[str | None]
    """When the case was created. You cannot clear it."""
    reviewed_date: NotRequired[str | None]
    """When the case was first reviewed."""
    resolved_date: NotRequired[str | None]
    """When the case was resolved."""
    first_action_date: NotRequired[str | None]
    """When somebody first acted on the case."""
    flagged_date: NotRequired[str | None]
    """When the case was flagged."""
    follow_up_date: NotRequired[str | None]
    """When the case is due for follow-up. After that, an open case counts as overdue."""
    closed_date: NotRequired[str | None]
    """When the case was closed."""
    last_updated_date: NotRequired[str | None]
    """When the case was last changed."""
    note: NotRequired[str | None]
    """Notes on the case."""


class IncidentInput(TypedDict):
    """An incident to attach to a case: content that breaks the company's rules."""

    incident_type: IncidentType
    """The kind of content: `url`, `form`, `display ad` or `paid search ad`."""
    url: NotRequired[str | None]
    """For the incident type `url`: the complete URL, unless you send `url_id`. The company must have this URL."""
    url_id: NotRequired[int | None]
    """For the incident type `url`: ID of the URL, assigned by the service. Send it instead of `url`."""
    reference: NotRequired[str | None]
    """For all other incident types: your identifier of the content, such as an ad ID. The same type and reference identify the same content."""
    infraction_type: NotRequired[str | None]
    """A name in the infraction type vocabulary, such as `Health Claim`. Required with `infraction_name`."""
    infraction_name: NotRequired[str | None]
    """A name in the infraction name vocabulary, such as `weight loss`. It belongs to the infraction type."""


class CaseOpen(TypedDict):
    """A request to open a case. ExportCases returns cases in this form."""

    request_id: str
    """Your own key for this case, unique within the company. A `request_id` opens at most one case. A repeated request with the same content returns the same case, even if the case has changed since. With other content, it fails with 409 (ALREADY_EXISTS): the error names the case and the fields that differ. With `dates_as_given`, the request also returns the case if it describes the case as it is now."""
    case: CaseFields
    """The fields of the case. It needs `client_affiliate_id` or `affiliate_id`."""
    incidents: NotRequired[list[IncidentInput] | None]
    """The incidents of the case, in the order that you want; at most 10,000."""
    dates_as_given: NotRequired[bool | YesNo | None]
    """If true, the request imports a past case: the service saves the dates that you send and sets no others. Only a missing `created_date` is set, because every case has one."""


class CaseUpdate(TypedDict):
    """The writable fields of a case. The service sets some dates to the time of a change, unless the request sets or clears them:

- `created_date`: when the case is opened.
- `first_action_date`: when it first has a status other than New, a case worker, a notice status, or changed incidents.
- `reviewed_date`: when the case first gets a sub-status, or a status other than New and Open.
- `flagged_date`: when the risk level first becomes High or Critical.
- `resolved_date`: when the status becomes Resolved. Reopening the case clears it.
- `closed_date`: when the status becomes Closed, Rejected, Invalid or Duplicate. Any other status clears it.
- `last_updated_date`: when the case is opened, or when the case or its incidents change.

"First" means that the date was null before the change. When a request opens a case, the service compares it with a case that has the status New and no other values. The incidents in that request do not set `first_action_date`. A case reopens when it gets a status other than Resolved, Closed, Rejected, Invalid and Duplicate. A resolved case that is closed later keeps its `resolved_date`. A request that changes nothing sets no date."""

    client_affiliate_id: NotRequired[str | None]
    """`client_affiliate_id` of the affiliate that the case is about. If several affiliates have it, the service takes the oldest one. You can change the affiliate of a case, but not clear it."""
    affiliate_id: NotRequired[int | None]
    """ID of the affiliate, assigned by the service. Send it instead of `client_affiliate_id`."""
    case_worker: NotRequired[str | None]
    """Name of the person who works on the case. Set it to assign the case."""
    tags: NotRequired[list[str] | None]
    """Tags, in the order that you want; at most 100. An update replaces all tags."""
    case_status: NotRequired[str | None]
    """A name in the case status vocabulary, such as `Open`; New by default. You cannot clear it."""
    sub_status: NotRequired[str | None]
    """A name in the case sub-status vocabulary, such as `Under Review`."""
    submitter: NotRequired[str | None]
    """Name of the person or program that submitted the case."""
    notice_status: NotRequired[str | None]
    """A name in the notice status vocabulary, such as `Sent`. It says whether the affiliate was notified."""
    risk_level: NotRequired[str | None]
    """A name in the risk level vocabulary, such as `High`."""
    case_country: NotRequired[str | None]
    """Country of the case, as an ISO 3166-1 alpha-2 code such as `US` or `us`."""
    sub_affiliate_id: NotRequired[str | None]
    """Your identifier of the sub-affiliate. The service does not look it up."""
    created_date: NotRequired[str | None]
    """When the case was created. You cannot clear it."""
    reviewed_date: NotRequired[str | None]
    """When the case was first reviewed."""
    resolved_date: NotRequired[str | None]
    """When the case was resolved."""
    first_action_date: NotRequired[str | None]
    """When somebody first acted on the case."""
    flagged_date: NotRequired[str | None]
    """When the case was flagged."""
    follow_up_date: NotRequired[str | None]
    """When the case is due for follow-up. After that, an open case counts as overdue."""
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
    """The status that ends the case. If you name one, the case gets it, even if the case has already ended. Without a value, a case that has not ended gets the status Closed, and an ended case stays unchanged."""
    closed_date: NotRequired[str | None]
    """When the case was closed; now by default."""


class CaseReopen(TypedDict):
    """A request to reopen a case."""

    case_status: NotRequired[str | None]
    """A case status other than Resolved, Closed, Rejected, Invalid and Duplicate; Open by default."""


class IncidentItem(TypedDict):
    """An incident to attach to a case: content that breaks the company's rules. If an item violates a rule, only this item fails."""

    incident_type: NotRequired[IncidentType | None]
    """The kind of content: `url`, `form`, `display ad` or `paid search ad`."""
    url: NotRequired[str | None]
    """For the incident type `url`: the complete URL, unless you send `url_id`. The company must have this URL."""
    url_id: NotRequired[int | None]
    """For the incident type `url`: ID of the URL, assigned by the service. Send it instead of `url`."""
    reference: NotRequired[str | None]
    """For all other incident types: your identifier of the content, such as an ad ID. The same type and reference identify the same content."""
    infraction_type: NotRequired[str | None]
    """A name in the infraction type vocabulary, such as `Health Claim`. Required with `infraction_name`."""
    infraction_name: NotRequired[str | None]
    """A name in the infraction name vocabulary, such as `weight loss`. It belongs to the infraction type."""


class IncidentKey(TypedDict):
    """Identifies an incident within a case: by ID, or by type and content. If an item violates a rule, only this item fails."""

    incident_id: NotRequired[int | None]
    """ID of the incident. With it, you need no other field."""
    incident_type: NotRequired[IncidentType | None | None]
    """The kind of content: `url`, `form`, `display ad` or `paid search ad`. Required without `incident_id`."""
    url: NotRequired[str | None]
    """For the incident type `url`: the complete URL, unless you send `url_id`."""
    url_id: NotRequired[int | None]
    """For the incident type `url`: ID of the URL, assigned by the service. Send it instead of `url`."""
    reference: NotRequired[str | None]
    """For all other incident types: your identifier of the content, as it was attached."""


class Webhook(TypedDict):
    """A webhook."""

    id: int
    """ID of the webhook, assigned by the service."""
    url: str
    """URL of the endpoint."""
    types: list[str]
    """Record types: the service sends only changes of these types; all types if empty."""
    description: str | None
    """What the webhook is for."""
    status: str
    """`enabled` or `disabled`. The service sends nothing to a disabled webhook."""
    disabled_reason: str | None
    """Why the webhook is disabled. Absent if it is enabled."""
    position: int
    """The service has delivered all changes up to this position."""
    attempts: int
    """Number of failed attempts to deliver the next message."""
    failing_since: str | None
    """When the next message first failed. Three days later, the service disables the webhook."""
    next_attempt_at: str | None
    """When the service next retries the failed message."""
    previous_secret_until: str | None
    """Until this time, the service also signs messages with the previous secret."""
    created_at: str | None
    """When the webhook was created."""


class WebhookCreate(TypedDict):
    url: str
    """URL of the endpoint, beginning with `https://`, at a public address. Required for a new webhook."""
    types: NotRequired[list[Literal["affiliate", "url", "infraction", "case", "incident", "vocabulary_entry"]] | None]
    """Record types: the service sends only changes of these types; all types by default. To return to the default, name all types."""
    description: NotRequired[str | None]
    """What the webhook is for. An empty text removes the description."""
    status: NotRequired[Literal["enabled", "disabled"] | None]
    """`disabled` stops delivery, and `enabled` resumes it. A new webhook is enabled."""
    position: NotRequired[int | None]
    """The service sends changes after this position; 0 sends all changes that it still has. By default, a new webhook receives only later changes."""


class WebhookUpdate(TypedDict):
    url: NotRequired[str | None]
    """URL of the endpoint, beginning with `https://`, at a public address. Required for a new webhook."""
    types: NotRequired[list[Literal["affiliate", "url", "infraction", "case", "incident", "vocabulary_entry"]] | None]
    """Record types: the service sends only changes of these types; all types by default. To return to the default, name all types."""
    description: NotRequired[str | None]
    """What the webhook is for. An empty text removes the description."""
    status: NotRequired[Literal["enabled", "disabled"] | None]
    """`disabled` stops delivery, and `enabled` resumes it. A new webhook is enabled."""
    position: NotRequired[int | None]
    """The service sends changes after this position; 0 sends all changes that it still has. By default, a new webhook receives only later changes."""


class CreateWebhookResponse(TypedDict):
    """The webhook was created."""

    webhook: Webhook
    secret: str
    """The signing secret. You cannot read it later."""


class TestWebhookResponse(TypedDict):
    """The result of a test message."""

    message_id: str
    """ID of the message, in its header `webhook-id`."""
    http_status: int | None
    """HTTP status of the endpoint's response. Absent if the endpoint did not respond."""
    error: str | None
    """Why the message was not delivered. Absent if it was delivered."""
    duration_ms: int
    """Duration of the attempt, in milliseconds."""


class WebhookDelivery(TypedDict):
    """An attempt to deliver the changes of a range of positions."""

    number: int
    """Number of this attempt among all attempts of the webhook. Numbers can have gaps."""
    message_id: str
    """ID of the message, in its header `webhook-id`. All attempts to deliver the message have the same ID."""
    after: int
    """The message contains changes after this position."""
    position: int
    """The message contains changes up to this position."""
    attempt: int
    """Number of this attempt among the attempts to deliver the message, from 1."""
    time: str | None
    """When the attempt began."""
    duration_ms: int
    """Duration of the attempt, in milliseconds."""
    http_status: int | None
    """HTTP status of the endpoint's response. Absent if the endpoint did not respond."""
    error: str | None
    """Why the attempt failed. Absent if the message was delivered."""


class AffiliateFilters(TypedDict):
    status: NotRequired[AffiliateStatus]
    """Only affiliates with this status."""
    country: NotRequired[str]
    """Only affiliates in this country, as an ISO 3166-1 alpha-2 code such as `US` or `us`."""
    q: NotRequired[str]
    """Only affiliates that the search finds for this text: words of names and e-mail addresses, an ID or a phone number."""
    changed_after: NotRequired[int]
    """Only records created or changed after this position in the record of changes. Get positions from `GET /api/changes` (gRPC: ListChanges), which also lists deleted records. 410 (OUT_OF_RANGE, reason POSITION_GONE) if the service has removed changes after this position, or if the position is above the last one."""


class UrlFilters(TypedDict):
    incident_status_id: NotRequired[int]
    """Only URLs with the incident status that has this ID. Every company starts with: 1 New, 2 Open, 3 In Violation, 4 Approved, 5 Remediated, 6 Archived. It can add its own names."""
    distributor_id: NotRequired[int]
    """Only URLs of the affiliate with this ID. The service assigned it: it is the `id` of the affiliate."""
    disabled: NotRequired[YesNo]
    """`yes`: only URLs with monitoring switched off. `no`: only URLs with monitoring switched on."""
    discovery_after: NotRequired[str]
    """Only URLs discovered on or after this day, YYYY-MM-DD, UTC."""
    discovery_before: NotRequired[str]
    """Only URLs discovered on or before this day, YYYY-MM-DD, UTC."""
    infraction_after: NotRequired[str]
    """Only URLs with an infraction found on or after this day, YYYY-MM-DD, UTC."""
    infraction_before: NotRequired[str]
    """Only URLs with an infraction found on or before this day, YYYY-MM-DD, UTC. With `infraction_after`, one infraction meets both conditions."""
    infraction_type_id: NotRequired[int]
    """Only URLs with an infraction of the type that has this ID. With `infraction_after` and `infraction_before`, one infraction meets all conditions. Every company starts with: 1 Earnings Claim, 2 Health Claim, 3 Product Claim, 4 Trademark, 5 Promotion, 6 Disclosure, 7 Traffic Quality, 8 Recruiting. It can add its own names."""
    has_case: NotRequired[YesNo]
    """`yes`: only URLs that have an incident in a case. `no`: only URLs without one."""
    changed_after: NotRequired[int]
    """Only URLs that changed, or whose infractions changed, after this position in the record of changes. Get positions from `GET /api/changes` (gRPC: ListChanges)."""


class CaseFilters(TypedDict):
    case_status_id: NotRequired[int]
    """Only cases with the case status that has this ID. Every company starts with: 1 New, 2 Open, 3 In Progress, 4 Blocked, 5 Resolved, 6 Closed, 7 Rejected, 8 Invalid, 9 Duplicate. It can add its own names."""
    created_after: NotRequired[str]
    """Only cases created on or after this day, YYYY-MM-DD, UTC."""
    created_before: NotRequired[str]
    """Only cases created on or before this day, YYYY-MM-DD, UTC."""
    distributor_id: NotRequired[int]
    """Only cases of the affiliate with this ID. The service assigned it: it is the `id` of the affiliate."""
    open: NotRequired[YesNo]
    """`yes`: only open cases. `no`: only ended cases, which have the status Resolved, Closed, Rejected, Invalid or Duplicate."""
    risk_level_id: NotRequired[int]
    """Only cases with the risk level that has this ID; 0 selects cases without a risk level. Every company starts with: 1 Low, 2 Medium, 3 High, 4 Critical. It can add its own names."""
    sub_status_id: NotRequired[int]
    """Only cases with the sub-status that has this ID; 0 selects cases without a sub-status. Every company starts with: 1 Under Review, 2 Quality Assurance, 3 Awaiting Evidence, 4 Awaiting Response, 5 Content Removed, 6 Content Modified, 7 Platform Takedown Requested, 8 Escalated, 9 Appealed. It can add its own names."""
    case_worker: NotRequired[str]
    """Only cases of this case worker. The name is compared exactly."""
    assigned: NotRequired[YesNo]
    """`yes`: only cases with a case worker. `no`: only cases without a case worker."""
    follow_up_after: NotRequired[str]
    """Only cases due for follow-up on or after this day, YYYY-MM-DD, UTC."""
    follow_up_before: NotRequired[str]
    """Only cases due for follow-up on or before this day, YYYY-MM-DD, UTC."""
    overdue: NotRequired[YesNo]
    """`yes`: only open cases whose follow-up date has passed. `no`: only the other cases."""
    closed_after: NotRequired[str]
    """Only cases closed on or after this day, YYYY-MM-DD, UTC."""
    closed_before: NotRequired[str]
    """Only cases closed on or before this day, YYYY-MM-DD, UTC."""
    infraction_type_id: NotRequired[int]
    """Only cases with an incident whose infraction type has this ID. Every company starts with: 1 Earnings Claim, 2 Health Claim, 3 Product Claim, 4 Trademark, 5 Promotion, 6 Disclosure, 7 Traffic Quality, 8 Recruiting. It can add its own names."""
    url_id: NotRequired[int]
    """Only cases with an incident about the URL that has this ID."""
    tag: NotRequired[str]
    """Only cases with this tag. The tag is compared exactly."""
    changed_after: NotRequired[int]
    """Only cases that changed, or whose incidents changed, after this position in the record of changes. Get positions from `GET /api/changes` (gRPC: ListChanges)."""


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
"""Writable affiliate fields, with their maximum lengths in characters."""
