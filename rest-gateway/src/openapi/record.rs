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
    choice, pattern,
    schema::{any_of, closed, list_of, null, reference, vocabulary_sentence},
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
    let mut schema = match (value, is_nullable) {
        (Value::OneOf(values), false) => choice::of(values),
        (Value::OneOf(values), true) => any_of([choice::of(values), null()]),
        (Value::Of(kind, keywords), _) => {
            let kind = if is_nullable { Json::list([kind, "null"]) } else { kind.into() };
            keywords.into_iter().fold(object! { "type": kind }, |schema, (key, keyword)| schema.with(key, keyword))
        }
    };
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
enum Value {
    /// A type, and the keywords that narrow it.
    Of(&'static str, Vec<(&'static str, Json)>),
    /// One of these texts.
    OneOf(&'static [&'static str]),
}

impl Value {
    fn of(message: &str, field: &Field, column: Option<Column>) -> Self {
        let text = |keywords| Self::Of("string", keywords);
        match (field.form, field.kind) {
            ("datetime", _) => {
                text(vec![("pattern", pattern::TIMESTAMP.into()), ("example", "2026-01-31 12:00:00".into())])
            }
            ("yes_no" | "yes_no_or_null", _) => Self::OneOf(choice::YES_NO),
            ("incident_type", _) => Self::OneOf(Vocabulary::IncidentType.defaults()),
            (_, Kind::Integer) => {
                let (least, most) = bounds(message, field.rules.name, column);
                let keywords = vec![("format", "int64".into()), ("minimum", least.into()), ("maximum", most.into())];
                Self::Of("integer", keywords)
            }
            _ if column.is_some_and(|column| column.form == StoredAs::Date) => text(vec![("format", "date".into())]),
            _ => match column.and_then(rules_of_column) {
                Some(rules) if !rules.one_of.is_empty() => Self::OneOf(rules.one_of),
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
