//! Reads a URL: its columns, its affiliate's names and its infractions, in one row.

use compliance_api::{
    record::Record,
    v1::{ComplianceUrl, Infraction},
};
use sqlx::{Row as _, postgres::PgRow};
use storage::table::{Reader, Shown, selection, timestamp};

use crate::record_query::{Place, own_names, read_infractions};

/// A query for a form of a URL.
pub(crate) fn query<R: Record>(place: &Place) -> String {
    let columns = selection::<R>(place.company, &[("compliance_urls", "u"), ("affiliates", "a")], &[]);
    let [own_type, own_name] = own_names(place.company);
    let parts = [("columns", &*columns), ("own_type", &own_type), ("own_name", &own_name)];
    place.fill(include_str!("record.sql"), &parts)
}

/// Reads a row of [`query`].
pub(crate) fn read(reader: &Reader<ComplianceUrl>, row: &PgRow) -> Result<ComplianceUrl, sqlx::Error> {
    Ok(ComplianceUrl { infractions: infractions(row)?, ..reader.read(row)? })
}

/// Reads the infractions of a row of [`query`].
pub(crate) fn infractions(row: &PgRow) -> Result<Vec<Infraction>, sqlx::Error> {
    let dates = row.try_get::<Option<Vec<Shown>>, _>("infraction_dates")?.unwrap_or_default();
    let infractions = read_infractions(row)?.zip(dates);
    let infractions = infractions.map(|((infraction_type, infraction_name), date)| Infraction {
        infraction_type,
        infraction_name,
        created_date: date.0.map(timestamp),
    });
    Ok(infractions.collect())
}
