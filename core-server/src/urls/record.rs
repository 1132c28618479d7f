//! A URL as it is read: its own columns, its affiliate's names and its infractions, in one row.

use compliance_api::{
    record::Record,
    v1::{ComplianceUrl, Infraction},
};
use sqlx::{Row as _, postgres::PgRow};
use storage::table::{Reader, Shown, selection, timestamp};

use crate::infraction_lists;

/// A query for a form of the URL of a company and an ID, which are given as SQL.
///
/// The affiliate is looked up by itself: a plan that was made for an empty table could join all of the company instead.
pub(crate) fn query<R: Record>(company: &str, id: &str) -> String {
    let columns = selection::<R>(company, &[("compliance_urls", "u"), ("affiliates", "a")], &[]);
    let dates = "array_agg(created_date) as infraction_dates";
    let from = format!("infractions i where i.company_id = {company} and i.url_id = u.id");
    let infractions = infraction_lists::query(company, "i.created_date", dates, &from);
    format!(
        "select {columns}, i.*
        from compliance_urls u
        left join lateral (
            select a.* from affiliates a where a.company_id = {company} and a.id = u.affiliate_id limit 1
        ) a on true
        left join lateral ({infractions}) i on true
        where u.company_id = {company} and u.id = {id} limit 1"
    )
}

/// Reads a row of [`query`].
pub(crate) fn read(reader: &Reader<ComplianceUrl>, row: &PgRow) -> Result<ComplianceUrl, sqlx::Error> {
    Ok(ComplianceUrl { infractions: infractions(row)?, ..reader.read(row)? })
}

/// Reads the infractions of a row of [`query`].
pub(crate) fn infractions(row: &PgRow) -> Result<Vec<Infraction>, sqlx::Error> {
    let dates = row.try_get::<Option<Vec<Shown>>, _>("infraction_dates")?.unwrap_or_default();
    let infractions = infraction_lists::read(row)?.zip(dates);
    let infractions = infractions.map(|((infraction_type, infraction_name), date)| Infraction {
        infraction_type,
        infraction_name,
        created_date: date.0.map(timestamp),
    });
    Ok(infractions.collect())
}
