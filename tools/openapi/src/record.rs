//! Generates schemas for the records that partners read.

use compliance_api::{
    MAX_ID,
    catalogue::Vocabulary,
    description::{Field, Kind},
    record::{Column, Record, StoredAs},
    v1::{Affiliate, AffiliateInput, ComplianceCase, ComplianceUrl},
};
use docs_pages::{Json, object};

use crate::{
    pattern,
    schema::{YES_NO, choice, closed, integer, list_of, message, nullable, range, reference, vocabulary_sentence},
};

/// Returns a message's schema. All fields are always present; unknown values are null.
pub(crate) fn schema(name: &str) -> Json {
    let message = message(name);
    let written = message.fields.iter().filter(|field| field.form != "omitted");
    let properties = written.map(|field| (field.name, property(name, field)));
    closed(properties.collect()).with("description", message.doc)
}

fn property(message: &str, field: &Field) -> Json {
    if let (Kind::Message(inner), "") = (field.kind, field.form) {
        let items = reference(inner.name);
        return if field.is_list { list_of(items).with("description", field.doc) } else { items };
    }
    let column = column(message, field.name);
    let mut schema = value(message, field, column);
    if field.is_list {
        schema = list_of(schema);
    } else if field.may_be_absent {
        schema = nullable(schema);
    }
    let names = match column.map(|column| column.form) {
        Some(StoredAs::Name(vocabulary)) => vocabulary_sentence(vocabulary, false),
        _ => String::new(),
    };
    schema.with("description", format!("{}{names}", field.doc))
}

/// Returns the schema for a field's value.
fn value(message: &str, field: &Field, column: Option<Column>) -> Json {
    let text = object! { "type": "string" };
    match (field.form, field.kind) {
        ("datetime", _) => text.with("pattern", pattern::TIMESTAMP).with("example", "2026-01-31 12:00:00"),
        ("yes_no", _) => choice(YES_NO),
        _ if (message, field.name) == ("OverviewWeek", "from") => text.with("format", "date"),
        ("vocabulary", _) => choice(&Vocabulary::all().map(Vocabulary::key).collect::<Vec<_>>()),
        ("result_code", _) => choice(&SYNC_CODES),
        ("sync_outcome", _) => choice(&SYNC_OUTCOMES),
        ("incident_type", _) => choice(Vocabulary::IncidentType.defaults()),
        (_, Kind::Integer(bits)) => integer(bits, bounds(message, field.name, bits, column)),
        _ if column.is_some_and(|column| column.form == StoredAs::Date) => text.with("format", "date"),
        _ => match column.and_then(rules_of_column) {
            Some(rules) if !rules.one_of.is_empty() => choice(rules.one_of),
            Some(Field { max_chars: Some(most), .. }) => text.with("maxLength", most),
            _ => text,
        },
    }
}

/// A sync item's result codes.
const SYNC_CODES: [&str; 3] = ["1020", "1021", "1023"];
/// A sync item's outcomes.
const SYNC_OUTCOMES: [&str; 4] = ["created", "updated", "unchanged", "refused"];

/// Messages with integers that count records.
const COUNTS: [&str; 7] = [
    "CaseOverview",
    "OpenCasesByRisk",
    "OpenCasesByAge",
    "UrlOverview",
    "InfractionOverview",
    "OverviewWeek",
    "EraseAffiliateResponse",
];

fn bounds(message: &str, name: &str, bits: u32, column: Option<Column>) -> (i64, i64) {
    if let Some(rules) = column.and_then(rules_of_column) {
        return range(bits, rules);
    }
    match (message, name) {
        ("ListChangesResponse" | "Webhook" | "WebhookDelivery" | "TestWebhookResponse", _)
        | ("SearchChangesResponse", "dropped_position")
        | (_, "total" | "absent_total" | "absent_changed" | "conflicting_positions") => (0, MAX_ID),
        ("PageMeta", "per_page") => (1, 200),
        _ if COUNTS.contains(&message) => (0, if bits == 32 { i32::MAX.into() } else { MAX_ID }),
        _ if column.is_some_and(|column| column.form == StoredAs::CountryNumber) => (1, 999),
        _ => (1, MAX_ID),
    }
}

/// Returns a record field's column.
pub(crate) fn column(message: &str, name: &str) -> Option<Column> {
    fn of<R: Record>(name: &str) -> Option<Column> {
        R::field(name).map(|field| field.column)
    }
    match message {
        "Affiliate" => of::<Affiliate>(name),
        "ComplianceUrl" => of::<ComplianceUrl>(name),
        "ComplianceCase" => of::<ComplianceCase>(name),
        _ => None,
    }
}

/// Returns a column's rules, if partners can write the column.
fn rules_of_column(column: Column) -> Option<&'static Field> {
    let is_same = |other: &Column| (other.table, other.name, other.form) == (column.table, column.name, column.form);
    let written = AffiliateInput::FIELDS.iter().find(|field| is_same(&field.column))?;
    message("AffiliateInput").field(written.name)
}
