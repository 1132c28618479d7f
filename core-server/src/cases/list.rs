//! Reads: one case by ID (gathered), many by ID, and pages of the list.

use std::sync::LazyLock;

use compliance_api::{
    error::Error,
    v1::{CaseSort, ComplianceCase, ListComplianceCasesRequest},
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

/// One statement for each shape of list: sort, direction, range or not, affiliate or not.
static STATEMENTS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut statements = Vec::new();
    for axis in [BY_ID, CREATED] {
        for descending in [false, true] {
            for ranged in [false, true] {
                statements.push(&*LIST.walk(&[axis], descending, ranged).leak());
                statements.push(&*LIST.of_affiliate(axis.key, descending, ranged).leak());
            }
        }
    }
    statements
});

static BY_KEYS: LazyLock<&'static str> = LazyLock::new(|| LIST.by_keys().leak());
static BY_IDS: LazyLock<&'static str> = LazyLock::new(|| LIST.by_ids().leak());

/// Starts the reader of single cases.
pub(super) fn single(pool: &PgPool) -> Gather<ComplianceCase> {
    gather::records(pool, *BY_KEYS, |row| record::read(row, 2))
}

/// The cases of the company among `ids`, by ID.
pub(super) async fn by_ids(pool: &PgPool, company_id: i64, ids: &[i64]) -> Result<Vec<ComplianceCase>, Error> {
    let rows = database::read(|| sqlx::query(*BY_IDS).bind(company_id).bind(ids).fetch_all(pool)).await;
    let cases = rows.and_then(|rows| rows.iter().map(|row| record::read(row, 2)).collect());
    cases.map_err(|error| from_database(&error))
}

/// One page of the company's cases.
pub(super) async fn page(
    pool: &PgPool,
    company_id: i64,
    request: &ListComplianceCasesRequest,
    query: PageQuery,
) -> Result<Page<ComplianceCase>, Error> {
    let range = days(request.created_after.as_deref(), request.created_before.as_deref());
    let statement = statement(request.sort_by(), query.descending, range.is_some(), request.distributor_id.is_some());
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
    let page = rows.await.and_then(|rows| read(&rows));
    page.map_err(|error| from_database(&error))
}

/// The statement of a shape.
fn statement(sort: CaseSort, descending: bool, ranged: bool, of_affiliate: bool) -> &'static str {
    let sort = match sort {
        CaseSort::Unspecified | CaseSort::Id => 0,
        CaseSort::CreatedDt => 1,
    };
    STATEMENTS[sort * 8 + usize::from(descending) * 4 + usize::from(ranged) * 2 + usize::from(of_affiliate)]
}

fn read(rows: &[PgRow]) -> Result<Page<ComplianceCase>, sqlx::Error> {
    let total = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
    let records = rows.iter().filter(|row| row.try_get::<Option<i64>, _>(1).is_ok_and(|id| id.is_some()));
    Ok(Page { records: records.map(|row| record::read(row, 1)).collect::<Result<_, _>>()?, total })
}
