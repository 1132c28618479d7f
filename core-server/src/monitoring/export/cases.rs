//! The cases of a company as requests to open them.

use std::sync::LazyLock;

use compliance_api::v1::{CaseInput, ExportCasesResponse, IncidentInput, IncidentType, OpenCaseRequest};
use sqlx::{Row as _, postgres::PgRow};

use crate::{
    cases::record,
    record_pages::RecordPage,
    table::{Reader, read_all},
};

/// A page: of the company $1, with IDs above $2, of at most $3 records. The URLs and references of the incidents are in
/// the order in which the record has the incidents.
static PAGE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "select p.id as last_id, p.request_id, c.incident_urls, c.incident_references, r.*
        from (
            select u.id, u.request_id from compliance_cases u
            where u.company_id = $1 and u.id > $2 order by u.id limit $3
        ) p
        left join lateral (
            select array_agg(x.url) as incident_urls, array_agg(x.reference) as incident_references
            from (
                select i.reference, (
                    select u.url from compliance_urls u where u.company_id = $1 and u.id = i.url_id limit 1
                ) as url
                from incidents i where i.company_id = $1 and i.case_id = p.id order by i.id
            ) x
        ) c on true
        cross join lateral ({}) r
        order by p.id",
        record::query_as::<CaseInput>("$1")
    )
});

impl RecordPage for ExportCasesResponse {
    fn statement() -> &'static str {
        &PAGE
    }

    fn read(rows: &[PgRow], last_case_id: i64) -> Result<Self, sqlx::Error> {
        Ok(Self { cases: read_all(rows, opening)?, last_case_id })
    }
}

fn opening(reader: &Reader<CaseInput>, row: &PgRow) -> Result<OpenCaseRequest, sqlx::Error> {
    let urls = row.try_get::<Option<Vec<Option<String>>>, _>("incident_urls")?.unwrap_or_default();
    let references = row.try_get::<Option<Vec<Option<String>>>, _>("incident_references")?.unwrap_or_default();
    let incidents =
        record::incidents(row)?.into_iter().zip(urls).zip(references).map(|((incident, url), reference)| {
            let is_url = incident.incident_type() == IncidentType::Url;
            IncidentInput {
                incident_type: incident.incident_type,
                url,
                url_id: None,
                // Content without a reference gets one from the ID of its incident.
                reference: reference.or_else(|| (!is_url).then(|| format!("incident-{}", incident.incident_id))),
                infraction_type: incident.infraction_type,
                infraction_name: incident.infraction_name,
            }
        });
    let request_id = match row.try_get("request_id")? {
        None => format!("case-{}", row.try_get::<i64, _>("last_id")?),
        Some(request_id) => request_id,
    };
    Ok(OpenCaseRequest {
        request_id: Some(request_id),
        incidents: incidents.collect(),
        dates_as_given: Some(true),
        // Another company has other IDs.
        case: Some(CaseInput { affiliate_id: None, ..reader.read(row)? }),
    })
}
