//! Reads: one case by ID (coalesced), many by ID, and pages of the list.

use std::sync::LazyLock;

use crate::database::Connections;
use compliance_api::{
    error::Error,
    v1::{CaseSort, ComplianceCase, ListComplianceCasesRequest},
};

use super::record;
use crate::{
    database,
    error::from_database,
    lists::{Axis, Key, List, Page, PageQuery, Range, Shape, Statements, days},
    reads::Reads,
};

static LIST: LazyLock<List> = LazyLock::new(|| List {
    table: "compliance_cases",
    counts: "compliance_case_counts",
    filters: &[("case_status_id", "$4")],
    all: 1,
    days: CREATED,
    affiliate: ("affiliate_id", "$7"),
    range: Range { column: "created_date", first: "$5", last: "$6" },
    record: record::query(),
});

// Dimensions as the migration of the counts numbers them.
const BY_ID: Axis = Axis { key: Key::Id, fine: 2, coarse: 3, only: "" };
const CREATED: Axis = Axis { key: Key::Time("created_date"), fine: 4, coarse: 5, only: "" };

static STATEMENTS: LazyLock<Statements> = LazyLock::new(|| {
    // In the order of `position`.
    Statements::of(&LIST, &[&[BY_ID], &[CREATED]])
});

/// The position of a sort among the statements.
fn position(sort: CaseSort) -> usize {
    match sort {
        CaseSort::Unspecified | CaseSort::Id => 0,
        CaseSort::CreatedDt => 1,
    }
}

/// Every statement that reads a page of cases.
pub(crate) fn statements() -> &'static [&'static str] {
    STATEMENTS.shapes()
}

/// The reader of single cases.
pub(super) fn single(pool: &Connections) -> Reads<ComplianceCase> {
    Reads::new(pool, STATEMENTS.by_keys, |row| record::read(row, 2))
}

/// The cases of the company among `ids`, by ID.
pub(super) async fn by_ids(pool: &Connections, company_id: i64, ids: &[i64]) -> Result<Vec<ComplianceCase>, Error> {
    STATEMENTS.read_by_ids(pool, company_id, ids, record::read).await
}

/// One page of the company's cases.
pub(super) async fn page(
    pool: &Connections,
    company_id: i64,
    request: &ListComplianceCasesRequest,
    query: PageQuery,
) -> Result<Page<ComplianceCase>, Error> {
    let range = days(request.created_after.as_deref(), request.created_before.as_deref());
    let statement = STATEMENTS.shape(Shape {
        sort: position(request.sort_by()),
        descending: query.descending,
        ranged: range.is_some(),
        of_affiliate: request.distributor_id.is_some(),
    });
    // An ID that no status can have matches nothing.
    let status = request.case_status_id.map(|id| i32::try_from(id).unwrap_or(-1));
    let (first, last) = range.unzip();
    let rows = database::read(|| {
        sqlx::query(statement)
            .bind(company_id)
            .bind(query.limit())
            .bind(query.offset())
            .bind(status)
            .bind(first)
            .bind(last)
            .bind(request.distributor_id)
            .fetch_all(pool)
    });
    let page = rows.await.and_then(|rows| Page::read(&rows, record::read));
    page.map_err(|error| from_database(&error))
}
