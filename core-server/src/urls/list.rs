//! Reads: one URL by ID (gathered), many by ID, and pages of the list.

use std::sync::LazyLock;

use compliance_api::{
    error::Error,
    v1::{ComplianceUrl, ListComplianceUrlsRequest, UrlSort},
};
use sqlx::{PgPool, Row as _, postgres::PgRow};

use super::record;
use crate::{
    database,
    error::from_database,
    gather::{self, Gather},
    lists::{Axis, Key, List, Page, PageQuery, Range, days},
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

/// One statement for each shape of list: sort, direction, range or not, affiliate or not.
static STATEMENTS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut statements = Vec::new();
    for sort in [UrlSort::Id, UrlSort::DiscoveryDt, UrlSort::LastReviewDt, UrlSort::LastSeen] {
        let axes: &[Axis] = match sort {
            UrlSort::Unspecified | UrlSort::Id => &[BY_ID],
            UrlSort::DiscoveryDt => &[DISCOVERED],
            UrlSort::LastReviewDt => &[REVIEWED, NOT_REVIEWED],
            UrlSort::LastSeen => &[SEEN, NOT_SEEN],
        };
        for descending in [false, true] {
            for ranged in [false, true] {
                statements.push(&*LIST.walk(axes, descending, ranged).leak());
                statements.push(&*LIST.of_affiliate(axes[0].key, descending, ranged).leak());
            }
        }
    }
    statements
});

static BY_KEYS: LazyLock<&'static str> = LazyLock::new(|| LIST.by_keys().leak());
static BY_IDS: LazyLock<&'static str> = LazyLock::new(|| LIST.by_ids().leak());

/// Starts the reader of single URLs.
pub(super) fn single(pool: &PgPool) -> Gather<ComplianceUrl> {
    gather::records(pool, *BY_KEYS, |row| record::read(row, 2))
}

/// The URLs of the company among `ids`, by ID.
pub(super) async fn by_ids(pool: &PgPool, company_id: i64, ids: &[i64]) -> Result<Vec<ComplianceUrl>, Error> {
    let rows = database::read(|| sqlx::query(*BY_IDS).bind(company_id).bind(ids).fetch_all(pool)).await;
    let urls = rows.and_then(|rows| rows.iter().map(|row| record::read(row, 2)).collect());
    urls.map_err(|error| from_database(&error))
}

/// One page of the company's URLs.
pub(super) async fn page(
    pool: &PgPool,
    company_id: i64,
    request: &ListComplianceUrlsRequest,
    query: PageQuery,
) -> Result<Page<ComplianceUrl>, Error> {
    let range = days(request.discovery_after.as_deref(), request.discovery_before.as_deref());
    let statement = statement(request.sort_by(), query.descending, range.is_some(), request.distributor_id.is_some());
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
    let page = rows.await.and_then(|rows| read(&rows));
    page.map_err(|error| from_database(&error))
}

/// The statement of a shape.
fn statement(sort: UrlSort, descending: bool, ranged: bool, of_affiliate: bool) -> &'static str {
    let sort = match sort {
        UrlSort::Unspecified | UrlSort::Id => 0,
        UrlSort::DiscoveryDt => 1,
        UrlSort::LastReviewDt => 2,
        UrlSort::LastSeen => 3,
    };
    STATEMENTS[sort * 8 + usize::from(descending) * 4 + usize::from(ranged) * 2 + usize::from(of_affiliate)]
}

fn read(rows: &[PgRow]) -> Result<Page<ComplianceUrl>, sqlx::Error> {
    let total = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
    let records = rows.iter().filter(|row| row.try_get::<Option<i64>, _>(1).is_ok_and(|id| id.is_some()));
    Ok(Page { records: records.map(|row| record::read(row, 1)).collect::<Result<_, _>>()?, total })
}
