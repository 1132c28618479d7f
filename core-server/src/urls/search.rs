//! The search for URLs.

use std::sync::LazyLock;

use compliance_api::{
    error::Error,
    v1::{ComplianceUrl, SearchComplianceUrlsRequest},
};

use super::record;
use crate::{
    lists::{Records, Source, read_records},
    search,
};

static SEARCH: LazyLock<&'static str> = LazyLock::new(|| {
    format!(
        r#"select r.*
        from (
            select u.id from compliance_urls u
            where u.company_id = $1 and u.url collate "C" ~ (select $2)
            order by u.id desc
            limit (select $3)
        ) p
        cross join lateral ({}) r
        order by p.id desc"#,
        record::query::<ComplianceUrl>("$1", "p.id")
    )
    .leak()
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
