//! Instants that a text of the interface can show.

use sqlx::{
    Decode, Postgres, Type,
    error::BoxDynError,
    postgres::{PgHasArrayType, PgTypeInfo, PgValueFormat, PgValueRef},
};
use time::OffsetDateTime;

/// Microseconds from the year 2000 to the first instant of the year 1, and to the end of 9999, UTC.
const SHOWN: std::ops::Range<i64> = -63_082_281_600_000_000..252_455_616_000_000_000;

/// An instant of the years 1 to 9999; any other, as `infinity`, is read as none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown(pub Option<OffsetDateTime>);

impl Type<Postgres> for Shown {
    fn type_info() -> PgTypeInfo {
        OffsetDateTime::type_info()
    }
}

impl PgHasArrayType for Shown {
    fn array_type_info() -> PgTypeInfo {
        OffsetDateTime::array_type_info()
    }
}

impl<'r> Decode<'r, Postgres> for Shown {
    fn decode(value: PgValueRef<'r>) -> Result<Self, BoxDynError> {
        // sqlx panics if the instant is none of its own.
        if value.format() == PgValueFormat::Binary {
            let microseconds = i64::from_be_bytes(value.as_bytes()?.try_into()?);
            if !SHOWN.contains(&microseconds) {
                return Ok(Self(None));
            }
        }
        Ok(Self(Some(OffsetDateTime::decode(value)?)))
    }
}

/// A date as PostgreSQL writes it, if it is one of the years 1 to 9999.
pub fn shown_date(text: String) -> Option<String> {
    Some(text).filter(|text| text.len() == "YYYY-MM-DD".len())
}
