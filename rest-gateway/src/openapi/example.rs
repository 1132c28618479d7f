//! Examples. Bodies that are read are written by the gateway's own code, so they have the form of real ones.

use std::borrow::ToOwned;

use compliance_api::{
    catalogue::Vocabulary,
    error::{NAME_EXISTS, ResultCode, affiliate_not_found_text},
    rules::item_failure,
    v1::{Affiliate, AffiliateInput, ComplianceCase, ComplianceUrl, Incident, IncidentType, Infraction, PageMeta},
};
use prost_types::Timestamp;
use serde::Serialize;

use crate::json::{Json, object};
use crate::{
    envelope::{Detail, Envelope},
    routes::text,
};

/// One example under a name, with a line about it.
pub(super) fn named(name: &str, summary: &str, value: Json) -> (String, Json) {
    (name.to_owned(), object! { "summary": summary, "value": value })
}

/// An affiliate to be created.
pub(super) const CREATE: &str = r#"{"client_affiliate_id": "A-1001", "affiliate_name": "Ann Example", "email_one": "ann@example.org", "country": "US", "status": "active", "start_date": "2026-01-31", "replicated_website": "https://ann.example.org/"}"#;
/// Affiliates to be created.
pub(super) const CREATE_BATCH: &str = r#"{"affiliates": [{"client_affiliate_id": "A-1002", "affiliate_name": "Ben Example"}, {"client_affiliate_id": "A-1003", "affiliate_name": "Ann Example"}, {"client_affiliate_id": "A-1004", "affiliate_name": "Cem Example", "country": "ZZ"}]}"#;
/// Changes to an affiliate.
pub(super) const UPDATE: &str = r#"{"id": 1, "status": "probation", "notes": null}"#;
/// Changes to affiliates.
pub(super) const UPDATE_BATCH: &str =
    r#"{"affiliates": [{"id": 1, "status": "active"}, {"id": 2, "country": "ZZ"}, {"id": 999, "city": "Bern"}]}"#;
/// URLs to be monitored.
pub(super) const ADD: &str =
    r#"{"urls": [{"url": "https://example.org/offer"}, {"url": "https://example.org/offer"}]}"#;

/// A body of the constants above.
pub(super) fn body(text: &str) -> Json {
    Json::parse(text.as_bytes())
}

/// The envelope of one record or of a list.
pub(super) fn found<T: Serialize>(msg: &str, data: &T, meta: Option<PageMeta>) -> Json {
    Json::of(&Envelope::found(msg, data, meta))
}

/// The results of [`CREATE`], of [`CREATE_BATCH`], of [`UPDATE`], of [`UPDATE_BATCH`] and of [`ADD`].
pub(super) fn created() -> Json {
    result(ResultCode::Saved, created_detail(1, "A-1001"))
}

/// See [`created`].
pub(super) fn created_batch() -> Json {
    let unknown = AffiliateInput { country: Some("ZZ".to_owned()), ..AffiliateInput::default() };
    let unknown = item_failure(&unknown).map(|failure| failure.message).unwrap_or_default();
    let failed = |id, msg| Detail { client_affiliate_id: Some(id), msg, ..Detail::default() };
    Json::List(vec![
        result(ResultCode::Saved, created_detail(2, "A-1002")),
        result(ResultCode::Duplicate, failed("A-1003", NAME_EXISTS)),
        result(ResultCode::InvalidCountry, failed("A-1004", &unknown)),
    ])
}

/// See [`created`].
pub(super) fn updated() -> Json {
    result(ResultCode::Saved, of_affiliate(1, text::AFFILIATE_UPDATED))
}

/// See [`created`].
pub(super) fn updated_batch() -> Json {
    let unknown = AffiliateInput { country: Some("ZZ".to_owned()), ..AffiliateInput::default() };
    let unknown = item_failure(&unknown).map(|failure| failure.message).unwrap_or_default();
    Json::List(vec![
        result(ResultCode::Saved, of_affiliate(1, text::AFFILIATE_UPDATED)),
        result(ResultCode::UpdateFailed, of_affiliate(2, &unknown)),
        result(ResultCode::NotFound, of_affiliate(999, &affiliate_not_found_text("999"))),
    ])
}

