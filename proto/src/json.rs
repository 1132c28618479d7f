//! JSON formats that differ from serde's defaults.
//!
//! [`lines`] writes JSON on one line, and [`records`] reads records from files.

pub mod lines;
pub mod records;

use prost_types::Timestamp;
use serde::{Serialize as _, Serializer};
use time::{OffsetDateTime, macros::format_description};

use crate::{catalogue::Vocabulary, v1::SyncOutcome};

/// Writes `YYYY-MM-DD HH:MM:SS` in UTC, or null if absent.
#[expect(clippy::ref_option, reason = "serde passes fields by reference")]
pub(crate) fn datetime<S: Serializer>(value: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    value.as_ref().and_then(datetime_text).serialize(serializer)
}

/// Formats a timestamp as `YYYY-MM-DD HH:MM:SS` in UTC.
///
/// Returns `None` outside the years 0 to 9999.
pub fn datetime_text(value: &Timestamp) -> Option<String> {
    let timestamp = OffsetDateTime::from_unix_timestamp(value.seconds).ok()?;
    let format = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
    timestamp.format(&format).ok().filter(|text| text.len() == 19)
}

/// Writes `yes` or `no`, or null if absent.
pub(crate) fn yes_no<S: Serializer>(
    value: &(impl Copy + Into<Option<bool>>),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    (*value).into().map(|value| if value { "yes" } else { "no" }).serialize(serializer)
}

/// Writes a result code as a string, such as `1020`.
pub(crate) fn result_code<S: Serializer>(value: &i32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Writes `created`, `updated`, `unchanged` or `refused`.
pub(crate) fn sync_outcome<S: Serializer>(value: &i32, serializer: S) -> Result<S::Ok, S::Error> {
    let name = SyncOutcome::try_from(*value).unwrap_or_default().as_str_name();
    name.trim_start_matches("SYNC_OUTCOME_").to_lowercase().serialize(serializer)
}

/// Writes a vocabulary's key, such as `case_status`.
pub(crate) fn vocabulary<S: Serializer>(value: &i32, serializer: S) -> Result<S::Ok, S::Error> {
    Vocabulary::try_from(*value).unwrap_or_default().key().serialize(serializer)
}

/// Writes `url`, `form`, `display ad` or `paid search ad`.
pub(crate) fn incident_type<S: Serializer>(value: &i32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(Vocabulary::IncidentType.default_name(*value).unwrap_or_default())
}
