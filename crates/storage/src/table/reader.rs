//! Decodes rows as records. Each field is read from the column with its name.

use compliance_api::{
    country,
    record::{Access, Record, RecordField, StoredAs},
};
use prost_types::Timestamp;
use sqlx::{
    Column as _, Decode, Postgres, Row as _, Type, TypeInfo as _,
    error::BoxDynError,
    postgres::{PgHasArrayType, PgRow, PgTypeInfo, PgValueFormat, PgValueRef},
};
use time::OffsetDateTime;

use super::sql::own_name_column;
use crate::vocabulary;

/// Years 1 to 9999, in microseconds since the start of 2000 UTC.
const VALID: std::ops::Range<i64> = -63_082_281_600_000_000..252_455_616_000_000_000;

/// Positions of a record's fields in a statement's rows.
pub struct Reader<R: Record> {
    columns: Vec<ReadColumn<R>>,
}

/// Function that decodes a record from a row with a [`Reader`].
///
/// Also reads any values that the statement adds to the record.
pub type Read<R> = fn(&Reader<R>, &PgRow) -> Result<R, sqlx::Error>;

/// Decodes all rows of a statement. Looks up columns by name only once.
pub fn read_all<'r, R: Record, T>(
    rows: impl IntoIterator<Item = &'r PgRow>,
    read: impl Fn(&Reader<R>, &PgRow) -> Result<T, sqlx::Error>,
) -> Result<Vec<T>, sqlx::Error> {
    let mut rows = rows.into_iter();
    let Some(first) = rows.next() else { return Ok(Vec::new()) };
    let reader = Reader::new(first)?;
    std::iter::once(first).chain(rows).map(|row| read(&reader, row)).collect()
}

/// A field and its column ordinals.
struct ReadColumn<R: 'static> {
    field: &'static RecordField<R>,
    ordinal: usize,
    /// For a vocabulary name, the column with the company's custom name.
    own_name: usize,
}

impl<R: Record> Reader<R> {
    /// Looks up the columns of `row` by name.
    pub fn new(row: &PgRow) -> Result<Self, sqlx::Error> {
        let column = |field: &'static RecordField<R>| {
            let ordinal = ordinal(field, row, field.name, compatible(field))?;
            let own_name = match field.column.form {
                StoredAs::Name(_) => self::ordinal(field, row, &own_name_column(field.name), String::compatible)?,
                _ => ordinal,
            };
            Ok::<_, sqlx::Error>(ReadColumn { field, ordinal, own_name })
        };
        Ok(Self { columns: R::FIELDS.iter().map(column).collect::<Result<_, _>>()? })
    }

    /// Decodes a row.
    pub fn read(&self, row: &PgRow) -> Result<R, sqlx::Error> {
        let mut record = R::default();
        for column in &self.columns {
            column.read(row, &mut record)?;
        }
        Ok(record)
    }
}

type Compatible = fn(&PgTypeInfo) -> bool;

/// Returns the check for the column types that a field can be read from.
fn compatible<R>(field: &RecordField<R>) -> Compatible {
    match (&field.access, field.column.form) {
        (Access::Text { .. }, StoredAs::Plain | StoredAs::Date) => String::compatible,
        (Access::Text { .. }, StoredAs::Name(_)) => i32::compatible,
        (Access::Text { .. }, StoredAs::CountryCode | StoredAs::CountryName)
        | (Access::Integer { .. }, StoredAs::CountryNumber) => i16::compatible,
        // A text field cannot be read from a number.
        (Access::Text { .. }, StoredAs::CountryNumber) => |_| false,
        (Access::Integer { .. }, _) if field.column.sql_type == "integer" => i32::compatible,
        (Access::Text { .. }, StoredAs::Revision) | (Access::Integer { .. }, _) => i64::compatible,
        (Access::Boolean { .. }, _) => bool::compatible,
        (Access::Timestamp { .. }, _) => OffsetDateTime::compatible,
        (Access::Texts { .. }, _) => Vec::<String>::compatible,
    }
}

