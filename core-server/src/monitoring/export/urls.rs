//! The URLs of a company as observations.

use std::sync::LazyLock;

use compliance_api::v1::{ExportUrlsResponse, InfractionInput, UrlObservation};
use sqlx::postgres::PgRow;

use crate::{
    record_pages::RecordPage,
    table::{Reader, read_all},
    urls::record,
};

/// Transcribed text on a page, in bytes: after it, the page has no further record.
const PAGE_BYTES: usize = 2 << 20;

/// A page: of the company $1, with IDs above $2, of at most $3 records. The length of a stored text is known without
/// reading it.
static PAGE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "select p.id as last_id, r.*
        from (
            select u.id, sum(octet_length(u.transcription_text)) over (
                order by u.id rows between unbounded preceding and 1 preceding
            ) as bytes_before
            from (
                select u.id, u.transcription_text from compliance_urls u
                where u.company_id = $1 and u.id > $2 order by u.id limit $3
            ) u
        ) p
        cross join lateral ({}) r
        where p.bytes_before is null or p.bytes_before < {PAGE_BYTES}
        order by p.id",
        record::query_as::<UrlObservation>("$1")
    )
});

impl RecordPage for ExportUrlsResponse {
    const MAY_BE_SHORT: bool = true;

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
