//! Rows read column after column, in the order of the selection.

use prost_types::Timestamp;
use sqlx::{Decode, Postgres, Row as _, postgres::PgRow};
use time::OffsetDateTime;

use compliance_api::{catalogue::Vocabulary, country};

use crate::vocabulary;

/// Reads the columns of a row from left to right.
pub(crate) struct Columns<'r> {
    row: &'r PgRow,
    next: usize,
}

impl<'r> Columns<'r> {
    /// From the column `first` on.
    pub(crate) fn from(row: &'r PgRow, first: usize) -> Self {
        Self { row, next: first }
    }

    /// The next column. Its type is the one that the statement selects; a test reads every column of every selection.
    pub(crate) fn take<T: Decode<'r, Postgres>>(&mut self) -> Result<T, sqlx::Error> {
        self.next += 1;
        self.row.try_get_unchecked(self.next - 1)
    }

    /// A moment.
    pub(crate) fn moment(&mut self) -> Result<Option<Timestamp>, sqlx::Error> {
        Ok(self.take::<Option<OffsetDateTime>>()?.map(timestamp))
    }

    /// The short name of a country.
    pub(crate) fn country(&mut self) -> Result<Option<String>, sqlx::Error> {
        Ok(self.take::<Option<i16>>()?.and_then(country::name).map(str::to_owned))
    }

    /// A name of a vocabulary: its ID and the company's own name of it.
    pub(crate) fn name(&mut self, vocabulary: Vocabulary) -> Result<Option<String>, sqlx::Error> {
        let id = self.take()?;
        Ok(vocabulary::name(vocabulary, id, self.take()?))
    }

    /// Names of a vocabulary, as two arrays.
    pub(crate) fn names(&mut self, vocabulary: Vocabulary) -> Result<Vec<Option<String>>, sqlx::Error> {
        let ids = self.take::<Option<Vec<Option<i32>>>>()?.unwrap_or_default();
        let own = self.take::<Option<Vec<Option<String>>>>()?.unwrap_or_default();
        Ok(ids.into_iter().zip(own).map(|(id, own)| vocabulary::name(vocabulary, id, own)).collect())
    }
}

/// A moment as a message has it; records hold whole seconds.
pub(crate) fn timestamp(moment: OffsetDateTime) -> Timestamp {
    Timestamp { seconds: moment.unix_timestamp(), nanos: 0 }
}