/// Returns the ordinal of a field's column. Checks the column's type once, so decoding needs no checks.
fn ordinal<R>(field: &RecordField<R>, row: &PgRow, name: &str, compatible: Compatible) -> Result<usize, sqlx::Error> {
    let column = row.try_column(name)?;
    if compatible(column.type_info()) {
        return Ok(column.ordinal());
    }
    let (found, expected) = (column.type_info().name(), field.column.sql_type);
    let source = format!("{name} is {found}, but the field is stored as {expected}");
    Err(sqlx::Error::ColumnDecode { index: field.name.to_owned(), source: source.into() })
}

impl<R> ReadColumn<R> {
    fn read(&self, row: &PgRow, record: &mut R) -> Result<(), sqlx::Error> {
        match self.field.access {
            Access::Text { set, .. } => set(record, self.text(row)?),
            Access::Integer { set, .. } => set(record, self.integer(row)?),
            Access::Boolean { set, .. } => set(record, self.value(row)?),
            Access::Timestamp { set, .. } => {
                set(record, self.value(row)?.and_then(|ValidTimestamp(instant)| instant).map(timestamp));
            }
            Access::Texts { set, .. } => set(record, self.value(row)?.unwrap_or_default()),
        }
        Ok(())
    }

    fn text(&self, row: &PgRow) -> Result<Option<String>, sqlx::Error> {
        let country = |of: fn(i16) -> Option<&'static str>| {
            self.value::<i16>(row).map(|code| code.and_then(of).map(str::to_owned))
        };
        match self.field.column.form {
            StoredAs::Plain | StoredAs::CountryNumber => self.value(row),
            StoredAs::Date => Ok(self.value(row)?.and_then(valid_date)),
            StoredAs::Revision => Ok(self.value::<i64>(row)?.map(|revision| revision.to_string())),
            StoredAs::CountryCode => country(country::alpha2),
            StoredAs::CountryName => country(country::name),
            StoredAs::Name(kind) => Ok(vocabulary::name(kind, self.value(row)?, row.try_get_unchecked(self.own_name)?)),
        }
    }

    fn integer(&self, row: &PgRow) -> Result<Option<i64>, sqlx::Error> {
        match self.field.column.sql_type {
            "smallint" => Ok(self.value::<i16>(row)?.map(i64::from)),
            "integer" => Ok(self.value::<i32>(row)?.map(i64::from)),
            _ => self.value(row),
        }
    }

    fn value<'r, T: Decode<'r, Postgres>>(&self, row: &'r PgRow) -> Result<Option<T>, sqlx::Error> {
        row.try_get_unchecked(self.ordinal)
    }
}

/// Converts a timestamp to a message. Records have whole seconds.
pub fn timestamp(timestamp: OffsetDateTime) -> Timestamp {
    Timestamp { seconds: timestamp.unix_timestamp(), nanos: 0 }
}

/// A timestamp in the years 1 to 9999. Others, such as `infinity`, are read as `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValidTimestamp(pub Option<OffsetDateTime>);

impl Type<Postgres> for ValidTimestamp {
    fn type_info() -> PgTypeInfo {
        OffsetDateTime::type_info()
    }
}

impl PgHasArrayType for ValidTimestamp {
    fn array_type_info() -> PgTypeInfo {
        OffsetDateTime::array_type_info()
    }
}

impl<'r> Decode<'r, Postgres> for ValidTimestamp {
    fn decode(value: PgValueRef<'r>) -> Result<Self, BoxDynError> {
        // sqlx panics on a timestamp outside its range.
        if value.format() == PgValueFormat::Binary {
            let microseconds = i64::from_be_bytes(value.as_bytes()?.try_into()?);
            if !VALID.contains(&microseconds) {
                return Ok(Self(None));
            }
        }
        Ok(Self(Some(OffsetDateTime::decode(value)?)))
    }
}

/// Returns a date as PostgreSQL writes it, or `None` if it is outside the years 1 to 9999.
pub fn valid_date(text: String) -> Option<String> {
    Some(text).filter(|text| text.len() == "YYYY-MM-DD".len())
}
