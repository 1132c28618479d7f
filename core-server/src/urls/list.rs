//! Reads URLs: one by ID (coalesced), many by ID, as list pages, and by search.
//!
//! A row contains a URL's columns, its affiliate's names, and its infractions.

use std::sync::LazyLock;

use admission::Memory;
use compliance_api::{
    error::Error,
    record::Record,
    v1::{
        ComplianceUrl, Infraction, ListAllComplianceUrlsRequest, ListAllComplianceUrlsResponse,
        ListComplianceUrlsRequest, SearchComplianceUrlsRequest, UrlSort,
    },
};
use sqlx::{Row as _, postgres::PgRow};
use storage::{
    database::Connections,
    reads::{ReadByKey, Reads},
    table::{Reader, ValidTimestamp, read_all, selection, timestamp},
    template::fill,
};

use super::identity::identity;
use crate::{
    lists::{
        Asked, Comparison, Counts, Filter, List, PageOfRecords, PageQuery, Part, RecordPage, Records, Sort, Source,
        Statements, Value, day, days, name_id, read_records,
    },
    record_sql::{Place, own_names, read_infractions},
    search,
};

pub(crate) static LIST: List<ListComplianceUrlsRequest> = List {
    table: "compliance_urls",
    counts: Some(Counts {
        table: "compliance_url_counts",
        date: "discovery_date",
        buckets: "compliance_url_buckets(
        r.id >> 10, utc_day(r.discovery_date), utc_day(r.last_review_date), utc_day(r.last_seen))",
        lock: 1,
    }),
    filters: &[
        Filter {
            column: "incident_status_id",
            value: Value::Integer(|request| request.incident_status_id.map(name_id)),
        },
        Filter { column: "disabled", value: Value::Boolean(|request| request.disabled) },
    ],
    sorts: &[
        Sort { number: UrlSort::Id as i32, parts: &[Part::Ids] },
        Sort { number: UrlSort::DiscoveryDt as i32, parts: &[Part::Days("discovery_date")] },
        Sort {
            number: UrlSort::LastReviewDt as i32,
            parts: &[Part::Days("last_review_date"), Part::Nulls("last_review_date")],
        },
        Sort { number: UrlSort::LastSeen as i32, parts: &[Part::Days("last_seen"), Part::Nulls("last_seen")] },
    ],
    record: query::<ComplianceUrl>,
    long: Some("transcription_text"),
    asked,
    comparison: Some(COMPARISON),
};

/// Filters by infractions and cases.
const COMPARISON: Comparison<ListComplianceUrlsRequest> = Comparison {
    conditions: || fill(include_str!("conditions.sql"), &[]),
    columns: &[],
    parameters: &[
        Value::Integer(|request| day(request.infraction_after.as_deref())),
        Value::Integer(|request| day(request.infraction_before.as_deref())),
        Value::Integer(|request| request.infraction_type_id.map(name_id)),
        Value::Boolean(|request| request.has_case),
    ],
    sorts: &[],
};

pub(crate) static STATEMENTS: LazyLock<Statements<ListComplianceUrlsRequest>> = LazyLock::new(|| Statements::of(&LIST));

/// Returns the filters in a whole-list request.
pub(super) fn filters(request: ListAllComplianceUrlsRequest) -> ListComplianceUrlsRequest {
    ListComplianceUrlsRequest {
        incident_status_id: request.incident_status_id,
        distributor_id: request.distributor_id,
        disabled: request.disabled,
        discovery_after: request.discovery_after,
        discovery_before: request.discovery_before,
        infraction_after: request.infraction_after,
        infraction_before: request.infraction_before,
        infraction_type_id: request.infraction_type_id,
        has_case: request.has_case,
        ..ListComplianceUrlsRequest::default()
    }
}

impl RecordPage for ListAllComplianceUrlsResponse {
    const MAY_BE_SHORT: bool = true;
    const RESOURCE: i16 = 2;

    type Filters = ListComplianceUrlsRequest;

    fn statement(filters: &Self::Filters, changed: bool) -> &'static str {
        STATEMENTS.whole(filters, changed)
    }

    fn bind(query: PageOfRecords, filters: &Self::Filters) -> PageOfRecords {
        STATEMENTS.bind_whole(query, filters)
    }

    fn read(rows: &[PgRow], _: i64) -> Result<Self, sqlx::Error> {
        Ok(Self { urls: read_all(rows, read)? })
    }
}

pub(crate) fn single(pool: &Connections, memory: &Memory) -> Reads<ComplianceUrl> {
    Reads::new(ReadByKey {
        name: "reads of URLs",
        resource: 2,
        pool: pool.clone(),
        memory: memory.clone(),
        one: STATEMENTS.by_key,
        many: STATEMENTS.by_keys,
        decode: read,
        not_found: Error::url_not_found,
        long: &["transcription_text", "infraction_types"],
    })
}

fn asked(request: &ListComplianceUrlsRequest) -> Asked {
    Asked {
        page: PageQuery::new(request.per_page, request.page, request.sort_dir()),
        sort: request.sort_by().into(),
        days: days(request.discovery_after.as_deref(), request.discovery_before.as_deref()),
        affiliate: request.distributor_id,
    }
}

static SEARCH: LazyLock<&'static str> = LazyLock::new(|| {
    let record = query::<ComplianceUrl>(&Place::now("$1", "p.id"));
    fill(include_str!("search.sql"), &[("record", &record)]).leak()
});

/// Returns the search statement, with its parameter types.
pub(crate) fn search_statement() -> (&'static str, &'static str) {
    (*SEARCH, "bigint, text[], bigint, bigint, bytea")
}

/// Returns exact matches first, then the newest URLs that contain the words.
pub(super) async fn search(
    source: Source,
    request: &SearchComplianceUrlsRequest,
) -> Result<Records<ComplianceUrl>, Error> {
    let SearchComplianceUrlsRequest { q, limit } = request;
    let company_id = source.company_id;
    let hash = identity(q.trim()).map(|(hash, _)| hash);
    let query = || search::query(*SEARCH, "URL", company_id, q, *limit).bind(hash);
    read_records(source, query, read).await
}

/// Returns a query that reads a URL as an `R`.
pub(crate) fn query<R: Record>(place: &Place) -> String {
    let columns = selection::<R>(place.company, &[("compliance_urls", "u"), ("affiliates", "a")], &[]);
    let [own_type, own_name] = own_names(place.company);
    let parts = [("columns", &*columns), ("own_type", &own_type), ("own_name", &own_name)];
    place.fill(include_str!("record.sql"), &parts)
}

/// Decodes a row that [`query`] returns.
pub(super) fn read(reader: &Reader<ComplianceUrl>, row: &PgRow) -> Result<ComplianceUrl, sqlx::Error> {
    Ok(ComplianceUrl { infractions: infractions(row)?, ..reader.read(row)? })
}

/// Decodes the infractions in a row that [`query`] returns.
pub(crate) fn infractions(row: &PgRow) -> Result<Vec<Infraction>, sqlx::Error> {
    let dates = row.try_get::<Option<Vec<ValidTimestamp>>, _>("infraction_dates")?.unwrap_or_default();
    let infractions = read_infractions(row)?.zip(dates);
    let infractions = infractions.map(|((infraction_type, infraction_name), date)| Infraction {
        infraction_type,
        infraction_name,
        created_date: date.0.map(timestamp),
    });
    Ok(infractions.collect())
}
