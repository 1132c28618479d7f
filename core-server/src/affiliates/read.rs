//! Reads affiliates: one by ID (coalesced), many by ID, by search, as list pages, and as a stream of the whole list.

use std::sync::LazyLock;

use admission::Memory;
use compliance_api::{
    country,
    error::Error,
    v1::{
        Affiliate, AffiliateSort, ListAffiliatePageRequest, ListAffiliatesRequest, ListAffiliatesResponse,
        SearchAffiliatesRequest,
    },
};
use sqlx::postgres::PgRow;
use storage::{
    database::Connections,
    reads::{ReadByKey, Reads},
    table::{Reader, read_all, selection},
    template::fill,
};

use crate::{
    lists::{
        self, Asked, Comparison, List, PageOfRecords, PageQuery, RecordPage, Records, Source, Statements, Value,
        read_records,
    },
    record_sql::Place,
    search,
};

static LIST: List<ListAffiliatePageRequest> = List {
    table: "affiliates",
    counts: None,
    filters: &[],
    sorts: &[],
    record: query,
    long: None,
    asked,
    comparison: Some(COMPARISON),
};

const COMPARISON: Comparison<ListAffiliatePageRequest> = Comparison {
    conditions: || conditions("u"),
    columns: &[],
    parameters: &[
        Value::Text(|request| request.status.clone().filter(|status| !status.is_empty())),
        Value::Integer(|request| country::numeric(request.country.as_deref()?).map(i32::from)),
        Value::Texts(|request| searched(request).map(search::patterns)),
        Value::Text(|request| searched(request).and_then(|q| search::record_id(KIND, q)).map(|id| id.to_string())),
        Value::Text(|request| searched(request).and_then(phone_digits)),
    ],
    sorts: &[
        (AffiliateSort::Unspecified as i32, "null::text"),
        (AffiliateSort::Id as i32, "null::text"),
        (AffiliateSort::AffiliateName as i32, "lower(u.affiliate_name)"),
        (AffiliateSort::Status as i32, "u.status"),
        (AffiliateSort::StartDate as i32, "u.start_date"),
        (AffiliateSort::LastUpdatedDate as i32, "u.last_updated_date"),
    ],
};

/// Returns the filter conditions on an affiliate with this alias.
fn conditions(alias: &str) -> String {
    let matches = fill(MATCHES, &[("a", alias), ("patterns", "$9"), ("digits", "$11")]);
    fill(include_str!("sql/conditions.sql"), &[("a", alias), ("matches", &matches)])
}

static AFTER: LazyLock<&'static str> = LazyLock::new(|| after(None));
static CHANGED_AFTER: LazyLock<&'static str> = LazyLock::new(|| after(Some(12)));

/// Returns the statements that read affiliates, with their parameter types.
pub(super) fn statements() -> impl Iterator<Item = (&'static str, &'static str)> {
    let after = "bigint, bigint, bigint, integer, integer, bigint, text, integer, text[], text, text";
    let changed_after = "bigint, bigint, bigint, integer, integer, bigint, text, integer, text[], text, text, bigint[]";
    STATEMENTS.reads().chain([(*AFTER, after), (*CHANGED_AFTER, changed_after)])
}

/// Returns a statement that reads a page of the whole list.
fn after(ids: Option<usize>) -> &'static str {
    let (columns, from) = (columns(), lists::chosen("affiliates", "a", ids));
    let parts = [("columns", &*columns), ("from", &from), ("conditions", &conditions("a"))];
    fill(include_str!("sql/after.sql"), &parts).leak()
}

/// SQL condition that matches affiliates by search words or phone number.
const MATCHES: &str = include_str!("sql/matches.sql");

/// The record name that can precede an ID in a search.
const KIND: &str = "affiliate";

fn searched(request: &ListAffiliatePageRequest) -> Option<&str> {
    request.q.as_deref().filter(|q| !q.trim().is_empty())
}

fn asked(request: &ListAffiliatePageRequest) -> Asked {
    Asked {
        page: PageQuery::new(request.per_page, request.page, request.sort_dir()),
        sort: request.sort_by().into(),
        days: None,
        affiliate: None,
    }
}

