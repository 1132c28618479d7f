//! Reads a case: its columns, its affiliate's current data and its incidents, in one row.

use compliance_api::{
    record::Record,
    v1::{ComplianceCase, Incident},
};
use sqlx::{Row as _, postgres::PgRow};
use storage::table::{Reader, selection};

use crate::record_query::{Place, own_names, read_infractions};

/// A query for a form of a case.
pub(crate) fn query<R: Record>(place: &Place) -> String {
    let upline_name = place.fill(include_str!("upline_name.sql"), &[]);
    let aliases = [("compliance_cases", "u"), ("affiliates", "a")];
    let columns = selection::<R>(place.company, &aliases, &[("upline_name", &upline_name)]);
    let [own_type, own_name] = own_names(place.company);
    let parts = [("columns", &*columns), ("own_type", &own_type), ("own_name", &own_name)];
    place.fill(include_str!("record.sql"), &parts)
}

/// Reads a row of [`query`].
pub(crate) fn read(reader: &Reader<ComplianceCase>, row: &PgRow) -> Result<ComplianceCase, sqlx::Error> {
    Ok(ComplianceCase { incidents: incidents(row)?, ..reader.read(row)? })
}

/// Reads the incidents of a row of [`query`].
pub(crate) fn incidents(row: &PgRow) -> Result<Vec<Incident>, sqlx::Error> {
    let ids = row.try_get::<Option<Vec<i64>>, _>("incident_ids")?.unwrap_or_default();
    let types = row.try_get::<Option<Vec<i16>>, _>("incident_types")?.unwrap_or_default();
    let url_ids = row.try_get::<Option<Vec<Option<i64>>>, _>("incident_url_ids")?.unwrap_or_default();
    let urls = row.try_get::<Option<Vec<Option<String>>>, _>("incident_urls")?.unwrap_or_default();
    let references = row.try_get::<Option<Vec<Option<String>>>, _>("incident_references")?.unwrap_or_default();
    let contents = url_ids.into_iter().zip(urls).zip(references);
    let incidents = ids.into_iter().zip(types).zip(read_infractions(row)?).zip(contents);
    let incidents =
        incidents.map(|(((incident_id, kind), (infraction_type, infraction_name)), ((url_id, url), reference))| {
            Incident {
                incident_id,
                incident_type: kind.into(),
                infraction_type,
                infraction_name,
                url_id,
                url,
                reference,
            }
        });
    Ok(incidents.collect())
}
