//! Schemas of the records that partners read.

use compliance_api::{
    MAX_ID,
    catalogue::Vocabulary,
    description::{Field, Kind, Message},
    record::{Column, Record, StoredAs},
    rules::FieldRules,
    v1::{Affiliate, AffiliateInput, ComplianceCase, ComplianceUrl},
};

use super::{
    pattern,
    schema::{closed, list_of, reference, vocabulary_sentence},
};
use crate::json::{Json, object};

/// The schema of a message. Every field is always there; what is not known is null.
pub(super) fn schema(name: &str) -> Json {
    let Some(message) = Message::of(name) else { return Json::Null };
    let properties = message.fields.iter().map(|field| (field.rules.name, property(name, field)));
    closed(properties.collect()).with("description", message.doc)
}

fn property(message: &str, field: &Field) -> Json {
    if let Kind::Message(inner) = field.kind {
        let items = reference(inner);
        return if field.is_list { list_of(items).with("description", field.doc) } else { items };
    }
    let column = column(message, field.rules.name);
    let is_nullable = field.may_be_absent && !field.is_list;
    let value = Value::of(message, field, column);
    let kind = if is_nullable { Json::list([value.kind, "null"]) } else { value.kind.into() };
    let mut schema = object! { "type": kind };
    for (key, keyword) in value.keywords {
        schema = schema.with(key, keyword);
    }
    if let Some(values) = value.one_of {
        let values = values.iter().map(|value| Json::from(*value)).chain(is_nullable.then_some(Json::Null));
        schema = schema.with("enum", Json::List(values.collect()));
    }
    if field.is_list {
        schema = list_of(schema);
    }
    let names = match column.map(|column| column.form) {
        Some(StoredAs::Name(vocabulary)) => vocabulary_sentence(vocabulary, false),
        _ => String::new(),
    };
    schema.with("description", format!("{}{names}", field.doc))
}

/// What is known of the values of a field.
struct Value {
    kind: &'static str,
    keywords: Vec<(&'static str, Json)>,
    one_of: Option<&'static [&'static str]>,
}

impl Value {
    fn of(message: &str, field: &Field, column: Option<Column>) -> Self {
        let text = |keywords| Self { kind: "string", keywords, one_of: None };
        let choice = |values| Self { kind: "string", keywords: Vec::new(), one_of: Some(values) };
        match (field.form, field.kind) {
            ("datetime", _) => {
                text(vec![("pattern", pattern::TIMESTAMP.into()), ("example", "2026-01-31 12:00:00".into())])
            }
            ("yes_no" | "yes_no_or_null", _) => choice(&["yes", "no"]),
            ("incident_type", _) => choice(Vocabulary::IncidentType.defaults()),
            (_, Kind::Integer) => {
                let (least, most) = bounds(message, field.rules.name, column);
                Self {
                    kind: "integer",
                    keywords: vec![("format", "int64".into()), ("minimum", least.into()), ("maximum", most.into())],
                    one_of: None,
                }
            }
            _ if column.is_some_and(|column| column.form == StoredAs::Date) => text(vec![("format", "date".into())]),
            _ => match column.and_then(rules_of_column) {
                Some(rules) if !rules.one_of.is_empty() => choice(rules.one_of),
                Some(FieldRules { max_chars: Some(most), .. }) => text(vec![("maxLength", (*most).into())]),
                _ => text(Vec::new()),
            },
        }
    }
}

fn bounds(message: &str, name: &str, column: Option<Column>) -> (i64, i64) {
    match (message, name) {
        ("PageMeta", "total") => (0, MAX_ID),
        ("PageMeta", "per_page") => (1, 200),
        _ if column.is_some_and(|column| column.form == StoredAs::CountryNumber) => (1, 999),
        _ => (1, MAX_ID),
    }
}

/// The column that a field of a record is read from.
pub(super) fn column(message: &str, name: &str) -> Option<Column> {
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

/// The rules by which a column is written, if partners write it.
fn rules_of_column(column: Column) -> Option<&'static FieldRules> {
    let is_same = |other: &Column| (other.table, other.name, other.form) == (column.table, column.name, column.form);
    let written = AffiliateInput::FIELDS.iter().find(|field| is_same(&field.column))?;
    Message::of("AffiliateInput")?.field(written.name).map(|field| &field.rules)
}
