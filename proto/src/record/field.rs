//! Record fields: names, columns and value accessors.

use std::borrow::Cow;

use prost_types::Timestamp;

use crate::{
    catalogue::Vocabulary,
    json::{datetime_text, records::timestamp_of_text},
};

/// A message whose fields map to table columns.
///
/// The build script implements this trait for every message with the `table` option.
pub trait Record: Clone + Default + Send + Sync + 'static {
    /// The record's table.
    const TABLE: &'static str;

    /// The fields. Their order does not matter.
    const FIELDS: &'static [RecordField<Self>];

    /// Returns a field by name.
    fn field(name: &str) -> Option<&'static RecordField<Self>> {
        Self::FIELDS.iter().find(|field| field.name == name)
    }

    /// Returns all field names, in declaration order.
    fn names() -> Vec<&'static str> {
        Self::FIELDS.iter().map(|field| field.name).collect()
    }
}

/// One field of a record.
pub struct RecordField<R: 'static> {
    /// Name in messages, JSON and update masks.
    pub name: &'static str,
    /// Number in the message.
    pub number: u32,
    /// The value's column.
    pub column: Column,
    /// Reads and writes the value in the message.
    pub access: Access<R>,
}

/// Where and how a field is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The table's name; empty if the reading statement computes the value.
    pub table: &'static str,
    /// The column's name.
    pub name: &'static str,
    /// The column's type, as PostgreSQL's `format_type` writes it.
    pub sql_type: &'static str,
    /// How the value is stored.
    pub form: StoredAs,
}

/// How a field's value is stored in its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredAs {
    /// The value, unchanged.
    Plain,
    /// A calendar day as a string, stored as a date.
    Date,
    /// An ISO 3166-1 alpha-2 code, stored as the numeric code.
    CountryCode,
    /// An ISO 3166-1 numeric code.
    CountryNumber,
    /// An ISO 3166-1 short name, stored as the numeric code.
    CountryName,
    /// An etag, stored as a number.
    Revision,
    /// A vocabulary name, stored as its ID.
    Name(Vocabulary),
}

/// Typed accessors for a field's value.
///
/// `None` represents an absent value. Setting `None` resets a field that cannot be absent to its default.
#[expect(missing_docs, reason = "each type has a getter and a setter")]
pub enum Access<R> {
    /// A string.
    Text { get: fn(&R) -> Option<&str>, set: fn(&mut R, Option<String>) },
    /// An integer. A value that does not fit the field becomes absent.
    Integer { get: fn(&R) -> Option<i64>, set: fn(&mut R, Option<i64>) },
    /// A flag.
    Boolean { get: fn(&R) -> Option<bool>, set: fn(&mut R, Option<bool>) },
    /// A timestamp.
    Timestamp { get: fn(&R) -> Option<Timestamp>, set: fn(&mut R, Option<Timestamp>) },
    /// A list of strings.
    Texts { get: fn(&R) -> &[String], set: fn(&mut R, Vec<String>) },
}

