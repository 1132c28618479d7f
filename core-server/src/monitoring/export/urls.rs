//! The URLs of a company as observations.

use std::sync::LazyLock;

use compliance_api::v1::{ExportUrlsResponse, InfractionInput, UrlObservation};
use sqlx::postgres::PgRow;

use super::PAGE_SIZE;
use crate::{
    record_pages::RecordPage,
    table::{Reader, read_all},
    urls::record,
};

/// A page: of the company $1, with IDs above $2, of at most $3 records.
static PAGE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "select p.id as last_id, r.*
        from (select u.id from compliance_urls u where u.company_id = $1 and u.id > $2 order by u.id limit $3) p
        cross join lateral ({}) r
        order by p.id",
        record::query_as::<UrlObservation>("$1")
    )
});

impl RecordPage for ExportUrlsResponse {
    const SIZE: i64 = PAGE_SIZE;

    fn statement() -> &'static str {
        &PAGE
    }

    fn read(rows: &[PgRow], last_url_id: i64) -> Result<Self, sqlx::Error> {
        Ok(Self { observations: read_all(rows, observation)?, last_url_id })
    }
}

fn observation(reader: &Reader<UrlObservation>, row: &PgRow) -> Result<UrlObservation, sqlx::Error> {
    let infractions = record::infractions(row)?.into_iter().map(|infraction| InfractionInput {
        infraction_type: infraction.infraction_type,
        infraction_name: infraction.infraction_name,
        created_date: infraction.created_date,
    });
    // Another company has other IDs.
    Ok(UrlObservation { infractions: infractions.collect(), affiliate_id: None, ..reader.read(row)? })
}
