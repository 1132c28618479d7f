//! The search for URLs.

use std::sync::LazyLock;

use compliance_api::{
    error::Error,
    v1::{ComplianceUrl, SearchComplianceUrlsRequest},
};
use storage::template::fill;

use super::record;
use crate::{
    lists::{Records, Source, read_records},
    record_query::Place,
    search,
};

static SEARCH: LazyLock<&'static str> = LazyLock::new(|| {
    let record = record::query::<ComplianceUrl>(&Place::now("$1", "p.id"));
    fill(include_str!("search.sql"), &[("record", &record)]).leak()
});

/// The statement, with the types of its parameters.
pub(crate) fn search_statement() -> (&'static str, &'static str) {
    (*SEARCH, search::TYPES)
}

/// The last URLs that contain a text, newest first.
pub(super) async fn search(
    source: Source,
    request: &SearchComplianceUrlsRequest,
) -> Result<Records<ComplianceUrl>, Error> {
    let SearchComplianceUrlsRequest { q, limit } = request;
    let company_id = source.company_id;
    read_records(source, || search::query(*SEARCH, company_id, q, *limit), record::read).await
}