impl<R> RecordField<R> {
    /// Returns the value of a string field.
    pub fn text<'r>(&self, record: &'r R) -> Option<&'r str> {
        match self.access {
            Access::Text { get, .. } => get(record),
            _ => None,
        }
    }

    /// Returns whether the record has a value. An empty string counts as a value, but an empty list does not.
    pub fn is_given(&self, record: &R) -> bool {
        match self.access {
            Access::Text { get, .. } => get(record).is_some(),
            Access::Integer { get, .. } => get(record).is_some(),
            Access::Boolean { get, .. } => get(record).is_some(),
            Access::Timestamp { get, .. } => get(record).is_some(),
            Access::Texts { get, .. } => !get(record).is_empty(),
        }
    }

    /// Returns whether the value is absent or an empty string.
    pub fn is_empty(&self, record: &R) -> bool {
        !self.is_given(record) || self.text(record) == Some("")
    }

    /// Returns the value as text.
    ///
    /// Numbers are decimal, flags are `yes` or `no`, timestamps are `YYYY-MM-DD HH:MM:SS`, and lists are JSON.
    pub fn written<'r>(&self, record: &'r R) -> Option<Cow<'r, str>> {
        match self.access {
            Access::Text { get, .. } => get(record).map(Cow::Borrowed),
            Access::Integer { get, .. } => get(record).map(|number| Cow::Owned(number.to_string())),
            Access::Boolean { get, .. } => get(record).map(|flag| Cow::Borrowed(if flag { "yes" } else { "no" })),
            Access::Timestamp { get, .. } => get(record).and_then(|instant| datetime_text(&instant)).map(Cow::Owned),
            Access::Texts { get, .. } => {
                let texts = Some(get(record)).filter(|texts| !texts.is_empty())?;
                serde_json::to_string(texts).ok().map(Cow::Owned)
            }
        }
    }

    /// Sets or clears the value from text, in the format of [`written`](Self::written).
    ///
    /// Also accepts `true` and `false` for flags. Returns `false`, and changes nothing, if the text is malformed.
    #[must_use]
    pub fn set_written(&self, record: &mut R, text: Option<String>) -> bool {
        match self.access {
            Access::Text { set, .. } => set(record, text),
            Access::Integer { .. } => match text.map(|text| text.parse()).transpose() {
                Ok(number) => return self.set_integer(record, number),
                Err(_) => return false,
            },
            Access::Boolean { set, .. } => match text.as_deref() {
                None => set(record, None),
                Some("yes" | "true") => set(record, Some(true)),
                Some("no" | "false") => set(record, Some(false)),
                Some(_) => return false,
            },
            Access::Timestamp { set, .. } => match text.map(|text| timestamp_of_text(&text).ok_or(())).transpose() {
                Ok(instant) => set(record, instant),
                Err(()) => return false,
            },
            Access::Texts { set, .. } => match text.map(|text| serde_json::from_str(&text)).transpose() {
                Ok(texts) => set(record, texts.unwrap_or_default()),
                Err(_) => return false,
            },
        }
        true
    }

    /// Sets or clears an integer. Returns `false`, and changes nothing, if the number does not fit the field.
    #[must_use]
    pub fn set_integer(&self, record: &mut R, number: Option<i64>) -> bool {
        let Access::Integer { set, .. } = self.access else { return false };
        let fits = number.is_none_or(|number| match self.column.sql_type {
            "smallint" => i16::try_from(number).is_ok(),
            "integer" => i32::try_from(number).is_ok(),
            _ => true,
        });
        if fits {
            set(record, number);
        }
        fits
    }

    /// Removes the value.
    pub fn clear(&self, record: &mut R) {
        // Clearing a value never fails.
        let _ = self.set_written(record, None);
    }

    /// Returns the expected type of a value, for error messages.
    pub const fn expected(&self) -> &'static str {
        match self.access {
            Access::Text { .. } => "a string",
            Access::Integer { .. } if matches!(self.column.sql_type.as_bytes(), b"integer") => "a 32-bit integer",
            Access::Integer { .. } => "an integer",
            Access::Boolean { .. } => "yes or no",
            Access::Timestamp { .. } => "a timestamp, YYYY-MM-DD HH:MM:SS",
            Access::Texts { .. } => "an array of strings",
        }
    }

    /// Returns the field's bit in a [`FieldSet`](super::FieldSet).
    pub const fn bit(&self) -> i64 {
        1 << self.number
    }
}

// A derived implementation would require `R: PartialEq`.
impl<R> PartialEq for RecordField<R> {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl<R> Eq for RecordField<R> {}

impl<R> std::fmt::Debug for RecordField<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordField").field("name", &self.name).field("column", &self.column).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use prost_reflect::{DescriptorPool, DynamicMessage, ReflectMessage as _, Value, prost::Message as _};

    use super::{Access, Record};
    use crate::{
        FILE_DESCRIPTOR_SET,
        record_generator::generate,
        v1::{Affiliate, AffiliateInput, ComplianceCase, ComplianceUrl},
    };

