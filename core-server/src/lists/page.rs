//! The page of a request, and its description in the response.

use compliance_api::v1::{PageMeta, SortDirection};
use time::{Date, format_description::well_known::Iso8601};

/// Records on a page, if the request sets no number.
const DEFAULT_PER_PAGE: i64 = 100;

/// The bounds of an open range: the years 1 to 9999, as days since 1970-01-01.
const FIRST_DAY: i32 = -719_162;
const LAST_DAY: i32 = 2_932_896;

/// The page of a request, whose numbers were checked.
#[derive(Clone, Copy)]
pub(crate) struct PageQuery {
    pub(super) per_page: i64,
    page: i64,
    pub(crate) descending: bool,
}

/// The properties of a request besides the filters that the list describes.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) page: PageQuery,
    /// The number of the sort key in the request's enum. 0 is the list's default.
    pub(crate) sort: i32,
    /// The first and the last day of a range, as days since 1970-01-01.
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

/// A day as days since 1970-01-01. The text was checked. `None` without a day.
pub(crate) fn day(text: Option<&str>) -> Option<i32> {
    let date = Date::parse(text.filter(|text| !text.is_empty())?, &Iso8601::DATE).ok()?;
    Some(date.to_julian_day() - Date::from_ordinal_date(1970, 1).ok()?.to_julian_day())
}

/// The days of a range, whose texts were checked. `None` without a range.
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
    fn an_open_range_has_the_first_or_the_last_day() {
        assert_eq!(days(None, None), None);
        assert_eq!(days(Some("1970-01-02"), None), Some((1, LAST_DAY)));
        assert_eq!(days(Some(""), Some("1969-12-31")), Some((FIRST_DAY, -1)));
        assert_eq!(days(Some("0001-01-01"), Some("9999-12-31")), Some((FIRST_DAY, LAST_DAY)));
    }
}
