//! What a list is made of: its tables, its filters and its sort keys, by the names of their columns.

/// A list of a company's records, which requests of the type `Q` ask for.
pub(crate) struct List<Q: 'static> {
    /// Table of the records.
    pub(crate) table: &'static str,
    /// Table of their counts. It has a column for each filter, and a dimension for each sort key.
    pub(crate) counts: &'static str,
    /// Filters that compare a column with one value.
    pub(crate) filters: &'static [Filter<Q>],
    /// Column of the affiliate that a record belongs to. A filter on it is not counted.
    pub(crate) affiliate: &'static str,
    /// Column of the timestamps that a range of days is about. Never null. The counts bound it in each bucket.
    pub(crate) date: &'static str,
    /// What the list can be sorted by; the first is the default.
    pub(crate) sorts: &'static [Sort],
    /// The buckets that a record `r` is counted in.
    pub(crate) buckets: &'static str,
    /// The number of the lock that writers of the counts take.
    pub(crate) lock: i64,
    /// A query for the record `p.id` of a company, which is given as SQL.
    pub(crate) record: fn(&str) -> String,
}

/// How the records of a list are counted.
pub(crate) struct Counted {
    /// Table of the records, an alias of which is `r`.
    pub(crate) table: &'static str,
    /// Table of their counts.
    pub(crate) counts: &'static str,
    /// The columns that both have: those of the filters.
    pub(crate) split_by: String,
    /// The same, with their types.
    pub(crate) types: String,
    /// The buckets of a record, an alias of which is `p`.
    pub(crate) buckets: &'static str,
    /// The numbers of a bucket, and what they are of its records.
    pub(crate) numbers: Vec<(String, String)>,
    /// The day of a record that a bucket has the first and the last one of.
    pub(crate) day: String,
    /// The number of the lock that writers of the counts take.
    pub(crate) lock: i64,
}

impl<Q> List<Q> {
    /// How the records are counted.
    pub(crate) fn counted(&self) -> Counted {
        let columns = |make: fn(&Filter<Q>) -> String| self.filters.iter().map(make).collect::<Vec<_>>().join(", ");
        let nulls = self.sorts.iter().filter_map(|sort| match sort.key {
            Key::NullableTimestamp(column) => {
                Some((Part::Nulls(column).number(), format!("count(*) filter (where p.by_id and r.{column} is null)")))
            }
            Key::Id | Key::Timestamp(_) => None,
        });
        Counted {
            table: self.table,
            counts: self.counts,
            split_by: columns(|filter| filter.column.to_owned()),
            types: columns(|filter| format!("{} {}", filter.column, filter.value.sql_type())),
            buckets: self.buckets,
            numbers: std::iter::once(("n".to_owned(), "count(*)".to_owned())).chain(nulls).collect(),
            day: format!("r.{}", self.date),
            lock: self.lock,
        }
    }
}

/// A filter on one column, which the counts are split by.
pub(crate) struct Filter<Q> {
    /// The column, in the table of the records and in that of the counts.
    pub(crate) column: &'static str,
    /// The value that a request asks for.
    pub(crate) value: Value<Q>,
    /// Whether the filters' indexes lead with the column, which is never null then. Otherwise they include it.
    pub(crate) leads: bool,
}

/// How a request names the value of a filter, by the type of the column. `None` filters nothing.
pub(crate) enum Value<Q> {
    /// Of an integer column.
    Integer(fn(&Q) -> Option<i32>),
    /// Of a boolean column.
    Boolean(fn(&Q) -> Option<bool>),
}

impl<Q> Value<Q> {
    /// Whether a request names a value.
    pub(super) fn is_asked(&self, request: &Q) -> bool {
        match self {
            Self::Integer(value) => value(request).is_some(),
            Self::Boolean(value) => value(request).is_some(),
        }
    }

    /// The type of the column.
    pub(super) fn sql_type(&self) -> &'static str {
        match self {
            Self::Integer(_) => "integer",
            Self::Boolean(_) => "boolean",
        }
    }
}

/// A sort key of a list. Records with equal keys are sorted by ID, in the same direction.
#[derive(Clone, Copy)]
pub(crate) struct Sort {
    /// Number of the value of the request's enum.
    pub(crate) number: i32,
    /// What is compared.
    pub(crate) key: Key,
}

/// What records are compared by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    /// The ID.
    Id,
    /// A column of timestamps that are never null.
    Timestamp(&'static str),
    /// A column of timestamps. Records without one come last in both directions.
    NullableTimestamp(&'static str),
}

/// A part of a sort order that one index holds from end to end. Its records are counted in fine buckets and in coarse
/// ones of 32 fine ones each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// All records by ID; 1,024 IDs are a fine bucket.
    Ids,
    /// The records that have a timestamp, by it; a day, UTC, is a fine bucket.
    Days(&'static str),
    /// The records that have none, by ID.
    Nulls(&'static str),
}

impl Key {
    /// The parts of the order, one after the other.
    pub(super) fn parts(self) -> Vec<Part> {
        match self {
            Self::Id => vec![Part::Ids],
            Self::Timestamp(column) => vec![Part::Days(column)],
            Self::NullableTimestamp(column) => vec![Part::Days(column), Part::Nulls(column)],
        }
    }

    /// The column, unless it is the ID.
    pub(super) fn column(self) -> Option<&'static str> {
        match self {
            Self::Id => None,
            Self::Timestamp(column) | Self::NullableTimestamp(column) => Some(column),
        }
    }
}

impl Part {
    /// The dimension of the counts that the fine buckets are in; a label of the type `count_dimension`.
    pub(super) fn fine(self) -> String {
        match self {
            Self::Ids | Self::Nulls(_) => "id".to_owned(),
            Self::Days(column) => column.to_owned(),
        }
    }

    /// The column of the counts that says how many records of a bucket are in the part.
    pub(super) fn number(self) -> String {
        match self {
            Self::Ids | Self::Days(_) => "n".to_owned(),
            Self::Nulls(column) => format!("n_without_{column}"),
        }
    }

    /// The dimension of the coarse buckets.
    pub(super) fn coarse(self) -> String {
        format!("{}_coarse", self.fine())
    }

    /// The records of the part as conditions on the alias `u`, from one fine bucket on and before another. Without a
    /// bound they still imply the condition of the part's index.
    pub(super) fn between(self, low: Option<&str>, high: Option<&str>) -> String {
        let (key, lowest, start): (_, _, fn(&str) -> String) = match self {
            Self::Ids | Self::Nulls(_) => ("id", "0", first_id),
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

/// The first ID of a fine bucket.
fn first_id(bucket: &str) -> String {
    format!("(({bucket}) << 10)")
}
