//! Describes a list (its tables, filters and sort keys, by column name) and the requested page.

use compliance_api::v1::{PageMeta, SortDirection};
use sqlx::{Postgres, postgres::PgArguments, query::Query};
use time::{Date, OffsetDateTime, format_description::well_known::Iso8601};

use crate::record_sql::RecordQuery;

/// A list of a company's records, for requests of type `Q`.
pub(crate) struct List<Q: 'static> {
    pub(crate) table: &'static str,
    /// `None` if every page compares all records.
    pub(crate) counts: Option<Counts>,
    pub(crate) filters: &'static [Filter<Q>],
    /// The sort keys with counts. The first key is the default.
    pub(crate) sorts: &'static [Sort],
    pub(crate) record: RecordQuery,
    /// A column of long texts. A few long texts can fill a page of the whole list.
    pub(crate) long: Option<&'static str>,
    /// Reads the other properties of a request.
    pub(crate) asked: fn(&Q) -> Asked,
    pub(crate) comparison: Option<Comparison<Q>>,
}

/// How a list's records are counted. Each record has a date and an affiliate ID.
pub(crate) struct Counts {
    /// The counts table, which has a column for each filter and a dimension for each sort key.
    pub(crate) table: &'static str,
    /// The non-null date column that day ranges filter. The counts store the first and last day in each bucket.
    pub(crate) date: &'static str,
    /// SQL for the buckets that count a record `r`.
    pub(crate) buckets: &'static str,
    /// The lock number for writers of the counts.
    pub(crate) lock: i64,
}

impl<Q> List<Q> {
    /// Returns the filter values and, if `compared`, the comparison values, in parameter order.
    pub(super) fn values(&self, compared: bool) -> impl Iterator<Item = &Value<Q>> {
        let parameters = self.comparison.iter().filter(move |_| compared).flat_map(|comparison| comparison.parameters);
        self.filters.iter().map(|filter| &filter.value).chain(parameters)
    }
}

/// Filters and sort keys without counts. A request that uses one reads all of the company's records by key and sorts the matches.
pub(crate) struct Comparison<Q: 'static> {
    /// Returns additional conditions on the record `u`. Their parameters follow the filters' parameters. A null parameter disables its
    /// condition.
    pub(crate) conditions: fn() -> String,
    /// The columns of `u` that the conditions use.
    pub(crate) columns: &'static [&'static str],
    /// The parameters of the conditions.
    pub(crate) parameters: &'static [Value<Q>],
    /// The sort keys by number, with their expressions on `u`.
    pub(crate) sorts: &'static [(i32, &'static str)],
}

impl<Q> Comparison<Q> {
    /// Returns whether a request uses one of these filters or sort keys.
    pub(super) fn is_needed(&self, request: &Q, sort: i32) -> bool {
        self.sorts.iter().any(|(number, _)| *number == sort)
            || self.parameters.iter().any(|value| value.is_asked(request))
    }
}

/// A filter on a non-null column. The counts are grouped by this column, and the filters' indexes begin with it.
pub(crate) struct Filter<Q> {
    /// The column, in both the record table and the counts table.
    pub(crate) column: &'static str,
    pub(crate) value: Value<Q>,
}

/// Reads a filter's value from a request, by SQL type. Returns `None` if the request omits the filter.
pub(crate) enum Value<Q> {
    Integer(fn(&Q) -> Option<i32>),
    Id(fn(&Q) -> Option<i64>),
    Boolean(fn(&Q) -> Option<bool>),
    Text(fn(&Q) -> Option<String>),
    Texts(fn(&Q) -> Option<Vec<String>>),
    Timestamp(fn(&Q) -> Option<OffsetDateTime>),
}

impl<Q> Value<Q> {
    pub(super) fn is_asked(&self, request: &Q) -> bool {
        match self {
            Self::Integer(value) => value(request).is_some(),
            Self::Id(value) => value(request).is_some(),
            Self::Boolean(value) => value(request).is_some(),
            Self::Text(value) => value(request).is_some(),
            Self::Texts(value) => value(request).is_some(),
            Self::Timestamp(value) => value(request).is_some(),
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
            Self::Id(value) => query.bind(value(request)),
            Self::Boolean(value) => query.bind(value(request)),
            Self::Text(value) => query.bind(value(request)),
            Self::Texts(value) => query.bind(value(request)),
            Self::Timestamp(value) => query.bind(value(request)),
        }
    }

    /// Returns the SQL type, with its minimum and maximum.
    pub(crate) fn sql_type(&self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Integer(_) => ("integer", "-2147483648", "2147483647"),
            Self::Id(_) => ("bigint", "0", "9007199254740991"),
            Self::Boolean(_) => ("boolean", "false", "true"),
            Self::Text(_) => ("text", "''", "null"),
            Self::Texts(_) => ("text[]", "'{}'", "null"),
            Self::Timestamp(_) => ("timestamptz", "'-infinity'", "'infinity'"),
        }
    }
}

/// A list's sort key. Records with equal keys are sorted by ID, in the same direction.
pub(crate) struct Sort {
    pub(crate) number: i32,
    /// The parts of the sort order, in both directions. A nullable column has two parts.
    pub(crate) parts: &'static [Part],
}

