//! Defines values for every writable field. Tests that cover all fields fail if a field has no value here.

use compliance_api::{
    description::Message,
    rules::Check,
    v1::{CaseInput, UrlObservation},
};
use serde_json::{Map, Value, json};

/// Returns a value for each field of an observation except `url`, `affiliate_id` and `clear`.
///
/// The test creates the affiliate B. The infraction is in the default vocabulary.
pub fn of_observation() -> Map<String, Value> {
    let values = json!({
        "incident_status": "In Violation", "disabled": true, "false_positive": true, "country": "DE",
        "discovery_date": "2024-01-01 01:00:00", "last_review_date": "2024-01-02 02:00:00",
        "last_crawl_date": "2024-01-03 03:00:00", "last_seen": "2024-01-04 04:00:00", "client_affiliate_id": "B",
        "sub_affiliate_id": "sub", "owner_email": "owner@example.org", "social_one": "one", "social_two": "two",
        "social_three": "three", "phone_one": "+49 1", "phone_two": "+49 2", "landing_page": "https://landing.example/",
        "note": "a note", "video_path": "/video", "transcription_text": "a text", "transcription_status": "Completed",
        "infractions": [{"infraction_type": "Health Claim", "infraction_name": "weight loss",
            "created_date": "2024-01-05 05:00:00"}],
    });
    complete(values, UrlObservation::MESSAGE, &["url", "affiliate_id", "clear"])
}

/// Returns a value for each field of a case except `affiliate_id`.
///
/// None of the values makes the service set a date field.
pub fn of_case() -> Map<String, Value> {
    let values = json!({
        "client_affiliate_id": "B", "case_worker": "worker", "tags": ["one", "two"], "case_status": "Open",
        "sub_status": "Escalated", "submitter": "submitter", "notice_status": "Sent", "risk_level": "Low",
        "case_country": "DE", "sub_affiliate_id": "sub", "created_date": "2024-01-01 01:00:00",
        "reviewed_date": "2024-01-02 02:00:00", "resolved_date": "2024-01-03 03:00:00",
        "first_action_date": "2024-01-04 04:00:00", "flagged_date": "2024-01-05 05:00:00",
        "follow_up_date": "2024-01-06 06:00:00", "closed_date": "2024-01-07 07:00:00",
        "last_updated_date": "2024-01-08 08:00:00", "note": "a note",
    });
    complete(values, CaseInput::MESSAGE, &["affiliate_id"])
}

fn complete(values: Value, message: &Message, without: &[&str]) -> Map<String, Value> {
    let Value::Object(values) = values else { panic!("{values}") };
    let mut with_value: Vec<&str> = values.keys().map(String::as_str).chain(without.iter().copied()).collect();
    let mut names = message.names().collect::<Vec<_>>();
    with_value.sort_unstable();
    names.sort_unstable();
    assert_eq!(with_value, names, "the values do not match the message's fields");
    values
}
