//! A URL as it is read: its own columns, its affiliate's names and its infractions, in one row.

use compliance_api::{
    catalogue::Vocabulary,
    v1::{ComplianceUrl, Infraction},
};
use sqlx::postgres::PgRow;
use time::OffsetDateTime;

use crate::{
    rows::{Columns, timestamp},
    vocabulary::own_name,
};

/// A query for the URL of a company, which is given as SQL, and of the ID `p.id`; [`read`] reads its row.
pub(crate) fn query(company: &str) -> String {
    let status = own_name(Vocabulary::UrlIncidentStatus, "u.company_id", "u.incident_status_id");
    let transcription = own_name(Vocabulary::TranscriptionStatus, "u.company_id", "u.transcription_status_id");
    let kind = own_name(Vocabulary::InfractionType, "i.company_id", "i.infraction_type_id");
    let name = own_name(Vocabulary::InfractionName, "i.company_id", "i.infraction_name_id");
    format!(
        "select u.id as record_id, u.url, u.domain, u.incident_status_id, {status}, u.disabled, u.false_positive,
            u.country, u.discovery_date, u.last_review_date, u.last_crawl_date, u.last_seen,
            a.affiliate_name, a.client_affiliate_id, u.sub_affiliate_id, u.owner_email,
            u.social_one, u.social_two, u.social_three, u.phone_one, u.phone_two, u.landing_page,
            u.case_id, u.note, u.video_path, u.transcription_text, u.transcription_status_id, {transcription},
            i.types, i.own_types, i.names, i.own_names, i.dates
        from compliance_urls u
        left join affiliates a on a.company_id = u.company_id and a.id = u.affiliate_id
        left join lateral (
            select array_agg(type_id) as types, array_agg(own_type) as own_types,
                array_agg(name_id) as names, array_agg(own_name) as own_names, array_agg(created_date) as dates
            from (
                select i.infraction_type_id as type_id, {kind} as own_type,
                    i.infraction_name_id as name_id, {name} as own_name, i.created_date
                from infractions i where i.company_id = u.company_id and i.url_id = u.id order by i.id
            ) i
        ) i on true
        where u.company_id = {company} and u.id = p.id limit 1"
    )
}

/// Reads the row of [`query`] from the column `first` on.
pub(crate) fn read(row: &PgRow, first: usize) -> Result<ComplianceUrl, sqlx::Error> {
    let columns = &mut Columns::from(row, first);
    Ok(ComplianceUrl {
        id: columns.take()?,
        url: columns.take()?,
        domain: columns.take()?,
        incident_status: columns.name(Vocabulary::UrlIncidentStatus)?,
        disabled: columns.take()?,
        false_positive: columns.take()?,
        country: columns.country()?,
        discovery_date: columns.moment()?,
        last_review_date: columns.moment()?,
        last_crawl_date: columns.moment()?,
        last_seen: columns.moment()?,
        affiliate_name: columns.take()?,
        affiliate_id: columns.take()?,
        sub_affiliate_id: columns.take()?,
        owner_email: columns.take()?,
        social_one: columns.take()?,
        social_two: columns.take()?,
        social_three: columns.take()?,
        phone_one: columns.take()?,
        phone_two: columns.take()?,
        landing_page: columns.take()?,
        case_id: columns.take()?,
        note: columns.take()?,
        video_path: columns.take()?,
        transcription_text: columns.take()?,
        transcription_status: columns.name(Vocabulary::TranscriptionStatus)?,
        infractions: infractions(columns)?,
    })
}

fn infractions(columns: &mut Columns<'_>) -> Result<Vec<Infraction>, sqlx::Error> {
    let types = columns.names(Vocabulary::InfractionType)?;
    let names = columns.names(Vocabulary::InfractionName)?;
    let dates = columns.take::<Option<Vec<OffsetDateTime>>>()?.unwrap_or_default();
    let rows = types.into_iter().zip(names).zip(dates);
    Ok(rows
        .map(|((infraction_type, infraction_name), date)| Infraction {
            infraction_type,
            infraction_name,
            created_date: Some(timestamp(date)),
        })
        .collect())
}
