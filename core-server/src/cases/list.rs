//! Reads cases: one by ID (coalesced), many by ID, and as list pages.
//!
//! A row contains a case's columns, its affiliate's current data, and its incidents.

use std::{sync::LazyLock, time::SystemTime};

use admission::Memory;
use compliance_api::{
    error::Error,
    record::Record,
    v1::{
        CaseSort, ComplianceCase, Incident, ListAllComplianceCasesRequest, ListAllComplianceCasesResponse,
        ListComplianceCasesRequest,
    },
};
use sha2::{Digest as _, Sha256};
use sqlx::{Row as _, postgres::PgRow};
use storage::{
    database::Connections,
    reads::{ReadByKey, Reads},
    table::{Reader, read_all, selection},
    template::fill,
};

use crate::{
    lists::{
        Asked, Comparison, Counts, Filter, List, PageOfRecords, PageQuery, Part, RecordPage, Sort, Statements, Value,
        day, days, name_id,
    },
    record_sql::{Place, own_names, read_infractions},
};

pub(crate) static LIST: List<ListComplianceCasesRequest> = List {
    table: "compliance_cases",
    counts: Some(Counts {
        table: "compliance_case_counts",
        date: "created_date",
        buckets: "compliance_case_buckets(r.id, r.created_date)",
        lock: 2,
    }),
    filters: &[Filter {
        column: "case_status_id",
        value: Value::Integer(|request| request.case_status_id.map(name_id)),
    }],
    sorts: &[
        Sort { number: CaseSort::Id as i32, parts: &[Part::Ids] },
        Sort { number: CaseSort::CreatedDt as i32, parts: &[Part::Days("created_date")] },
    ],
    record: query::<ComplianceCase>,
    long: None,
    asked,
    comparison: Some(COMPARISON),
};

const COMPARISON: Comparison<ListComplianceCasesRequest> = Comparison {
    conditions: || fill(include_str!("conditions.sql"), &[]),
    columns: &[
        "case_status_id",
        "risk_level_id",
        "sub_status_id",
        "case_worker",
        "follow_up_date",
        "closed_date",
        "tags",
    ],
    parameters: &[
        Value::Boolean(|request| request.open),
        Value::Integer(|request| request.risk_level_id.map(name_id)),
        Value::Integer(|request| request.sub_status_id.map(name_id)),
        Value::Text(|request| request.case_worker.clone().filter(|worker| !worker.is_empty())),
        Value::Boolean(|request| request.assigned),
        Value::Integer(|request| day(request.follow_up_after.as_deref())),
        Value::Integer(|request| day(request.follow_up_before.as_deref())),
        Value::Boolean(|request| request.overdue),
        Value::Timestamp(|request| request.overdue.map(|_| SystemTime::now().into())),
        Value::Integer(|request| day(request.closed_after.as_deref())),
        Value::Integer(|request| day(request.closed_before.as_deref())),
        Value::Integer(|request| request.infraction_type_id.map(name_id)),
        Value::Id(|request| request.url_id),
        Value::Text(|request| request.tag.clone().filter(|tag| !tag.is_empty())),
    ],
    sorts: &[
        (CaseSort::CaseStatus as i32, "u.case_status_id"),
        (CaseSort::SubStatus as i32, "u.sub_status_id"),
        (CaseSort::RiskLevel as i32, "u.risk_level_id"),
        (CaseSort::CaseWorker as i32, "lower(u.case_worker)"),
        (CaseSort::FollowUpDate as i32, "u.follow_up_date"),
        (
            CaseSort::InfractionType as i32,
            "(select min(i.infraction_type_id) from incidents i where i.company_id = $1 and i.case_id = u.id)",
        ),
    ],
};

pub(crate) static STATEMENTS: LazyLock<Statements<ListComplianceCasesRequest>> =
    LazyLock::new(|| Statements::of(&LIST));

