//! What a list is made of: its tables, its filters and its sort keys, by the names of their columns.

use sqlx::{Postgres, postgres::PgArguments, query::Query};

use crate::record_query::RecordQuery;

/// A list of a company's records, which requests of the type `Q` ask for.
pub(crate) struct List<Q: 'static> {
    pub(crate) table: &'static str,
    /// Table of their counts. It has a column for each filter, and a dimension for each sort key.
    pub(crate) counts: &'static str,
    pub(crate) filters: &'static [Filter<Q>],
    /// Column of the timestamps that a range of days is about. Never null. The counts bound it in each bucket.
    pub(crate) date: &'static str,
    /// What the list can be sorted by; the first is the default.
    pub(crate) sorts: &'static [Sort],
    /// The buckets that a record `r` is counted in.
    pub(crate) buckets: &'static str,
    /// The number of the lock that writers of the counts take.
    pub(crate) lock: i64,
    pub(crate) record: RecordQuery,
    pub(crate) comparison: Option<Comparison<Q>>,
}

/// Filters and sort keys that the counts do not have. A request that names one reads all records of the company by their key, and
/// sorts the matches.
pub(crate) struct Comparison<Q> {
    /// Further conditions on the record `u`. Their parameters follow the filters'; a parameter that is null asks for nothing.
    pub(crate) conditions: &'static str,
    /// The columns of `u` that the conditions name.
    pub(crate) columns: &'static [&'static str],
    /// The types of the parameters.
    pub(crate) types: &'static str,
    pub(crate) is_asked: fn(&Q) -> bool,
    /// Binds the parameters.
    pub(crate) bind: for<'q> fn(Query<'q, Postgres, PgArguments>, &Q) -> Query<'q, Postgres, PgArguments>,
    /// The number of each sort key, and its expression on `u`.
    pub(crate) sorts: &'static [(i32, &'static str)],
}

impl<Q> Comparison<Q> {
    /// Whether a request names such a filter or sort key.
    pub(super) fn is_needed(&self, request: &Q, sort: i32) -> bool {
        self.sorts.iter().any(|(number, _)| *number == sort) || (self.is_asked)(request)
    }
}

/// A filter that compares a column with one value. The counts are split by it, and the filters' indexes lead with it. Never null.
pub(crate) struct Filter<Q> {
    /// The column, in the table of the records and in that of the counts.
    pub(crate) column: &'static str,
    pub(crate) value: Value<Q>,
}

/// How a request names the value of a filter, by the type of the column. `None` filters nothing.
pub(crate) enum Value<Q> {
    Integer(fn(&Q) -> Option<i32>),
    Boolean(fn(&Q) -> Option<bool>),
}

impl<Q> Value<Q> {
    pub(super) fn is_asked(&self, request: &Q) -> bool {
        match self {
            Self::Integer(value) => value(request).is_some(),
            Self::Boolean(value) => value(request).is_some(),
        }
    }

    /// Binds the value as the next parameter.
    pub(super) fn bind<'q>(
        &self,
        query: Query<'q, Postgres, PgArguments>,
        request: &Q,
    ) -> Query<'q, Postgres, PgArguments> {
        match self {
            Self::Integer(value) => query.bind(value(request)),
            Self::Boolean(value) => query.bind(value(request)),
        }
    }

    /// The type of the column, with its least and its greatest value.
    pub(crate) fn sql_type(&self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Integer(_) => ("integer", "-2147483648", "2147483647"),
            Self::Boolean(_) => ("boolean", "false", "true"),
        }
    }
}

/// A sort key of a list. Records with equal keys are sorted by ID, in the same direction.
pub(crate) struct Sort {
    pub(crate) number: i32,
    /// The parts of the order, one after the other, in both directions. An order by a column that may be null has two.
    pub(crate) parts: &'static [Part],
}

/// A part of a sort order that one index holds from end to end. Its records are counted in fine buckets, in coarse ones of 32 fine
/// ones each, and by ID in coarsest ones of 32 coarse ones each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// All records by ID; 1,024 IDs are a fine bucket.
    Ids,
    /// The records that have a timestamp, by it; a day, UTC, is a fine bucket.
    Days(&'static str),
    /// The records that have none, by ID.
    Nulls(&'static str),
}

impl Part {
    /// The dimension of the counts that the fine buckets are in; a label of the type `count_dimension`.
    pub(super) fn fine(self) -> &'static str {
        match self {
            Self::Ids | Self::Nulls(_) => "id",
            Self::Days(column) => column,
        }
    }

    pub(super) fn coarse(self) -> String {
        format!("{}_coarse", self.fine())
    }

    /// The dimensions in which a walk finds a fine bucket, the coarsest first, and how many bits of its number they leave out.
    /// There are many more buckets of IDs than days, since companies share the IDs.
    pub(super) fn levels(self) -> Vec<(String, u32)> {
        let coarsest = format!("{}_coarsest", self.fine());
        let coarsest = (!matches!(self, Self::Days(_))).then_some((coarsest, 10));
        coarsest.into_iter().chain([(self.coarse(), 5), (self.fine().to_owned(), 0)]).collect()
    }

    /// The column of the counts that says how many records of a bucket are in the part.
    pub(crate) fn number(self) -> String {
        match self {
            Self::Ids | Self::Days(_) => "n".to_owned(),
            Self::Nulls(column) => format!("n_without_{column}"),
        }
    }

    /// The records of the part as conditions on the alias `u`, from one fine bucket on and before another. Without a
    /// bound they still imply the condition of the part's index.
    pub(super) fn between(self, low: Option<&str>, high: Option<&str>) -> String {
        let (key, lowest, start): (_, _, fn(&str) -> String) = match self {
            Self::Ids | Self::Nulls(_) => ("id", "0", |bucket| format!("(({bucket}) << 10)")),
            Self::Days(column) => (column, "'-infinity'", midnight),
        };
        let is_null = if let Self::Nulls(column) = self { format!("and u.{column} is null") } else { String::new() };
        let low = low.map_or_else(|| lowest.to_owned(), start);
        let high = high.map_or_else(String::new, |high| format!("and u.{key} < {}", start(high)));
        format!("{is_null} and u.{key} >= {low} {high}")
    }

    /// The order of the part's index.
    pub(super) fn order(self, descending: bool) -> String {
        match (self, descending) {
            (Self::Ids, false) => "u.id".to_owned(),
            (Self::Ids, true) => "u.id desc".to_owned(),
            (Self::Days(column) | Self::Nulls(column), false) => format!("u.{column}, u.id"),
            (Self::Days(column) | Self::Nulls(column), true) => format!("u.{column} desc nulls first, u.id desc"),
        }
    }
}

/// The first instant of a day, UTC, which is given as days since 1970-01-01.
pub(super) fn midnight(day: &str) -> String {
    format!("to_timestamp(({day})::double precision * 86400)")
}
