//! Attributes of composite types, and the values they encode.

use compliance_api::{
    country,
    record::{Access, RecordField, StoredAs},
    rules::start_date,
};
use sqlx::{Encode, Postgres};
use time::{Date, OffsetDateTime};

use super::encoder::{Attribute, Composite, Encoder};

/// A type that an attribute can encode.
pub trait Sql {
    /// SQL type, as PostgreSQL's `format_type` writes it.
    const TYPE: &'static str;
}

macro_rules! sql {
    ($($rust:ty => $sql:literal),+ $(,)?) => {
        $(impl Sql for $rust { const TYPE: &'static str = $sql; })+
    };
}

sql! {
    i64 => "bigint",
    i32 => "integer",
    i16 => "smallint",
    bool => "boolean",
    OffsetDateTime => "timestamp with time zone",
    Date => "date",
    str => "text",
    [u8] => "bytea",
    [i64] => "bigint[]",
    [String] => "text[]",
    [&'static str] => "text[]",
}

impl<T: 'static> Attribute<T> {
    /// Creates an attribute for a number, a flag, a timestamp or a date.
    pub fn scalar<V: Sql + for<'q> Encode<'q, Postgres>>(
        name: &'static str,
        value: impl Fn(&T) -> Option<V> + Send + Sync + 'static,
    ) -> Self {
        let write = move |record: &T, encoder: &mut Encoder<'_>| encoder.value(value(record));
        Self { name, sql_type: V::TYPE.into(), write: Box::new(write) }
    }

    /// Creates an attribute for text, bytes or a list.
    pub fn borrowed<V: Sql + ?Sized + 'static>(
        name: &'static str,
        value: impl Fn(&T) -> Option<&V> + Send + Sync + 'static,
    ) -> Self
    where
        for<'q> &'q V: Encode<'q, Postgres>,
    {
        let write = move |record: &T, encoder: &mut Encoder<'_>| encoder.value(value(record));
        Self { name, sql_type: V::TYPE.into(), write: Box::new(write) }
    }

    /// Creates an attribute for a list of composite values.
    pub fn composites<U: 'static>(
        name: &'static str,
        composite: &'static Composite<U>,
        values: impl Fn(&T) -> &[U] + Send + Sync + 'static,
    ) -> Self {
        let write = move |record: &T, encoder: &mut Encoder<'_>| encoder.array(composite, values(record));
        Self { name, sql_type: format!("{}[]", composite.name).into(), write: Box::new(write) }
    }

    /// Creates an attribute for a record field. An empty string or list becomes null.
    ///
    /// Returns `None` for a vocabulary name, because the record does not contain its ID. Use [`scalar`](Self::scalar) with the ID.
    pub fn field<R: 'static>(
        field: &'static RecordField<R>,
        record: impl Fn(&T) -> &R + Send + Sync + 'static,
    ) -> Option<Self> {
        let name = field.column.name;
        Some(match (&field.access, field.column.form) {
            (Access::Text { get, .. }, StoredAs::Plain) => {
                Self::borrowed(name, move |value| get(record(value)).filter(|text| !text.is_empty()))
            }
            (Access::Text { get, .. }, StoredAs::Date) => {
                Self::scalar(name, move |value| get(record(value)).and_then(start_date))
            }
            (Access::Text { get, .. }, StoredAs::CountryCode) => {
                Self::scalar(name, move |value| get(record(value)).and_then(country::numeric))
            }
            (Access::Integer { get, .. }, _) => Self::scalar(name, move |value| get(record(value))),
            (Access::Boolean { get, .. }, _) => Self::scalar(name, move |value| get(record(value))),
            (Access::Timestamp { get, .. }, _) => Self::scalar(name, move |value| {
                get(record(value)).and_then(|instant| OffsetDateTime::from_unix_timestamp(instant.seconds).ok())
            }),
            (Access::Texts { get, .. }, _) => {
                Self::borrowed(name, move |value| Some(get(record(value))).filter(|texts| !texts.is_empty()))
            }
            _ => return None,
        })
    }
}
