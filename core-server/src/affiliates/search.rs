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
use storage::table::Reader;

static SEARCH: LazyLock<&'static str> = LazyLock::new(|| {
    let columns = columns();
    format!(
        "select {columns} from affiliates a
        where a.company_id = $1 and (a.affiliate_name ~ (select $2) or a.client_affiliate_id ~ (select $2))
        order by a.id
        limit (select $3)"
    )
    .leak()
});

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
