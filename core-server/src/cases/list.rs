//! Reads: one case by ID (coalesced), many by ID, and pages of the list.

use std::sync::LazyLock;

use admission::Memory;
use compliance_api::{
    error::Error,
    v1::{
        CaseSort, ComplianceCase, ListAllComplianceCasesRequest, ListAllComplianceCasesResponse,
        ListComplianceCasesRequest,
    },
};
use sqlx::postgres::PgRow;

use super::record;
use crate::{
    lists::{Asked, Filter, List, PageQuery, Part, Sort, Statements, Value, Whole, days},
    record_pages::{PageOfRecords, RecordPage},
};
use storage::{
    database::Connections,
    reads::{ReadByKey, Reads},
    table::read_all,
};

pub(crate) static LIST: List<ListComplianceCasesRequest> = List {
    table: "compliance_cases",
    counts: "compliance_case_counts",
    filters: &[Filter {
        column: "case_status_id",
        // An ID that no status can have matches nothing.
        value: Value::Integer(|request| request.case_status_id.map(|id| i32::try_from(id).unwrap_or(-1))),
    }],
    date: "created_date",
    sorts: &[
        Sort { number: CaseSort::Id as i32, parts: &[Part::Ids] },
        Sort { number: CaseSort::CreatedDt as i32, parts: &[Part::Days("created_date")] },
    ],
    buckets: "compliance_case_buckets(r.id, r.created_date)",
    lock: 2,
    record: record::query::<ComplianceCase>,
};

pub(crate) static STATEMENTS: LazyLock<Statements<ListComplianceCasesRequest>> =
    LazyLock::new(|| Statements::of(&LIST));

pub(crate) static WHOLE: LazyLock<Whole<ListComplianceCasesRequest>> = LazyLock::new(|| Whole::of(&LIST, None));

/// The filters of a request for the whole list.
pub(super) fn filters(request: ListAllComplianceCasesRequest) -> ListComplianceCasesRequest {
    ListComplianceCasesRequest {
        case_status_id: request.case_status_id,
        created_after: request.created_after,
        created_before: request.created_before,
        distributor_id: request.distributor_id,
        ..ListComplianceCasesRequest::default()
    }
}

impl RecordPage for ListAllComplianceCasesResponse {
    type Filters = ListComplianceCasesRequest;

    fn statement(filters: &Self::Filters, changed: bool) -> &'static str {
        WHOLE.statement(asked(filters), changed)
    }

    fn bind(query: PageOfRecords, filters: &Self::Filters) -> PageOfRecords {
        WHOLE.bind(query, filters, asked(filters))
    }

    fn read(rows: &[PgRow], _: i64) -> Result<Self, sqlx::Error> {
        Ok(Self { cases: read_all(rows, record::read)? })
    }
}

pub(crate) fn single(pool: &Connections, memory: &Memory) -> Reads<ComplianceCase> {
    Reads::new(ReadByKey {
        name: "reads of cases",
        resource: 4,
        pool: pool.clone(),
        memory: memory.clone(),
        one: STATEMENTS.by_key,
        many: STATEMENTS.by_keys,
        decode: record::read,
        not_found: Error::case_not_found,
        long: &["incident_ids"],
    })
}

pub(super) fn asked(request: &ListComplianceCasesRequest) -> Asked {
    Asked {
        page: PageQuery::new(request.per_page, request.page, request.sort_dir()),
        sort: request.sort_by().into(),
        days: days(request.created_after.as_deref(), request.created_before.as_deref()),
        affiliate: request.distributor_id,
    }
}
