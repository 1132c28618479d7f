//! A case as it is read: its own columns, its affiliate's current data and its incidents, in one row.

use compliance_api::{
    record::Record,
    v1::{ComplianceCase, Incident},
};
use sqlx::{Row as _, postgres::PgRow};
use storage::table::{Reader, selection};

use crate::infraction_lists;

/// A query for a form of the case of a company and an ID, which are given as SQL.
///
/// A case always has its affiliate, but an inner join would let the planner look the case up in the index on affiliates. The
/// affiliate is looked up by itself: a plan that was made for an empty table could join all of the company instead.
pub(crate) fn query<R: Record>(company: &str, id: &str) -> String {
    let upline_name = format!(
        "(select up.affiliate_name from affiliates up
        where up.company_id = {company} and up.client_affiliate_id = a.upline order by up.id limit 1)"
    );
    let aliases = [("compliance_cases", "u"), ("affiliates", "a")];
    let columns = selection::<R>(company, &aliases, &[("upline_name", &upline_name)]);
    let lists = "array_agg(id) as incident_ids, array_agg(incident_type) as incident_types";
    let from = format!("incidents i where i.company_id = {company} and i.case_id = u.id");
    let incidents = infraction_lists::query(company, "i.id, i.incident_type", lists, &from);
    format!(
        "select {columns}, i.*
        from compliance_cases u
        left join lateral (
            select a.* from affiliates a where a.company_id = {company} and a.id = u.affiliate_id limit 1
        ) a on true
        left join lateral ({incidents}) i on true
        where u.company_id = {company} and u.id = {id} limit 1"
    )
}

/// Reads a row of [`query`].
pub(crate) fn read(reader: &Reader<ComplianceCase>, row: &PgRow) -> Result<ComplianceCase, sqlx::Error> {
    Ok(ComplianceCase { incidents: incidents(row)?, ..reader.read(row)? })
}

/// Reads the incidents of a row of [`query`].
pub(crate) fn incidents(row: &PgRow) -> Result<Vec<Incident>, sqlx::Error> {
    let ids = row.try_get::<Option<Vec<i64>>, _>("incident_ids")?.unwrap_or_default();
    let types = row.try_get::<Option<Vec<i16>>, _>("incident_types")?.unwrap_or_default();
    let incidents = ids.into_iter().zip(types).zip(infraction_lists::read(row)?);
    let incidents = incidents.map(|((incident_id, kind), (infraction_type, infraction_name))| Incident {
        incident_id,
        incident_type: kind.into(),
        infraction_type,
        infraction_name,
    });
    Ok(incidents.collect())
}
