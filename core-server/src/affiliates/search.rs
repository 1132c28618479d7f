//! The search for affiliates.

use std::sync::LazyLock;

use compliance_api::{
    error::Error,
    v1::{Affiliate, SearchAffiliatesRequest},
};

use super::read::columns;
use crate::{
    lists::{Records, Source, read_records},
    search,
};
use storage::{table::Reader, template::fill};

static SEARCH: LazyLock<&'static str> =
    LazyLock::new(|| fill(include_str!("sql/search.sql"), &[("columns", &columns())]).leak());

/// The statement, with the types of its parameters.
pub(crate) fn search_statement() -> (&'static str, &'static str) {
    (*SEARCH, search::TYPES)
}

/// The first affiliates whose name or client identifier contains a text, by ID.
pub(super) async fn search(source: Source, request: &SearchAffiliatesRequest) -> Result<Records<Affiliate>, Error> {
    let SearchAffiliatesRequest { q, limit } = request;
    let company_id = source.company_id;
    read_records(source, || search::query(*SEARCH, company_id, q, *limit), Reader::<Affiliate>::read).await
}