/// See [`created`].
pub(super) fn added() -> Json {
    let added = Detail { url_id: Some(1), msg: "URL added successfully.", ..Detail::default() };
    let skipped = Detail { msg: "This URL already exists and was skipped.", ..Detail::default() };
    Json::List(vec![result(ResultCode::Saved, added), result(ResultCode::Duplicate, skipped)])
}

fn created_detail(id: i64, client_id: &str) -> Detail<'_> {
    let msg = text::AFFILIATE_CREATED;
    Detail { affiliate_id: Some(id), client_affiliate_id: Some(client_id), msg, ..Detail::default() }
}

fn of_affiliate(id: i64, msg: &str) -> Detail<'_> {
    Detail { affiliate_id: Some(id), msg, ..Detail::default() }
}

fn result(code: ResultCode, detail: Detail<'_>) -> Json {
    Json::of(&Envelope::result(code, detail))
}

/// Where a page of one record stands.
pub(super) fn meta() -> PageMeta {
    PageMeta { total: 1, per_page: 100, current_page: 1, last_page: 1 }
}

#[expect(clippy::unnecessary_wraps, reason = "the fields of messages are optional")]
fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn name_of(vocabulary: Vocabulary, id: i32) -> Option<String> {
    vocabulary.default_name(id).map(ToOwned::to_owned)
}

/// The second of the day of 31 January 2026 that begins `hours` after midnight, UTC.
#[expect(clippy::unnecessary_wraps, reason = "the fields of messages are optional")]
fn at(hours: i64) -> Option<Timestamp> {
    Some(Timestamp { seconds: 1_769_817_600 + hours * 3600, nanos: 0 })
}

/// The affiliate of [`CREATE`], as it is read.
pub(super) fn affiliate() -> Affiliate {
    Affiliate {
        id: 1,
        client_id: 1,
        client_distributor_id: some("A-1001"),
        distributor_name: some("Ann Example"),
        email_one: some("ann@example.org"),
        country: Some(840),
        distributor_status: some("active"),
        start_date: some("2026-01-31"),
        replicated_website: some("https://ann.example.org/"),
        ..Affiliate::default()
    }
}

/// A URL with an infraction.
pub(super) fn url() -> ComplianceUrl {
    ComplianceUrl {
        id: 1,
        url: "https://example.org/offer".to_owned(),
        domain: some("example.org"),
        incident_status: name_of(Vocabulary::UrlIncidentStatus, 3),
        disabled: false,
        false_positive: Some(false),
        country: some("Germany"),
        discovery_date: at(8),
        last_review_date: at(10),
        last_crawl_date: at(9),
        last_seen: at(9),
        affiliate_name: some("Ann Example"),
        affiliate_id: some("A-1001"),
        case_id: Some(1),
        infractions: vec![Infraction {
            infraction_type: name_of(Vocabulary::InfractionType, 2),
            infraction_name: name_of(Vocabulary::InfractionName, 8),
            created_date: at(10),
        }],
        ..ComplianceUrl::default()
    }
}

/// A case with an incident.
pub(super) fn case() -> ComplianceCase {
    ComplianceCase {
        case_id: 1,
        tags: vec!["priority".to_owned()],
        case_status: name_of(Vocabulary::CaseStatus, 2),
        sub_status: name_of(Vocabulary::CaseSubStatus, 1),
        notice_status: name_of(Vocabulary::NoticeStatus, 3),
        risk_level: name_of(Vocabulary::RiskLevel, 2),
        case_country: some("Germany"),
        created_date: at(11),
        affiliate_name: some("Ann Example"),
        affiliate_id: some("A-1001"),
        status: some("active"),
        start_date: some("2026-01-31"),
        email_one: some("ann@example.org"),
        affiliate_country: some("United States of America"),
        replicated_website: some("https://ann.example.org/"),
        last_updated_date: at(12),
        incidents: vec![Incident {
            incident_id: 1,
            incident_type: IncidentType::Url.into(),
            infraction_type: name_of(Vocabulary::InfractionType, 2),
            infraction_name: name_of(Vocabulary::InfractionName, 8),
        }],
        ..ComplianceCase::default()
    }
}
