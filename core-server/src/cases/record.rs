//! A case as it is read: its own columns, its affiliate's current data and its incidents, in one row.

use compliance_api::{
    catalogue::Vocabulary,
    v1::{ComplianceCase, Incident},
};
use sqlx::postgres::PgRow;

use crate::{rows::Columns, vocabulary::own_name};

/// A query for the case of a company, which is given as SQL, and of the ID `p.id`; [`read`] reads its row.
///
/// A case always has its affiliate, but an inner join would let the planner look the case up in the index on affiliates.
pub(crate) fn query(company: &str) -> String {
    let own = |vocabulary, id| own_name(vocabulary, "u.company_id", id);
    let status = own(Vocabulary::CaseStatus, "u.case_status_id");
    let sub_status = own(Vocabulary::CaseSubStatus, "u.sub_status_id");
    let notice = own(Vocabulary::NoticeStatus, "u.notice_status_id");
    let risk = own(Vocabulary::RiskLevel, "u.risk_level_id");
    let kind = own_name(Vocabulary::InfractionType, "i.company_id", "i.infraction_type_id");
    let name = own_name(Vocabulary::InfractionName, "i.company_id", "i.infraction_name_id");
    format!(
        "select u.id as record_id, u.case_worker, u.tags, u.case_status_id, {status}, u.sub_status_id, {sub_status},
            u.submitter, u.notice_status_id, {notice}, u.risk_level_id, {risk}, u.case_country, u.sub_affiliate_id,
            u.created_date, u.reviewed_date, u.resolved_date, u.first_action_date, u.flagged_date, u.follow_up_date,
            u.closed_date,
            a.affiliate_name, a.client_affiliate_id, a.merchant_type, a.first_name, a.last_name, a.status, a.ranking,
            a.start_date::text, a.language_used, a.territory, a.notes, a.email_one, a.email_two, a.phone_one,
            a.phone_two, a.address, a.city, a.state, a.zip, a.country, a.facebook, a.youtube, a.twitter, a.tiktok,
            a.pintrest, a.replicated_website, a.sponsor_id, a.upline,
            (
                select up.affiliate_name from affiliates up
                where up.company_id = a.company_id and up.client_affiliate_id = a.upline order by up.id limit 1
            ),
            u.last_updated_date,
            i.ids, i.kinds, i.types, i.own_types, i.names, i.own_names
        from compliance_cases u
        left join affiliates a on a.company_id = u.company_id and a.id = u.affiliate_id
        left join lateral (
            select array_agg(id) as ids, array_agg(incident_type) as kinds,
                array_agg(type_id) as types, array_agg(own_type) as own_types,
                array_agg(name_id) as names, array_agg(own_name) as own_names
            from (
                select i.id, i.incident_type, i.infraction_type_id as type_id, {kind} as own_type,
                    i.infraction_name_id as name_id, {name} as own_name
                from incidents i where i.company_id = u.company_id and i.case_id = u.id order by i.id
            ) i
        ) i on true
        where u.company_id = {company} and u.id = p.id limit 1"
    )
}

/// Reads the row of [`query`] from the column `first` on.
pub(crate) fn read(row: &PgRow, first: usize) -> Result<ComplianceCase, sqlx::Error> {
    let columns = &mut Columns::from(row, first);
    Ok(ComplianceCase {
        case_id: columns.take()?,
        case_worker: columns.take()?,
        tags: columns.take()?,
        case_status: columns.name(Vocabulary::CaseStatus)?,
        sub_status: columns.name(Vocabulary::CaseSubStatus)?,
        submitter: columns.take()?,
        notice_status: columns.name(Vocabulary::NoticeStatus)?,
        risk_level: columns.name(Vocabulary::RiskLevel)?,
        case_country: columns.country()?,
        sub_affiliate_id: columns.take()?,
        created_date: columns.moment()?,
        reviewed_date: columns.moment()?,
        resolved_date: columns.moment()?,
        first_action_date: columns.moment()?,
        flagged_date: columns.moment()?,
        follow_up_date: columns.moment()?,
        closed_date: columns.moment()?,
        affiliate_name: columns.take()?,
        affiliate_id: columns.take()?,
        merchant_type: columns.take()?,
        first_name: columns.take()?,
        last_name: columns.take()?,
        status: columns.take()?,
        ranking: columns.take()?,
        start_date: columns.take()?,
        language_used: columns.take()?,
        territory: columns.take()?,
        notes: columns.take()?,
        email_one: columns.take()?,
        email_two: columns.take()?,
        phone_one: columns.take()?,
        phone_two: columns.take()?,
        address: columns.take()?,
        city: columns.take()?,
        state: columns.take()?,
        zip: columns.take()?,
        affiliate_country: columns.country()?,
        facebook: columns.take()?,
        youtube: columns.take()?,
        twitter: columns.take()?,
        tiktok: columns.take()?,
        pintrest: columns.take()?,
        replicated_website: columns.take()?,
        sponsor: columns.take()?,
        upline: columns.take()?,
        upline_name: columns.take()?,
        last_updated_date: columns.moment()?,
        incidents: incidents(columns)?,
    })
}

fn incidents(columns: &mut Columns<'_>) -> Result<Vec<Incident>, sqlx::Error> {
    let ids = columns.take::<Option<Vec<i64>>>()?.unwrap_or_default();
    let kinds = columns.take::<Option<Vec<i16>>>()?.unwrap_or_default();
    let types = columns.names(Vocabulary::InfractionType)?;
    let names = columns.names(Vocabulary::InfractionName)?;
    let rows = ids.into_iter().zip(kinds).zip(types).zip(names);
    Ok(rows
        .map(|(((incident_id, kind), infraction_type), infraction_name)| Incident {
            incident_id,
            incident_type: kind.into(),
            infraction_type,
            infraction_name,
        })
        .collect())
}
