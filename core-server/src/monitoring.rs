//! The operations of internal services: crawlers, case tools and migrations write what partners read.
//!
//! Each operation is one statement for a whole request, or for one chunk of a stream. Items are checked and their names are resolved
//! first, so only invalid items are rejected.

mod cases;
mod context;
mod export;
mod field_updates;
mod incidents;
mod infractions;
mod items;
mod names;
mod observations;
mod reviews;
mod service;
mod vocabularies;

pub(crate) use service::Monitoring;

use compliance_api::v1::{CaseInput, ExportCasesResponse, ExportUrlsResponse, UrlObservation, UrlReview};
use storage::table::Expected;

use crate::lists::RecordPage as _;

/// The statements that write batches, with the types of their parameters.
pub(crate) const WRITE_STATEMENTS: [(&str, &str); 7] = [
    (include_str!("monitoring/observations/save.sql"), "bigint, url_observation_input[], text"),
    (include_str!("monitoring/cases/open.sql"), "bigint, case_input[], text, bigint[]"),
    (include_str!("monitoring/infractions/record.sql"), "bigint, infraction_input[], text"),
    (include_str!("monitoring/infractions/withdraw.sql"), "bigint, infraction_input[], text"),
    (include_str!("monitoring/incidents/attach.sql"), "bigint, bigint, incident_input[], bigint, text"),
    (include_str!("monitoring/incidents/detach.sql"), "bigint, bigint, incident_key_input[], text"),
    (
        include_str!("monitoring/vocabularies/add.sql"),
        "bigint, vocabulary_entry_input[], smallint, smallint, bigint, text",
    ),
];

/// The statements that change one record or read what a write refers to, with the types of their parameters.
pub(crate) const SMALL_STATEMENTS: [(&str, &str); 4] = [
    (include_str!("monitoring/cases/update.sql"), "bigint, bigint, case_input[], integer[], integer[], bigint[], text"),
    (include_str!("monitoring/reviews/review.sql"), "bigint, bigint, url_review_input[], boolean, text"),
    (include_str!("monitoring/names.sql"), "bigint"),
    (include_str!("monitoring/observations/affiliates.sql"), "bigint, bigint[], text[]"),
];

/// The statements that read pages of an export, with the types of their parameters.
pub(crate) fn export_statements() -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = [ExportUrlsResponse::statement, ExportCasesResponse::statement];
    all.into_iter().flat_map(|statement| {
        [(statement(&(), false), "bigint, bigint, bigint"), (statement(&(), true), "bigint, bigint, bigint, bigint[]")]
    })
}

/// Adds the tables and types that the statements expect.
pub(crate) fn expect(expected: Expected) -> Expected {
    expected
        .record::<UrlObservation>()
        .record::<UrlReview>()
        .record::<CaseInput>()
        .composite(&observations::INPUT)
        .composite(&reviews::INPUT)
        .composite(&infractions::INPUT)
        .composite(&cases::INPUT)
        .composite(&incidents::INPUT)
        .composite(&incidents::KEY_INPUT)
        .composite(&vocabularies::INPUT)
}
