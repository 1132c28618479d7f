//! A case as it is read: its own columns, its affiliate's current data and its incidents, in one row.

use compliance_api::{
    catalogue::Vocabulary,
    v1::{ComplianceCase, Incident},
};
use sqlx::{Row as _, postgres::PgRow};

use crate::{
    table::{Reader, names_in_list, selection},
    vocabulary::own_name,
};

/// The name of the affiliate that a case's affiliate has as its upline.
const UPLINE_NAME: &str = "(
        select up.affiliate_name from affiliates up
        where up.company_id = a.company_id and up.client_affiliate_id = a.upline order by up.id limit 1
    )";

/// A query for the case of a company, which is given as SQL, and of the ID `p.id`; [`read`] reads its row.
///
/// A case always has its affiliate, but an inner join would let the planner look the case up in the index on affiliates.
pub(crate) fn query(company: &str) -> String {
    let aliases = [("compliance_cases", "u"), ("affiliates", "a")];
    let columns = selection::<ComplianceCase>(&aliases, &[("upline_name", UPLINE_NAME)]);
    let kind = own_name(Vocabulary::InfractionType, "i.company_id", "i.infraction_type_id");
    let name = own_name(Vocabulary::InfractionName, "i.company_id", "i.infraction_name_id");
    format!(
        "select {columns}, i.*
        from compliance_cases u
        left join affiliates a on a.company_id = u.company_id and a.id = u.affiliate_id
        left join lateral (
            select array_agg(id) as incident_ids, array_agg(incident_type) as incident_types,
                array_agg(type_id) as infraction_types, array_agg(own_type) as own_infraction_types,
                array_agg(name_id) as infraction_names, array_agg(own_name) as own_infraction_names
            from (
                select i.id, i.incident_type, i.infraction_type_id as type_id, {kind} as own_type,
                    i.infraction_name_id as name_id, {name} as own_name
                from incidents i where i.company_id = u.company_id and i.case_id = u.id order by i.id
            ) i
        ) i on true
        where u.company_id = {company} and u.id = p.id limit 1"
    )
}

/// Reads a row of [`query`].
pub(crate) fn read(reader: &Reader<ComplianceCase>, row: &PgRow) -> Result<ComplianceCase, sqlx::Error> {
    Ok(ComplianceCase { incidents: incidents(row)?, ..reader.read(row)? })
}

fn incidents(row: &PgRow) -> Result<Vec<Incident>, sqlx::Error> {
    let Some(ids) = row.try_get::<Option<Vec<i64>>, _>("incident_ids")? else { return Ok(Vec::new()) };
    let kinds = row.try_get::<Option<Vec<i16>>, _>("incident_types")?.unwrap_or_default();
    let types = names_in_list(row, "infraction_types", Vocabulary::InfractionType)?;
    let names = names_in_list(row, "infraction_names", Vocabulary::InfractionName)?;
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
