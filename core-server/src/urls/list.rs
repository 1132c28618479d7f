//! Reads: one URL by ID (coalesced), many by ID, and pages of the list.

use std::sync::LazyLock;

use crate::database::Connections;
use compliance_api::{
    error::Error,
    v1::{ComplianceUrl, ListComplianceUrlsRequest, UrlSort},
};

use super::record;
use crate::{
    database,
    error::from_database,
    lists::{Axis, Key, List, Page, PageQuery, Range, Shape, Statements, days},
    reads::Reads,
};

static LIST: LazyLock<List> = LazyLock::new(|| List {
    table: "compliance_urls",
    counts: "compliance_url_counts",
    filters: &[("incident_status_id", "$4"), ("disabled", "$5")],
    all: 1,
    days: DISCOVERED,
    affiliate: ("affiliate_id", "$8"),
    range: Range { column: "discovery_date", first: "$6", last: "$7" },
    record: record::query(),
});

// Dimensions as the migration of the counts numbers them.
const BY_ID: Axis = Axis { key: Key::Id, fine: 2, coarse: 3, only: "" };
const DISCOVERED: Axis = Axis { key: Key::Time("discovery_date"), fine: 4, coarse: 5, only: "" };
const REVIEWED: Axis =
    Axis { key: Key::Time("last_review_date"), fine: 6, coarse: 7, only: "and u.last_review_date is not null" };
const NOT_REVIEWED: Axis = Axis { key: Key::Id, fine: 8, coarse: 9, only: "and u.last_review_date is null" };
const SEEN: Axis = Axis { key: Key::Time("last_seen"), fine: 10, coarse: 11, only: "and u.last_seen is not null" };
const NOT_SEEN: Axis = Axis { key: Key::Id, fine: 12, coarse: 13, only: "and u.last_seen is null" };

static STATEMENTS: LazyLock<Statements> = LazyLock::new(|| {
    // In the order of `position`.
    Statements::of(&LIST, &[&[BY_ID], &[DISCOVERED], &[REVIEWED, NOT_REVIEWED], &[SEEN, NOT_SEEN]])
});

/// The position of a sort among the statements.
fn position(sort: UrlSort) -> usize {
    match sort {
        UrlSort::Unspecified | UrlSort::Id => 0,
        UrlSort::DiscoveryDt => 1,
        UrlSort::LastReviewDt => 2,
        UrlSort::LastSeen => 3,
    }
}

/// Every statement that reads a page of URLs.
pub(crate) fn statements() -> &'static [&'static str] {
    STATEMENTS.shapes()
}

/// The reader of single URLs.
pub(super) fn single(pool: &Connections) -> Reads<ComplianceUrl> {
    Reads::new(pool, STATEMENTS.by_keys, |row| record::read(row, 2))
}

/// The URLs of the company among `ids`, by ID.
pub(super) async fn by_ids(pool: &Connections, company_id: i64, ids: &[i64]) -> Result<Vec<ComplianceUrl>, Error> {
    STATEMENTS.read_by_ids(pool, company_id, ids, record::read).await
}

/// One page of the company's URLs.
pub(super) async fn page(
    pool: &Connections,
    company_id: i64,
    request: &ListComplianceUrlsRequest,
    query: PageQuery,
) -> Result<Page<ComplianceUrl>, Error> {
    let range = days(request.discovery_after.as_deref(), request.discovery_before.as_deref());
    let statement = STATEMENTS.shape(Shape {
        sort: position(request.sort_by()),
        descending: query.descending,
        ranged: range.is_some(),
        of_affiliate: request.distributor_id.is_some(),
    });
    // An ID that no status can have matches nothing.
    let status = request.incident_status_id.map(|id| i32::try_from(id).unwrap_or(-1));
    let (first, last) = range.unzip();
    let rows = database::read(|| {
        sqlx::query(statement)
            .bind(company_id)
            .bind(query.limit())
            .bind(query.offset())
            .bind(status)
            .bind(request.disabled)
            .bind(first)
            .bind(last)
            .bind(request.distributor_id)
            .fetch_all(pool)
    });
    let page = rows.await.and_then(|rows| Page::read(&rows, record::read));
    page.map_err(|error| from_database(&error))
}
