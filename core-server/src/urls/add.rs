//! Adding URLs: one statement for a whole request.

use crate::database::Connections;
use compliance_api::{
    error::Error,
    rules::normalised_url,
    v1::{ResultCode, UrlInput, UrlResult},
};
use sha2::{Digest as _, Sha256};

use crate::error::{from_database, is_contention};

/// How often a request that got in another's way is tried.
const TRIES: u32 = 5;

/// Numbers the URLs in the order sent and inserts them in the order of their hashes, so that two requests that cross
/// do not wait for each other. Of two equal URLs the first is inserted. Answers with the place and ID of each that was.
const ADD: &str = "
    with input as materialized (
        select ord, nextval('compliance_urls_id_seq') as id, url, url_hash, domain
        from unnest($2::text[], $3::bytea[], $4::text[]) with ordinality as input (url, url_hash, domain, ord)
    ), inserted as (
        insert into compliance_urls (company_id, id, url, url_hash, domain)
        select $1, id, url, url_hash, domain from input order by url_hash, ord
        on conflict (company_id, url_hash) where url_hash is not null do nothing
        returning id
    )
    select ord, id from inserted join input using (id)";

/// What a URL is known by: the digest of its normalised form, and its host. `None` when it is no URL.
pub(crate) fn identity(url: &str) -> Option<([u8; 32], Option<String>)> {
    let normalised = normalised_url(url)?;
    Some((Sha256::digest(normalised.as_str()).into(), normalised.host_str().map(str::to_owned)))
}

/// Adds URLs that were checked; one result each, in their order.
pub(super) async fn add(pool: &Connections, company_id: i64, urls: Vec<UrlInput>) -> Result<Vec<UrlResult>, Error> {
    let (mut texts, mut hashes, mut domains) = (Vec::new(), Vec::new(), Vec::new());
    for url in urls.into_iter().filter_map(|input| input.url) {
        let (hash, domain) = identity(&url).ok_or_else(Error::internal)?;
        texts.push(url);
        hashes.push(hash);
        domains.push(domain);
    }
    let duplicate = UrlResult {
        code: ResultCode::Duplicate.into(),
        url_id: None,
        msg: "This URL already exists and was skipped.".to_owned(),
    };
    let mut results = vec![duplicate; texts.len()];
    for (place, id) in insert(pool, company_id, &texts, &hashes, &domains).await? {
        if let Some(result) = usize::try_from(place - 1).ok().and_then(|place| results.get_mut(place)) {
            let msg = "URL added successfully.".to_owned();
            *result = UrlResult { code: ResultCode::Saved.into(), url_id: Some(id), msg };
        }
    }
    Ok(results)
}

async fn insert(
    pool: &Connections,
    company_id: i64,
    texts: &[String],
    hashes: &[[u8; 32]],
    domains: &[Option<String>],
) -> Result<Vec<(i64, i64)>, Error> {
    // Borrowed, like everything that is bound here.
    let hashes: Vec<&[u8]> = hashes.iter().map(<[u8; 32]>::as_slice).collect();
    let mut tries = 0;
    loop {
        tries += 1;
        let query = sqlx::query_as(ADD).bind(company_id).bind(texts).bind(&hashes).bind(domains);
        match query.fetch_all(pool).await {
            Ok(added) => return Ok(added),
            Err(error) if tries < TRIES && is_contention(&error) => tracing::debug!("URLs are added again: {error}"),
            Err(error) => return Err(from_database(&error)),
        }
    }
}
