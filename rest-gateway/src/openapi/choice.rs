//! Texts that are one of a few. Each list of values has a name in the document, so that a generated client has one type for
//! it, wherever it is used.

use compliance_api::{catalogue::Vocabulary, description::Message};

use super::schema::reference;
use crate::json::{Json, object};

/// The values of a flag.
pub(super) const YES_NO: &[&str] = &["yes", "no"];

/// The names of the lists, with their values.
fn named() -> [(&'static str, &'static [&'static str]); 3] {
    let status = Message::of("AffiliateInput").and_then(|message| message.field("status"));
    [
        ("AffiliateStatus", status.map_or(&[], |field| field.rules.one_of)),
        ("IncidentType", Vocabulary::IncidentType.defaults()),
        ("YesNo", YES_NO),
    ]
}

/// The schemas of all named lists.
pub(super) fn all() -> impl Iterator<Item = (String, Json)> {
    named().into_iter().map(|(name, values)| (name.to_owned(), inline(values)))
}

/// The schema of a text that is one of these.
pub(super) fn of(values: &[&str]) -> Json {
    match named().iter().find(|(_, others)| *others == values) {
        Some((name, _)) => reference(name),
        None => inline(values),
    }
}

fn inline(values: &[&str]) -> Json {
    object! { "type": "string", "enum": Json::list(values.iter().copied()) }
}