/// A part of a sort order that one index covers completely.
///
/// Fine buckets count the part's records. A coarse bucket contains 32 fine buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All records by ID. A fine bucket spans 1,024 IDs.
    Ids,
    /// The records with the timestamp, in timestamp order. A fine bucket is a UTC day.
    Days(&'static str),
    /// The records without the timestamp, by ID.
    Nulls(&'static str),
}

impl Part {
    /// Returns the counts dimension of the fine buckets: a label of the type `count_dimension`.
    pub(super) fn fine(self) -> &'static str {
        match self {
            Self::Ids | Self::Nulls(_) => "id",
            Self::Days(column) => column,
        }
    }

    pub(super) fn coarse(self) -> String {
        format!("{}_coarse", self.fine())
    }

    /// Returns the counts column that contains the part's number of records.
    pub(crate) fn number(self) -> String {
        match self {
            Self::Ids | Self::Days(_) => "n".to_owned(),
            Self::Nulls(column) => format!("n_without_{column}"),
        }
    }

    /// Returns conditions on the alias `u` for the part's records, from the fine bucket `low` to the bucket before `high`.
    ///
    /// Without bounds, the conditions still imply the condition of the part's index.
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

    /// Returns the order of the part's index.
    pub(super) fn order(self, descending: bool) -> String {
        match (self, descending) {
            (Self::Ids, false) => "u.id".to_owned(),
            (Self::Ids, true) => "u.id desc".to_owned(),
            (Self::Days(column) | Self::Nulls(column), false) => format!("u.{column}, u.id"),
            (Self::Days(column) | Self::Nulls(column), true) => format!("u.{column} desc nulls first, u.id desc"),
        }
    }
}

/// Returns SQL for the start of a UTC day, given as days since 1970-01-01.
pub(super) fn midnight(day: &str) -> String {
    format!("to_timestamp(({day})::double precision * 86400)")
}

/// Default number of records per page.
const DEFAULT_PER_PAGE: i64 = 100;

/// The bounds of an open range: the years 1 to 9999, as days since 1970-01-01.
const FIRST_DAY: i32 = -719_162;
const LAST_DAY: i32 = 2_932_896;

/// The requested page, with validated numbers.
#[derive(Clone, Copy)]
pub(crate) struct PageQuery {
    pub(super) per_page: i64,
    page: i64,
    pub(crate) descending: bool,
}

/// The properties of a request other than the list's filters.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) page: PageQuery,
    /// The sort key's number in the request's enum. 0 is the list's default.
    pub(crate) sort: i32,
    /// The first and last days of a range, as days since 1970-01-01.
    pub(crate) days: Option<(i32, i32)>,
    pub(crate) affiliate: Option<i64>,
}

impl PageQuery {
    pub(crate) fn new(per_page: Option<i64>, page: Option<i64>, direction: SortDirection) -> Self {
        Self {
            per_page: per_page.unwrap_or(DEFAULT_PER_PAGE),
            page: page.unwrap_or(1),
            descending: direction != SortDirection::Asc,
        }
    }

    /// Returns the number of records before the page.
    pub(crate) fn offset(self) -> i64 {
        (self.page - 1).saturating_mul(self.per_page)
    }

    pub(crate) fn meta(self, total: i64) -> PageMeta {
        PageMeta {
            total,
            per_page: self.per_page as i32,
            current_page: self.page,
            last_page: (total.saturating_add(self.per_page - 1) / self.per_page).max(1),
        }
    }
}

/// Converts a name ID to its stored type. IDs out of range match nothing.
pub(crate) fn name_id(id: i64) -> i32 {
    i32::try_from(id).unwrap_or(-1)
}

/// Returns a validated day as days since 1970-01-01, or `None` if the day is absent.
pub(crate) fn day(text: Option<&str>) -> Option<i32> {
    let date = Date::parse(text.filter(|text| !text.is_empty())?, &Iso8601::DATE).ok()?;
    Some(date.to_julian_day() - Date::from_ordinal_date(1970, 1).ok()?.to_julian_day())
}

/// Returns a validated range's first and last days, or `None` if the range is absent.
pub(crate) fn days(after: Option<&str>, before: Option<&str>) -> Option<(i32, i32)> {
    match (day(after), day(before)) {
        (None, None) => None,
        (after, before) => Some((after.unwrap_or(FIRST_DAY), before.unwrap_or(LAST_DAY))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_numbers_start_at_one() {
        let query = PageQuery::new(Some(10), Some(3), SortDirection::Unspecified);
        assert_eq!((query.offset(), query.per_page, query.descending), (20, 10, true));
        assert_eq!([0, 1, 10, 11].map(|total| query.meta(total).last_page), [1, 1, 1, 2]);
        let last = PageQuery::new(Some(200), Some(compliance_api::MAX_ID), SortDirection::Asc);
        assert!(last.offset() > 0);
    }

    #[test]
    fn open_ranges_default_to_first_and_last_day() {
        assert_eq!(days(None, None), None);
        assert_eq!(days(Some("1970-01-02"), None), Some((1, LAST_DAY)));
        assert_eq!(days(Some(""), Some("1969-12-31")), Some((FIRST_DAY, -1)));
        assert_eq!(days(Some("0001-01-01"), Some("9999-12-31")), Some((FIRST_DAY, LAST_DAY)));
    }
}
