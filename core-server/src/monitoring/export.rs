//! Exports all records in a form that another company can import: URLs as observations, and cases as requests to open them.

use std::sync::LazyLock;

use compliance_api::{
    error::Error,
    v1::{
        CaseInput, ExportCasesResponse, ExportUrlsResponse, IncidentInput, IncidentType, InfractionInput,
        OpenCaseRequest, UrlObservation,
    },
};
use sqlx::{Row as _, postgres::PgRow};
use storage::{
    database::{self, Connections, End, Fetched},
    error::from_database,
    table::{Reader, read_all},
    template::fill,
};

use super::context::CompanyWriter;
use crate::{
    cases,
    lists::{PART, RecordPage, chosen, page},
    record_sql::Place,
    urls,
    whole_lists::PAGE_RECORDS,
};

/// Statements that read up to `$3` URLs of company `$1` with IDs above `$2`.
static URLS: LazyLock<[String; 2]> = LazyLock::new(|| [None, Some(4)].map(urls));

fn urls(ids: Option<usize>) -> String {
    let from = chosen("compliance_urls", "u", ids);
    let ids = format!(
        "select u.id, u.transcription_text from {from} where u.company_id = $1 and u.id > $2 order by u.id limit $3"
    );
    page(&ids, Some("transcription_text"), &urls::query::<UrlObservation>(&RECORD))
}

/// Locates the record with the selected ID.
const RECORD: Place = Place::now("$1", "p.id");

impl RecordPage for ExportUrlsResponse {
    const MAY_BE_SHORT: bool = true;
    const RESOURCE: i16 = 2;

    type Filters = ();

    fn statement((): &(), changed: bool) -> &'static str {
        &URLS[usize::from(changed)]
    }

    fn read(rows: &[PgRow], last_url_id: i64) -> Result<Self, sqlx::Error> {
        Ok(Self { observations: read_all(rows, observation)?, last_url_id })
    }
}

fn observation(reader: &Reader<UrlObservation>, row: &PgRow) -> Result<UrlObservation, sqlx::Error> {
    let infractions = urls::infractions(row)?.into_iter().map(|infraction| InfractionInput {
        infraction_type: infraction.infraction_type,
        infraction_name: infraction.infraction_name,
        created_date: infraction.created_date,
    });
    // Affiliate IDs differ between companies.
    Ok(UrlObservation { infractions: infractions.collect(), affiliate_id: None, ..reader.read(row)? })
}

static CASES: LazyLock<[String; 2]> = LazyLock::new(|| [None, Some(4)].map(cases));

fn cases(ids: Option<usize>) -> String {
    let (from, record) = (chosen("compliance_cases", "u", ids), cases::query::<CaseInput>(&RECORD));
    fill(include_str!("export_cases.sql"), &[("from", &from), ("record", &record)])
}

impl RecordPage for ExportCasesResponse {
    const RESOURCE: i16 = 4;

    type Filters = ();

    fn statement((): &(), changed: bool) -> &'static str {
        &CASES[usize::from(changed)]
    }

    fn read(rows: &[PgRow], last_case_id: i64) -> Result<Self, sqlx::Error> {
        Ok(Self { cases: read_all(rows, opening)?, last_case_id })
    }
}

/// Returns the request ID that an export generates for a case opened without one.
fn invented_request_id(case_id: i64) -> String {
    format!("case-{case_id}")
}

/// Returns the case for which an export generated this request ID.
pub(super) fn case_of(request_id: &str) -> Option<i64> {
    let case_id = request_id.strip_prefix("case-")?.parse().ok()?;
    (invented_request_id(case_id) == request_id).then_some(case_id)
}

/// Passes each case's current export to `take`.
pub(super) async fn each_case(
    company: CompanyWriter<'_>,
    ids: &[i64],
    mut take: impl FnMut(i64, OpenCaseRequest),
) -> Result<(), Error> {
    let backend = &company.context.backend;
    let memory = backend.quotas.memory.reservation(Some(company.id));
    for ids in ids.chunks(PAGE_RECORDS as usize) {
        let mut last_id = 0;
        loop {
            let query = || {
                let query = sqlx::query(ExportCasesResponse::statement(&(), true)).bind(company.id).bind(last_id);
                query.bind(PAGE_RECORDS).bind(ids)
            };
            let read = async |pool: Connections| pool.fetch_at_most(query(), PART, &memory).await;
            let page = database::read(&backend.pool, read).await;
            // The memory stays reserved until `take` has received the records.
            let Fetched { rows, end, memory: _reserved } = page.map_err(from_database)?;
            for (row, case) in rows.iter().zip(read_all(&rows, opening).map_err(from_database)?) {
                last_id = row.try_get("last_id").map_err(from_database)?;
                take(last_id, case);
            }
            match end {
                End::Complete => break,
                End::LimitReached(limit) if rows.is_empty() => return Err(limit.into()),
                End::LimitReached(_) | End::TooLarge => {}
            }
        }
    }
    Ok(())
}

fn opening(reader: &Reader<CaseInput>, row: &PgRow) -> Result<OpenCaseRequest, sqlx::Error> {
    let incidents = cases::incidents(row)?.into_iter().map(|incident| {
        let is_url = incident.incident_type() == IncidentType::Url;
        IncidentInput {
            incident_type: incident.incident_type,
            url: incident.url,
            url_id: None,
            // Content without a reference gets one derived from its incident ID.
            reference: incident.reference.or_else(|| (!is_url).then(|| format!("incident-{}", incident.incident_id))),
            infraction_type: incident.infraction_type,
            infraction_name: incident.infraction_name,
        }
    });
    let request_id = match row.try_get("request_id")? {
        None => invented_request_id(row.try_get("last_id")?),
        Some(request_id) => request_id,
    };
    Ok(OpenCaseRequest {
        request_id: Some(request_id),
        incidents: incidents.collect(),
        dates_as_given: Some(true),
        // Affiliate IDs differ between companies.
        case: Some(CaseInput { affiliate_id: None, ..reader.read(row)? }),
    })
}
