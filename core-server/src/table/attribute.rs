//! One attribute of a composite type: its name, its type, and how it is taken from a value.

use std::borrow::Cow;

use compliance_api::{
    country,
    record::{Access, Field, StoredAs},
    rules::start_date,
};
use sqlx::{Encode, Postgres, error::BoxDynError};
use time::{Date, OffsetDateTime};

use super::batch::{Composite, Encoder};

/// Encodes the attribute of a value.
type Write<T> = Box<dyn Fn(&T, &mut Encoder<'_>) -> Result<(), BoxDynError> + Send + Sync>;

/// An attribute of the composite type that values of type `T` are sent as.
pub(crate) struct Attribute<T> {
    pub(super) name: &'static str,
    /// The type, as PostgreSQL's `format_type` writes it.
    pub(super) sql_type: Cow<'static, str>,
    pub(super) write: Write<T>,
}

/// A Rust type that an attribute of one SQL type is encoded from.
pub(crate) trait Scalar: for<'q> Encode<'q, Postgres> {
    /// The SQL type, as PostgreSQL's `format_type` writes it.
    const SQL_TYPE: &'static str;
}

macro_rules! scalars {
    ($($rust:ty => $sql:literal),+ $(,)?) => {
        $(impl Scalar for $rust { const SQL_TYPE: &'static str = $sql; })+
    };
}

scalars! {
    i64 => "bigint",
    i32 => "integer",
    i16 => "smallint",
    bool => "boolean",
    OffsetDateTime => "timestamp with time zone",
    Date => "date",
}

impl<T: 'static> Attribute<T> {
    fn new(
        name: &'static str,
        sql_type: impl Into<Cow<'static, str>>,
        write: impl Fn(&T, &mut Encoder<'_>) -> Result<(), BoxDynError> + Send + Sync + 'static,
    ) -> Self {
        Self { name, sql_type: sql_type.into(), write: Box::new(write) }
    }

    /// A number, a flag, a timestamp or a day.
    pub(crate) fn scalar<V: Scalar>(
        name: &'static str,
        value: impl Fn(&T) -> Option<V> + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, V::SQL_TYPE, move |record, encoder| encoder.value(value(record)))
    }

    /// A text.
    pub(crate) fn text(name: &'static str, value: impl Fn(&T) -> Option<&str> + Send + Sync + 'static) -> Self {
        Self::new(name, "text", move |record, encoder| encoder.value(value(record)))
    }

    /// Bytes.
    pub(crate) fn bytes(name: &'static str, value: impl Fn(&T) -> Option<&[u8]> + Send + Sync + 'static) -> Self {
        Self::new(name, "bytea", move |record, encoder| encoder.value(value(record)))
    }

    /// A list of texts.
    pub(crate) fn texts<S: 'static>(
        name: &'static str,
        value: impl Fn(&T) -> Option<&[S]> + Send + Sync + 'static,
    ) -> Self
    where
        for<'q> &'q [S]: Encode<'q, Postgres>,
    {
        Self::new(name, "text[]", move |record, encoder| encoder.value(value(record)))
    }

    /// A list of values of another composite type.
    pub(crate) fn composites<U: 'static>(
        name: &'static str,
        composite: &'static Composite<U>,
        values: impl Fn(&T) -> &[U] + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, format!("{}[]", composite.name), move |record, encoder| {
            encoder.array(composite, values(record))
        })
    }

    /// A field of a record, of the type of its column. An empty text or list is null. A name of a vocabulary has an ID
    /// that the record does not know: it is to be given as a [`scalar`](Self::scalar).
    pub(crate) fn field<R: 'static>(
        field: &'static Field<R>,
        record: impl Fn(&T) -> &R + Send + Sync + 'static,
    ) -> Option<Self> {
        let name = field.column.name;
        Some(match (&field.access, field.column.form) {
            (Access::Text { get, .. }, StoredAs::Plain) => {
                Self::text(name, move |value| get(record(value)).filter(|text| !text.is_empty()))
            }
            (Access::Text { get, .. }, StoredAs::Date) => {
                Self::scalar(name, move |value| get(record(value)).and_then(start_date))
            }
            (Access::Text { get, .. }, StoredAs::CountryCode) => {
                Self::scalar(name, move |value| get(record(value)).and_then(country::numeric))
            }
            (Access::Integer { get, .. }, StoredAs::Plain) if field.column.sql_type == i32::SQL_TYPE => {
                Self::scalar(name, move |value| get(record(value)).and_then(|number| i32::try_from(number).ok()))
            }
            (Access::Integer { get, .. }, StoredAs::Plain) => Self::scalar(name, move |value| get(record(value))),
            (Access::Integer { get, .. }, StoredAs::CountryNumber) => {
                Self::scalar(name, move |value| get(record(value)).and_then(|number| i16::try_from(number).ok()))
            }
            (Access::Boolean { get, .. }, _) => Self::scalar(name, move |value| get(record(value))),
            (Access::Timestamp { get, .. }, _) => Self::scalar(name, move |value| {
                get(record(value)).and_then(|instant| OffsetDateTime::from_unix_timestamp(instant.seconds).ok())
            }),
            (Access::Texts { get, .. }, _) => {
                Self::texts(name, move |value| Some(get(record(value))).filter(|texts| !texts.is_empty()))
            }
            _ => return None,
        })
    }
}
