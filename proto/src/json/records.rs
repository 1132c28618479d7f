//! Records in files: one JSON object per line, with fields named as in `proto/`.
//!
//! - Null and an absent field both mean no value.
//! - Timestamps are `"YYYY-MM-DD HH:MM:SS"` in UTC. Offsets are accepted (`"2026-01-31T12:00:00+02:00"`), and fractions are truncated.
//! - IDs are numbers. Flags are `true` or `false`, or the strings `"yes"`, `"no"`, `"true"` and `"false"`.
//! - Incident types are strings, such as `"display ad"`.
//! - An unknown key is an error that lists the known keys.

use std::borrow::Cow;

use prost_types::Timestamp;
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;
use time::{PrimitiveDateTime, UtcOffset, macros::format_description};

use crate::catalogue::Vocabulary;

/// Reads a list. Null means an empty list.
pub(crate) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Reads a flag: `true`, `false`, null, or one of the strings yes, no, true and false, ignoring case.
pub(crate) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        Value::Bool(flag) => Ok(Some(flag)),
        Value::String(word) if ["yes", "true"].iter().any(|yes| word.eq_ignore_ascii_case(yes)) => Ok(Some(true)),
        Value::String(word) if ["no", "false"].iter().any(|no| word.eq_ignore_ascii_case(no)) => Ok(Some(false)),
        _ => Err(D::Error::custom("expected true, false, \"yes\", \"no\" or null")),
    }
}

/// Reads a timestamp from a string, or null.
pub(crate) fn timestamp<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    read_text(deserializer, timestamp_of_text, "is not a timestamp: expected YYYY-MM-DD HH:MM:SS, UTC")
}

/// Reads an incident type from a string. Null means none.
pub(crate) fn incident_type<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error> {
    let known = |text: &str| Vocabulary::IncidentType.default_id(text);
    let incident_type =
        read_text(deserializer, known, "is not an incident type: expected url, form, display ad or paid search ad");
    incident_type.map(Option::unwrap_or_default)
}

fn read_text<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    read: impl Fn(&str) -> Option<T>,
    wrong: &str,
) -> Result<Option<T>, D::Error> {
    let text = Option::<Cow<'_, str>>::deserialize(deserializer)?;
    text.map(|text| read(&text).ok_or_else(|| D::Error::custom(format!("{text:?} {wrong}")))).transpose()
}

/// Parses a timestamp, truncated to whole seconds.
///
/// `YYYY-MM-DD HH:MM:SS` is UTC. A fraction and `Z` or an offset can follow. `T` can replace the space, but then `Z` or an offset is
/// required: without one, many programs assume local time.
pub fn timestamp_of_text(text: &str) -> Option<Timestamp> {
    let (second, rest) = text.split_at_checked(SECOND.len())?;
    let is_spaced = second.as_bytes()[DAY.len()] == b' ';
    let second = if is_spaced { Cow::Borrowed(second) } else { Cow::Owned(second.replacen(['T', 't'], " ", 1)) };
    let form = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
    let utc = PrimitiveDateTime::parse(&second, &form).ok()?.assume_utc().unix_timestamp();
    let zone = match rest.strip_prefix('.') {
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|digit: char| digit.is_ascii_digit());
            (zone.len() < fraction.len()).then_some(zone)?
        }
        None => rest,
    };
    let offset = match zone {
        "" if is_spaced => 0,
        "Z" | "z" => 0,
        _ => offset(zone)?.whole_seconds().into(),
    };
    Some(Timestamp { seconds: utc - offset, nanos: 0 })
}

const DAY: &str = "YYYY-MM-DD";
const SECOND: &str = "YYYY-MM-DD HH:MM:SS";

/// Parses an offset of less than a day: `+HH:MM`, `+HHMM` or `+HH` with either sign.
fn offset(text: &str) -> Option<UtcOffset> {
    let forms = [
        format_description!("[offset_hour sign:mandatory]:[offset_minute]"),
        format_description!("[offset_hour sign:mandatory][offset_minute]"),
        format_description!("[offset_hour sign:mandatory]"),
    ];
    let offset = forms.iter().find_map(|form| UtcOffset::parse(text, form).ok())?;
    Some(offset).filter(|offset| offset.whole_hours().abs() < 24)
}

#[cfg(test)]
mod tests {
    use super::timestamp_of_text;
    use crate::v1::{IncidentType, OpenCaseRequest, UrlObservation};