/// Returns the filters in a whole-list request.
pub(super) fn filters(request: ListAllComplianceCasesRequest) -> ListComplianceCasesRequest {
    ListComplianceCasesRequest {
        case_status_id: request.case_status_id,
        created_after: request.created_after,
        created_before: request.created_before,
        distributor_id: request.distributor_id,
        open: request.open,
        risk_level_id: request.risk_level_id,
        sub_status_id: request.sub_status_id,
        case_worker: request.case_worker,
        assigned: request.assigned,
        follow_up_after: request.follow_up_after,
        follow_up_before: request.follow_up_before,
        overdue: request.overdue,
        closed_after: request.closed_after,
        closed_before: request.closed_before,
        infraction_type_id: request.infraction_type_id,
        url_id: request.url_id,
        tag: request.tag,
        ..ListComplianceCasesRequest::default()
    }
}

impl RecordPage for ListAllComplianceCasesResponse {
    const RESOURCE: i16 = 4;

    type Filters = ListComplianceCasesRequest;

    fn statement(filters: &Self::Filters, changed: bool) -> &'static str {
        STATEMENTS.whole(filters, changed)
    }

    fn bind(query: PageOfRecords, filters: &Self::Filters) -> PageOfRecords {
        STATEMENTS.bind_whole(query, filters)
    }

    fn read(rows: &[PgRow], _: i64) -> Result<Self, sqlx::Error> {
        Ok(Self { cases: read_all(rows, read)? })
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
        decode: read,
        not_found: Error::case_not_found,
        long: &["incident_ids"],
    })
}

fn asked(request: &ListComplianceCasesRequest) -> Asked {
    Asked {
        page: PageQuery::new(request.per_page, request.page, request.sort_dir()),
        sort: request.sort_by().into(),
        days: days(request.created_after.as_deref(), request.created_before.as_deref()),
        affiliate: request.distributor_id,
    }
}

/// Returns a query that reads a case as an `R`.
pub(crate) fn query<R: Record>(place: &Place) -> String {
    let upline_name = place.fill(include_str!("upline_name.sql"), &[]);
    let aliases = [("compliance_cases", "u"), ("affiliates", "a")];
    let columns = selection::<R>(place.company, &aliases, &[("upline_name", &upline_name)]);
    let [own_type, own_name] = own_names(place.company);
    let parts = [("columns", &*columns), ("own_type", &own_type), ("own_name", &own_name)];
    place.fill(include_str!("record.sql"), &parts)
}

/// Decodes a row that [`query`] returns.
pub(super) fn read(reader: &Reader<ComplianceCase>, row: &PgRow) -> Result<ComplianceCase, sqlx::Error> {
    let case = ComplianceCase { incidents: incidents(row)?, ..reader.read(row)? };
    let affiliate_etag = affiliate_etag(case.affiliate_etag, case.upline_name.as_deref());
    Ok(ComplianceCase { affiliate_etag, ..case })
}

/// Returns the version of a case's affiliate data, which includes the upline's name.
pub(crate) fn affiliate_etag(affiliate_revision: String, upline_name: Option<&str>) -> String {
    let Some(name) = upline_name else { return affiliate_revision };
    let digest = Sha256::digest(name).iter().take(8).fold(0, |digest, byte| digest << 8 | u64::from(*byte));
    format!("{affiliate_revision}.{digest:016x}")
}

/// Decodes the incidents in a row that [`query`] returns.
pub(crate) fn incidents(row: &PgRow) -> Result<Vec<Incident>, sqlx::Error> {
    let ids = row.try_get::<Option<Vec<i64>>, _>("incident_ids")?.unwrap_or_default();
    let types = row.try_get::<Option<Vec<i16>>, _>("incident_types")?.unwrap_or_default();
    let url_ids = row.try_get::<Option<Vec<Option<i64>>>, _>("incident_url_ids")?.unwrap_or_default();
    let urls = row.try_get::<Option<Vec<Option<String>>>, _>("incident_urls")?.unwrap_or_default();
    let references = row.try_get::<Option<Vec<Option<String>>>, _>("incident_references")?.unwrap_or_default();
    let contents = url_ids.into_iter().zip(urls).zip(references);
    let incidents = ids.into_iter().zip(types).zip(read_infractions(row)?).zip(contents);
    let incidents =
        incidents.map(|(((incident_id, kind), (infraction_type, infraction_name)), ((url_id, url), reference))| {
            Incident {
                incident_id,
                incident_type: kind.into(),
                infraction_type,
                infraction_name,
                url_id,
                url,
                reference,
            }
        });
    Ok(incidents.collect())
}