pub(super) static STATEMENTS: LazyLock<Statements<ListAffiliatePageRequest>> = LazyLock::new(|| Statements::of(&LIST));

/// Returns the filters in a whole-list request.
pub(super) fn filters(request: ListAffiliatesRequest) -> ListAffiliatePageRequest {
    ListAffiliatePageRequest {
        status: request.status,
        country: request.country,
        q: request.q,
        ..ListAffiliatePageRequest::default()
    }
}

/// Returns the selected columns of an affiliate with the alias `a`.
pub(super) fn columns() -> String {
    selection::<Affiliate>("a.company_id", &[("affiliates", "a")], &[])
}

/// Returns a query for an affiliate.
pub(crate) fn query(place: &Place) -> String {
    let query = "select :columns from :affiliates a where a.company_id = :company and a.id = :id limit 1";
    place.fill(query, &[("columns", &columns())])
}

pub(crate) fn single(pool: &Connections, memory: &Memory) -> Reads<Affiliate> {
    Reads::new(ReadByKey {
        name: "reads of affiliates",
        resource: 1,
        pool: pool.clone(),
        memory: memory.clone(),
        one: STATEMENTS.by_key,
        many: STATEMENTS.by_keys,
        decode: Reader::read,
        not_found: Error::affiliate_not_found,
        long: &[],
    })
}

impl RecordPage for ListAffiliatesResponse {
    const RESOURCE: i16 = 1;

    type Filters = ListAffiliatePageRequest;

    fn statement(_: &Self::Filters, changed: bool) -> &'static str {
        if changed { *CHANGED_AFTER } else { *AFTER }
    }

    fn bind(query: PageOfRecords, filters: &Self::Filters) -> PageOfRecords {
        STATEMENTS.bind_whole(query, filters)
    }

    fn read(rows: &[PgRow], _: i64) -> Result<Self, sqlx::Error> {
        Ok(Self { affiliates: read_all(rows, Reader::<Affiliate>::read)? })
    }
}

static SEARCH: LazyLock<&'static str> = LazyLock::new(|| {
    let matches = fill(MATCHES, &[("a", "a"), ("patterns", "(select $2)::text[]"), ("digits", "(select $6)")]);
    fill(include_str!("sql/search.sql"), &[("columns", &columns()), ("matches", &matches)]).leak()
});

/// Returns the search statement, with its parameter types.
pub(super) fn search_statement() -> (&'static str, &'static str) {
    (*SEARCH, "bigint, text[], bigint, bigint, text, text")
}

/// Minimum number of digits in a phone number.
const SHORTEST_PHONE: usize = 5;

/// Returns the digits in `text`, or `None` if it cannot be a phone number.
fn phone_digits(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let is_phone = text.chars().all(|character| character.is_ascii_digit() || "+-()./ \u{a0}".contains(character));
    (is_phone && digits.len() >= SHORTEST_PHONE).then_some(digits)
}

/// Returns exact matches of the ID, name or client identifier first, then affiliates that contain the words or the phone number, by ID.
pub(super) async fn search(source: Source, request: &SearchAffiliatesRequest) -> Result<Records<Affiliate>, Error> {
    let SearchAffiliatesRequest { q, limit } = request;
    let company_id = source.company_id;
    let query =
        || search::query(*SEARCH, KIND, company_id, q, *limit).bind(search::whole_pattern(q)).bind(phone_digits(q));
    read_records(source, query, Reader::<Affiliate>::read).await
}

#[cfg(test)]
mod tests {
    use super::phone_digits;

    #[test]
    fn phone_numbers_are_reduced_to_digits() {
        for (text, expected) in [
            ("+1 (555) 010-4477", Some("15550104477")),
            ("0041.44.123", Some("004144123")),
            ("1234", None),
            ("A-12345", None),
            ("12345@example.org", None),
        ] {
            assert_eq!(phone_digits(text).as_deref(), expected, "{text}");
        }
    }
}
