//! The cases of a company as requests to open them.

use std::sync::LazyLock;

use compliance_api::v1::{
    CaseInput, ComplianceCase, ExportCasesResponse, IncidentInput, IncidentType, OpenCaseRequest,
};
use sqlx::{Row as _, postgres::PgRow};

use super::{Export, alpha2};
use crate::{cases, table::read_all};

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
        cases::record::query("$1")
    )
});

impl Export for ExportCasesResponse {
    fn statement() -> &'static str {
        &PAGE
    }

    fn read(rows: &[PgRow], last_case_id: i64) -> Result<Self, sqlx::Error> {
        let cases = read_all(rows, cases::record::read)?.into_iter().zip(rows).map(|(case, row)| {
            let urls = row.try_get::<Option<Vec<Option<String>>>, _>("incident_urls")?.unwrap_or_default();
            let references = row.try_get::<Option<Vec<Option<String>>>, _>("incident_references")?.unwrap_or_default();
            Ok(opening(case, row.try_get("request_id")?, urls.into_iter().zip(references)))
        });
        Ok(Self { cases: cases.collect::<Result<_, sqlx::Error>>()?, last_case_id })
    }
}

/// `contents` are the URLs and references of the incidents, in their order.
fn opening(
    case: ComplianceCase,
    request_id: Option<String>,
    contents: impl Iterator<Item = (Option<String>, Option<String>)>,
) -> OpenCaseRequest {
    let incidents = case.incidents.into_iter().zip(contents).map(|(incident, (url, reference))| {
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
    OpenCaseRequest {
        request_id: request_id.or_else(|| Some(format!("case-{}", case.case_id))),
        incidents: incidents.collect(),
        dates_as_given: Some(true),
        case: Some(CaseInput {
            client_affiliate_id: case.affiliate_id,
            affiliate_id: None,
            case_worker: case.case_worker,
            tags: case.tags,
            case_status: case.case_status,
            sub_status: case.sub_status,
            submitter: case.submitter,
            notice_status: case.notice_status,
            risk_level: case.risk_level,
            case_country: alpha2(case.case_country),
            sub_affiliate_id: case.sub_affiliate_id,
            created_date: case.created_date,
            reviewed_date: case.reviewed_date,
            resolved_date: case.resolved_date,
            first_action_date: case.first_action_date,
            flagged_date: case.flagged_date,
            follow_up_date: case.follow_up_date,
            closed_date: case.closed_date,
            last_updated_date: case.last_updated_date,
        }),
    }
}
