//! Everything that a company has, in the form that another company's is written in.

use std::{sync::LazyLock, time::Duration};

use compliance_api::{
    country,
    error::Error,
    v1::{
        CaseInput, ComplianceCase, ComplianceUrl, ExportCasesResponse, ExportUrlsResponse, IncidentInput, IncidentType,
        InfractionInput, OpenCaseRequest, UrlObservation,
    },
};
use sqlx::{Row as _, postgres::PgRow};

use crate::database::Connections;
use tokio::{
    sync::mpsc,
    time::{Instant, timeout_at},
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use crate::{cases, database, error::from_database, table::read_all, urls};

/// Records in a message.
const PAGE: i64 = 500;

static URLS: LazyLock<&'static str> = LazyLock::new(|| {
    format!(
        "select p.id as last_id, r.* from (
            select u.id from compliance_urls u where u.company_id = $1 and u.id > $2 order by u.id limit $3
        ) p cross join lateral ({}) r order by p.id",
        urls::record::query("$1")
    )
    .leak()
});

/// The contents of incidents stand beside the record, in the order of its incidents.
static CASES: LazyLock<&'static str> = LazyLock::new(|| {
    format!(
        "select p.id as last_id, p.request_id, c.urls, c.refs, r.* from (
            select u.id, u.request_id from compliance_cases u
            where u.company_id = $1 and u.id > $2 order by u.id limit $3
        ) p
        left join lateral (
            select array_agg(x.url) as urls, array_agg(x.reference) as refs from (
                select i.reference, (
                    select u.url from compliance_urls u where u.company_id = $1 and u.id = i.url_id limit 1
                ) as url
                from incidents i where i.company_id = $1 and i.case_id = p.id order by i.id
            ) x
        ) c on true
        cross join lateral ({}) r order by p.id",
        cases::record::query("$1")
    )
    .leak()
});

/// What is exported: a message of records, read page by page.
pub(super) trait Export: Sized + Send + 'static {
    /// The statement of a page: company, ID after which it begins, and how many records it has.
    fn statement() -> &'static str;

    /// Reads a page.
    fn read(rows: &[PgRow], last: i64) -> Result<Self, sqlx::Error>;
}

/// The messages of an export.
pub(super) type Pages<T> = ReceiverStream<Result<T, Status>>;

/// Every record of the company with a higher ID than `after`. A page is read while the one before is being sent; no
/// connection and no snapshot is held while a slow reader thinks.
pub(super) fn all<T: Export>(pool: Connections, company_id: i64, mut after: i64, limit: Duration) -> Pages<T> {
    let deadline = Instant::now() + limit;
    let (pages, told) = mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            let rows =
                database::read(|| sqlx::query(T::statement()).bind(company_id).bind(after).bind(PAGE).fetch_all(&pool));
            let Ok(rows) = timeout_at(deadline, rows).await else { break };
            let page = rows.and_then(|rows| {
                let Some(last) = rows.last() else { return Ok(None) };
                after = last.try_get("last_id")?;
                Ok(Some((rows.len() as i64 == PAGE, T::read(&rows, after)?)))
            });
            let (more, page) = match page {
                Ok(Some((more, page))) => (more, Ok(page)),
                Ok(None) => return,
                Err(error) => (false, Err(from_database(&error).into())),
            };
            match timeout_at(deadline, pages.send(page)).await {
                Ok(Ok(())) if more => {}
                Ok(_) => return,
                Err(_) => break,
            }
        }
        // However late the reader comes for it: an export that is cut short must not look complete.
        let _ = pages.send(Err(Error::deadline_exceeded().into())).await;
    });
    ReceiverStream::new(told)
}

impl Export for ExportUrlsResponse {
    fn statement() -> &'static str {
        *URLS
    }

    fn read(rows: &[PgRow], last_url_id: i64) -> Result<Self, sqlx::Error> {
        let urls = read_all(rows, urls::record::read)?;
        Ok(Self { observations: urls.into_iter().map(observation).collect(), last_url_id })
    }
}

impl Export for ExportCasesResponse {
    fn statement() -> &'static str {
        *CASES
    }

    fn read(rows: &[PgRow], last_case_id: i64) -> Result<Self, sqlx::Error> {
        let cases = read_all(rows, cases::record::read)?.into_iter().zip(rows).map(|(case, row)| {
            let urls = row.try_get::<Option<Vec<Option<String>>>, _>("urls")?.unwrap_or_default();
            let references = row.try_get::<Option<Vec<Option<String>>>, _>("refs")?.unwrap_or_default();
            let contents = urls.into_iter().zip(references);
            Ok(opening(case, row.try_get("request_id")?, contents))
        });
        Ok(Self { cases: cases.collect::<Result<_, sqlx::Error>>()?, last_case_id })
    }
}

fn observation(url: ComplianceUrl) -> UrlObservation {
    let infractions = url.infractions.into_iter().map(|infraction| InfractionInput {
        infraction_type: infraction.infraction_type,
        infraction_name: infraction.infraction_name,
        created_date: infraction.created_date,
    });
    UrlObservation {
        url: Some(url.url),
        incident_status: url.incident_status,
        disabled: Some(url.disabled),
        false_positive: url.false_positive,
        country: alpha2(url.country),
        discovery_date: url.discovery_date,
        last_review_date: url.last_review_date,
        last_crawl_date: url.last_crawl_date,
        last_seen: url.last_seen,
        client_affiliate_id: url.affiliate_id,
        affiliate_id: None,
        sub_affiliate_id: url.sub_affiliate_id,
        owner_email: url.owner_email,
        social_one: url.social_one,
        social_two: url.social_two,
        social_three: url.social_three,
        phone_one: url.phone_one,
        phone_two: url.phone_two,
        landing_page: url.landing_page,
        note: url.note,
        video_path: url.video_path,
        transcription_text: url.transcription_text,
        transcription_status: url.transcription_status,
        infractions: infractions.collect(),
        clear: Vec::new(),
    }
}

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
            // Content that nobody gave a reference has its incident's ID.
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

fn alpha2(name: Option<String>) -> Option<String> {
    name.as_deref().and_then(country::alpha2_of_name).map(str::to_owned)
}
