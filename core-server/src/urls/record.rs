//! A URL as it is read: its own columns, its affiliate's names and its infractions, in one row.

use compliance_api::{
    catalogue::Vocabulary,
    v1::{ComplianceUrl, Infraction},
};
use sqlx::{Row as _, postgres::PgRow};
use time::OffsetDateTime;

use crate::{
    table::{Reader, names_in_list, selection, timestamp},
    vocabulary::own_name,
};

/// A query for the URL of a company, which is given as SQL, and of the ID `p.id`; [`read`] reads its row.
pub(crate) fn query(company: &str) -> String {
    let columns = selection::<ComplianceUrl>(&[("compliance_urls", "u"), ("affiliates", "a")], &[]);
    let kind = own_name(Vocabulary::InfractionType, "i.company_id", "i.infraction_type_id");
    let name = own_name(Vocabulary::InfractionName, "i.company_id", "i.infraction_name_id");
    format!(
        "select {columns}, i.*
        from compliance_urls u
        left join affiliates a on a.company_id = u.company_id and a.id = u.affiliate_id
        left join lateral (
            select array_agg(type_id) as infraction_types, array_agg(own_type) as own_infraction_types,
                array_agg(name_id) as infraction_names, array_agg(own_name) as own_infraction_names,
                array_agg(created_date) as infraction_dates
            from (
                select i.infraction_type_id as type_id, {kind} as own_type,
                    i.infraction_name_id as name_id, {name} as own_name, i.created_date
                from infractions i where i.company_id = u.company_id and i.url_id = u.id order by i.id
            ) i
        ) i on true
        where u.company_id = {company} and u.id = p.id limit 1"
    )
}

/// Reads a row of [`query`].
pub(crate) fn read(reader: &Reader<ComplianceUrl>, row: &PgRow) -> Result<ComplianceUrl, sqlx::Error> {
    Ok(ComplianceUrl { infractions: infractions(row)?, ..reader.read(row)? })
}

fn infractions(row: &PgRow) -> Result<Vec<Infraction>, sqlx::Error> {
    let Some(dates) = row.try_get::<Option<Vec<OffsetDateTime>>, _>("infraction_dates")? else {
        return Ok(Vec::new());
    };
    let types = names_in_list(row, "infraction_types", Vocabulary::InfractionType)?;
    let names = names_in_list(row, "infraction_names", Vocabulary::InfractionName)?;
    let rows = types.into_iter().zip(names).zip(dates);
    Ok(rows
        .map(|((infraction_type, infraction_name), date)| Infraction {
            infraction_type,
            infraction_name,
            created_date: Some(timestamp(date)),
        })
        .collect())
}