    #[test]
    fn url_observations_round_trip() {
        let text = r#"{"url":"https://example.org/","disabled":true,"last_seen":"2026-01-31 12:00:00","affiliate_id":7,"infractions":[{"infraction_type":"Recruiting","created_date":"2026-01-30 00:00:00"}],"clear":["note"]}"#;
        let observation: UrlObservation = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&observation).unwrap(), text);
        let nulls = r#"{"url":"https://example.org/","disabled":"yes","last_seen":"2026-01-31T14:00:00.9+02:00",
            "affiliate_id":7,"note":null,"country":null,"false_positive":null,"discovery_date":null,"clear":["note"],
            "infractions":[{"infraction_type":"Recruiting","created_date":"2026-01-30T00:00:00Z"}]}"#;
        assert_eq!(serde_json::from_str::<UrlObservation>(nulls).unwrap(), observation);
    }

    #[test]
    fn open_case_requests_round_trip() {
        let text = r#"{"request_id":"c-1","case":{"client_affiliate_id":"A","tags":["x","y"]},"incidents":[{"incident_type":"display ad","reference":"ad 7"}],"dates_as_given":true}"#;
        let case: OpenCaseRequest = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&case).unwrap(), text);
        assert_eq!(case.incidents[0].incident_type(), IncidentType::DisplayAd);
        let nulls = r#"{"request_id":"c-1","case":null,"incidents":null,"dates_as_given":null}"#;
        let expected = OpenCaseRequest { request_id: Some("c-1".into()), ..OpenCaseRequest::default() };
        assert_eq!(serde_json::from_str::<OpenCaseRequest>(nulls).unwrap(), expected);
    }

    #[test]
    fn parse_errors_explain_the_problem() {
        let error = |text| serde_json::from_str::<UrlObservation>(text).unwrap_err().to_string();
        assert!(error(r#"{"uri":"x"}"#).starts_with("unknown field `uri`, expected one of `url`, "));
        assert!(error(r#"{"last_seen":"yesterday"}"#).contains("is not a timestamp"));
        assert!(error(r#"{"disabled":1}"#).contains("expected true, false"));
        let incident = |text| serde_json::from_str::<OpenCaseRequest>(text).unwrap_err().to_string();
        assert!(incident(r#"{"incidents":[{"incident_type":"ad"}]}"#).contains("is not an incident type"));
    }

    #[test]
    fn timestamp_parser_accepts_common_formats() {
        assert_eq!(timestamp_of_text("1970-01-01 00:01:00").unwrap().seconds, 60);
        for same in [
            "2026-01-31 12:00:00",
            "2026-01-31 12:00:00.9",
            "2026-01-31 12:00:00Z",
            "2026-01-31 12:00:00+00",
            "2026-01-31 14:00:00.123456+02:00",
            "2026-01-31T12:00:00Z",
            "2026-01-31t12:00:00z",
            "2026-01-31T12:00:00.000Z",
            "2026-01-31T12:00:00.1234567Z",
            "2026-01-31T14:00:00+0200",
            "2026-01-31T06:30:00-05:30",
            "2026-01-31T11:30:00-00:30",
            "2026-01-31T11:30:00-0030",
            "2026-02-01T00:00:00+12:00",
        ] {
            assert_eq!(timestamp_of_text(same).map(|it| it.seconds), Some(1_769_860_800), "{same}");
        }
        for wrong in [
            "",
            "2026-02-30 00:00:00",
            "2026-01-01",
            "2026-01-01 24:00:00",
            "2026-01-01 1:00:00",
            // The time zone is unknown.
            "2026-01-31T12:00:00",
            "2026-01-31T12:00:00.000",
            "2026-01-31 12:00:00.",
            "2026-01-31 12:00:00,5",
            "2026-01-31 12:00:00 Z",
            "2026-01-31 12:00:00 +02:00",
            "2026-01-31T12:00:00 02:00",
            "2026-01-31T12:00:00+24:00",
            "2026-01-31T12:00:00-24",
            "2026-01-31T12:00:00+02:60",
            "2026-01-31T12:00:00+2",
            "2026-01-31T12:00:00++1:00",
            "2026-01-31T12:00:00+02:00:00",
            "2026-01-31T12:00:00é",
            "2026-01-31_12:00:00Z",
        ] {
            assert_eq!(timestamp_of_text(wrong), None, "{wrong}");
        }
    }
}
