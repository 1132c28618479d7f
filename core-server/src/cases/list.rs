//! Reads: one case by ID (coalesced), many by ID, and pages of the list.

use std::sync::LazyLock;

use admission::Memory;
use compliance_api::{
    error::Error,
    v1::{CaseSort, ComplianceCase, ListComplianceCasesRequest},
};

use super::record;
use crate::{
    database::Connections,
    lists::{
        Asked, Counted, Filter, Key, List, Page, PageQuery, Records, Sort, Source, Statements, Value, days, too_large,
    },
    reads::{Reads, Statement},
};

static LIST: List<ListComplianceCasesRequest> = List {
    table: "compliance_cases",
    counts: "compliance_case_counts",
    filters: &[Filter {
        column: "case_status_id",
        // An ID that no status can have matches nothing.
        value: Value::Integer(|request| request.case_status_id.map(|id| i32::try_from(id).unwrap_or(-1))),
        leads: true,
    }],
    affiliate: "affiliate_id",
    date: "created_date",
    sorts: &[
        Sort { number: CaseSort::Id as i32, key: Key::Id },
        Sort { number: CaseSort::CreatedDt as i32, key: Key::Timestamp("created_date") },
    ],
    buckets: "compliance_case_buckets(r.id, r.created_date)",
    lock: 2,
    record: record::query,
};

static STATEMENTS: LazyLock<Statements<ListComplianceCasesRequest>> = LazyLock::new(|| Statements::of(&LIST));

/// How cases are counted.
pub(crate) fn counted() -> Counted {
    LIST.counted()
}

/// Every statement that reads a page of cases, with its name and the types of its parameters.
pub(crate) fn statements() -> impl Iterator<Item = (String, &'static str, String)> {
    STATEMENTS.pages()
}

/// Every statement that reads cases by ID, with the types of its parameters.
pub(crate) fn read_statements() -> impl Iterator<Item = (&'static str, &'static str)> {
    STATEMENTS.reads()
}

/// The reader of single cases.
pub(crate) fn single(pool: &Connections, memory: &Memory) -> Reads<ComplianceCase> {
    Reads::new(Statement {
        pool: pool.clone(),
        memory: memory.clone(),
        sql: STATEMENTS.by_keys,
        decode: record::read,
        not_found: Error::case_not_found,
        long: &["incident_ids"],
    })
}

/// The cases of the company among `ids`, by ID.
pub(super) async fn by_ids(source: Source<'_>, ids: &[i64], most: usize) -> Result<Records<ComplianceCase>, Error> {
    STATEMENTS.read_by_ids(source, ids, most, record::read).await
}

/// One page of the company's cases.
pub(super) async fn page(
    source: Source<'_>,
    request: &ListComplianceCasesRequest,
    page: PageQuery,
    most: usize,
) -> Result<Page<ComplianceCase>, Error> {
    let asked = Asked {
        page,
        sort: request.sort_by().into(),
        days: days(request.created_after.as_deref(), request.created_before.as_deref()),
        affiliate: request.distributor_id,
    };
    let page = STATEMENTS.page(source, request, asked, most, record::read).await?;
    page.ok_or_else(|| too_large(most))
}
