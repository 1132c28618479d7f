//! The URLs of a company as observations.

use std::sync::LazyLock;

use compliance_api::v1::{ComplianceUrl, ExportUrlsResponse, InfractionInput, UrlObservation};
use sqlx::postgres::PgRow;

use super::{Export, alpha2};
use crate::{table::read_all, urls};

/// A page: of the company $1, with IDs above $2, of at most $3 records.
static PAGE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "select p.id as last_id, r.*
        from (select u.id from compliance_urls u where u.company_id = $1 and u.id > $2 order by u.id limit $3) p
        cross join lateral ({}) r
        order by p.id",
        urls::record::query("$1")
    )
});

impl Export for ExportUrlsResponse {
    fn statement() -> &'static str {
        &PAGE
    }

    fn read(rows: &[PgRow], last_url_id: i64) -> Result<Self, sqlx::Error> {
        let urls = read_all(rows, urls::record::read)?;
        Ok(Self { observations: urls.into_iter().map(observation).collect(), last_url_id })
    }
}

fn observation(url: ComplianceUrl) -> UrlObservation {
    let infractions = url.infractions.into_iter().map(|infraction| InfractionInput {
        infraction_type: infraction.infraction_type,
        infraction_name: infraction.infraction_name,
        created_date: infraction.created_date,
    });
    UrlObservation {
        url: Some(url.url),
        incident_status: url.incident_status,
        disabled: Some(url.disabled),
        false_positive: url.false_positive,
        country: alpha2(url.country),
        discovery_date: url.discovery_date,
        last_review_date: url.last_review_date,
        last_crawl_date: url.last_crawl_date,
        last_seen: url.last_seen,
        client_affiliate_id: url.affiliate_id,
        affiliate_id: None,
        sub_affiliate_id: url.sub_affiliate_id,
        owner_email: url.owner_email,
        social_one: url.social_one,
        social_two: url.social_two,
        social_three: url.social_three,
        phone_one: url.phone_one,
        phone_two: url.phone_two,
        landing_page: url.landing_page,
        note: url.note,
        video_path: url.video_path,
        transcription_text: url.transcription_text,
        transcription_status: url.transcription_status,
        infractions: infractions.collect(),
        clear: Vec::new(),
    }
}
