//! Which page a request asks for, and how a response describes it.

use compliance_api::v1::{PageMeta, SortDirection};
use time::{Date, format_description::well_known::Iso8601};

/// Records of a page that names no number of them.
const DEFAULT_PER_PAGE: i64 = 100;

/// Days of the years 1 to 9999, since 1970-01-01: what a range without an end reaches to.
const FIRST_DAY: i32 = -719_162;
const LAST_DAY: i32 = 2_932_896;

/// Which page is asked for. The numbers have been checked.
#[derive(Clone, Copy)]
pub(crate) struct PageQuery {
    pub(super) per_page: i64,
    page: i64,
    pub(crate) descending: bool,
}

/// What a request asks for besides the filters that the list describes.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) page: PageQuery,
    /// Number of the sort key, as the request's enum has it; 0 is the list's default.
    pub(crate) sort: i32,
    /// First and last day of a range, as days since 1970-01-01.
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

    /// Records before the page.
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

/// Days from 1970-01-01 to a day whose text has been checked; `None` when there is none.
pub(crate) fn day(text: Option<&str>) -> Option<i32> {
    let date = Date::parse(text.filter(|text| !text.is_empty())?, &Iso8601::DATE).ok()?;
    Some(date.to_julian_day() - Date::from_ordinal_date(1970, 1).ok()?.to_julian_day())
}

/// The days of a range filter whose texts have been checked; `None` when there is no filter.
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
    fn pages_are_counted_from_one() {
        let query = PageQuery::new(Some(10), Some(3), SortDirection::Unspecified);
        assert_eq!((query.offset(), query.per_page, query.descending), (20, 10, true));
        assert_eq!([0, 1, 10, 11].map(|total| query.meta(total).last_page), [1, 1, 1, 2]);
        let last = PageQuery::new(Some(200), Some(compliance_api::MAX_ID), SortDirection::Asc);
        assert!(last.offset() > 0);
    }

    #[test]
    fn a_range_without_an_end_reaches_to_the_end_of_time() {
        assert_eq!(days(None, None), None);
        assert_eq!(days(Some("1970-01-02"), None), Some((1, LAST_DAY)));
        assert_eq!(days(Some(""), Some("1969-12-31")), Some((FIRST_DAY, -1)));
        assert_eq!(days(Some("0001-01-01"), Some("9999-12-31")), Some((FIRST_DAY, LAST_DAY)));
    }
}