    /// Returns the declarations with every message's fields in reverse order.
    fn reversed() -> DescriptorPool {
        let pool = DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap();
        let set = pool.get_message_by_name("google.protobuf.FileDescriptorSet").unwrap();
        let mut set = DynamicMessage::decode(set, FILE_DESCRIPTOR_SET).unwrap();
        for_each(&mut set, "file", |file| {
            for_each(file, "message_type", |message| {
                if let Some(Value::List(fields)) = message.get_field_by_name_mut("field") {
                    fields.reverse();
                }
            });
        });
        assert_eq!(set.descriptor().name(), "FileDescriptorSet");
        DescriptorPool::decode(set.encode_to_vec().as_slice()).unwrap()
    }

    /// Returns the first declared field of an affiliate.
    fn first_declared(pool: &DescriptorPool) -> String {
        let message = pool.get_message_by_name("compliance.v1.AffiliateInput").unwrap();
        message.descriptor_proto().field[0].name().to_owned()
    }

    fn for_each(message: &mut DynamicMessage, name: &str, change: impl Fn(&mut DynamicMessage)) {
        if let Some(Value::List(values)) = message.get_field_by_name_mut(name) {
            values.iter_mut().filter_map(Value::as_message_mut).for_each(change);
        }
    }

    #[test]
    fn field_order_does_not_affect_generated_code() {
        let lines = |code: String| {
            let mut lines: Vec<_> = code.lines().map(str::to_owned).collect();
            lines.sort_unstable();
            lines
        };
        let (declared, reversed) = (DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap(), reversed());
        assert_ne!(first_declared(&declared), first_declared(&reversed));
        let (declared, reversed) = (generate(&declared).unwrap(), generate(&reversed).unwrap());
        assert_eq!(lines(declared), lines(reversed));
    }

    /// Returns sample text for a field of this type.
    fn sample<R: Record>(access: &Access<R>) -> &'static str {
        match access {
            Access::Text { .. } => "text",
            Access::Integer { .. } => "7",
            Access::Boolean { .. } => "yes",
            Access::Timestamp { .. } => "2026-01-31 12:00:00",
            Access::Texts { .. } => r#"["a","b"]"#,
        }
    }

    fn assert_fields_round_trip<R: Record>() {
        for field in R::FIELDS {
            let text = sample(&field.access);
            let mut record = R::default();
            assert!(field.set_written(&mut record, Some(text.to_owned())), "{field:?}");
            assert_eq!(field.written(&record).as_deref(), Some(text), "{field:?}");
            for other in R::FIELDS.iter().filter(|other| other.name != field.name) {
                assert_eq!(other.written(&record), other.written(&R::default()), "{field:?} sets {other:?}");
            }
        }
    }

    #[test]
    fn every_record_field_round_trips() {
        assert_fields_round_trip::<AffiliateInput>();
        assert_fields_round_trip::<ComplianceUrl>();
        assert_fields_round_trip::<ComplianceCase>();
    }

    #[test]
    fn out_of_range_numbers_change_nothing() {
        let country = Affiliate::field("country").unwrap();
        let mut affiliate = Affiliate { country: Some(276), ..Affiliate::default() };
        assert!(!country.set_integer(&mut affiliate, Some(1 << 15)));
        assert!(!country.set_written(&mut affiliate, Some("32768".to_owned())));
        assert_eq!(affiliate.country, Some(276));
        assert!(country.set_integer(&mut affiliate, Some(840)));
        assert_eq!(affiliate.country, Some(840));
    }

    #[test]
    fn malformed_text_changes_nothing() {
        let disabled = ComplianceUrl::field("disabled").unwrap();
        let mut url = ComplianceUrl { disabled: true, ..ComplianceUrl::default() };
        assert!(!disabled.set_written(&mut url, Some("perhaps".to_owned())));
        assert!(url.disabled);
    }
}
