//! Reads: one URL by ID (coalesced), many by ID, and pages of the list.

use std::sync::LazyLock;

use admission::Memory;
use compliance_api::{
    error::Error,
    v1::{ComplianceUrl, ListComplianceUrlsRequest, UrlSort},
};

use tokio::time::Instant;

use super::record;
use crate::{
    database::Connections,
    lists::{
        Asked, Counted, Filter, Key, LargePage, List, Page, PageQuery, Records, Sort, Source, Statements, Value, days,
    },
    reads::{Reads, Statement},
    shares::Shares,
};

static LIST: List<ListComplianceUrlsRequest> = List {
    table: "compliance_urls",
    counts: "compliance_url_counts",
    filters: &[
        Filter {
            column: "incident_status_id",
            // An ID that no status can have matches nothing.
            value: Value::Integer(|request| request.incident_status_id.map(|id| i32::try_from(id).unwrap_or(-1))),
            leads: true,
        },
        Filter { column: "disabled", value: Value::Boolean(|request| request.disabled), leads: true },
    ],
    affiliate: "affiliate_id",
    date: "discovery_date",
    sorts: &[
        Sort { number: UrlSort::Id as i32, key: Key::Id },
        Sort { number: UrlSort::DiscoveryDt as i32, key: Key::Timestamp("discovery_date") },
        Sort { number: UrlSort::LastReviewDt as i32, key: Key::NullableTimestamp("last_review_date") },
        Sort { number: UrlSort::LastSeen as i32, key: Key::NullableTimestamp("last_seen") },
    ],
    buckets: "compliance_url_buckets(
        r.id >> 10, utc_day(r.discovery_date), utc_day(r.last_review_date), utc_day(r.last_seen))",
    lock: 1,
    record: record::query,
};

static STATEMENTS: LazyLock<Statements<ListComplianceUrlsRequest>> = LazyLock::new(|| Statements::of(&LIST));

/// How URLs are counted.
pub(crate) fn counted() -> Counted {
    LIST.counted()
}

/// Every statement that reads a page of URLs, with its name and the types of its parameters.
pub(crate) fn statements() -> impl Iterator<Item = (String, &'static str, String)> {
    STATEMENTS.pages()
}

/// Every statement that reads URLs by ID, with the types of its parameters.
pub(crate) fn read_statements() -> impl Iterator<Item = (&'static str, &'static str)> {
    STATEMENTS.reads()
}

/// The reader of single URLs.
pub(crate) fn single(pool: &Connections, memory: &Memory) -> Reads<ComplianceUrl> {
    Reads::new(Statement {
        pool: pool.clone(),
        memory: memory.clone(),
        sql: STATEMENTS.by_keys,
        decode: record::read,
        not_found: Error::url_not_found,
        long: &["transcription_text", "infraction_types"],
    })
}

/// The URLs of the company among `ids`, by ID.
pub(super) async fn by_ids(source: Source<'_>, ids: &[i64], most: usize) -> Result<Records<ComplianceUrl>, Error> {
    STATEMENTS.read_by_ids(source, ids, most, record::read).await
}

/// One page of the company's URLs. `None` if they take more than `most` bytes.
pub(super) async fn page(
    source: Source<'_>,
    request: &ListComplianceUrlsRequest,
    most: usize,
) -> Result<Option<Page<ComplianceUrl>>, Error> {
    STATEMENTS.page(source, request, asked(request), most, record::read).await
}

/// One page as a stream.
pub(super) fn large_page(
    pool: &Connections,
    shares: &Shares,
    company_id: i64,
    request: ListComplianceUrlsRequest,
    deadline: Instant,
) -> LargePage<ComplianceUrl, ListComplianceUrlsRequest> {
    let (pool, shares, asked) = (pool.clone(), shares.clone(), asked(&request));
    let statements = LazyLock::force(&STATEMENTS);
    LargePage { statements, pool, shares, company_id, request, asked, read: record::read, deadline }
}

/// Where the page stands.
pub(super) fn page_query(request: &ListComplianceUrlsRequest) -> PageQuery {
    PageQuery::new(request.per_page, request.page, request.sort_dir())
}

fn asked(request: &ListComplianceUrlsRequest) -> Asked {
    Asked {
        page: page_query(request),
        sort: request.sort_by().into(),
        days: days(request.discovery_after.as_deref(), request.discovery_before.as_deref()),
        affiliate: request.distributor_id,
    }
}
