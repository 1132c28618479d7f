//! Adding URLs: one statement for a whole request.

use crate::database::Connections;
use compliance_api::{
    error::Error,
    rules::normalised_url,
    v1::{ResultCode, UrlInput, UrlResult},
};
use sha2::{Digest as _, Sha256};

use crate::error::{from_database, is_contention};

/// How often a request that collides with another one is tried.
const TRIES: u32 = 5;

/// What a URL is known by: the digest of its normalised form, and its host. `None` when it is no URL.
pub(crate) fn identity(url: &str) -> Option<([u8; 32], Option<String>)> {
    let normalised = normalised_url(url)?;
    Some((Sha256::digest(normalised.as_str()).into(), normalised.host_str().map(str::to_owned)))
}

/// URLs to be inserted, a list for each column.
#[derive(Default)]
struct Inputs {
    urls: Vec<String>,
    hashes: Vec<Vec<u8>>,
    domains: Vec<Option<String>>,
}

/// A URL that was inserted.
struct Added {
    /// Its position in the request, from 1.
    position: i64,
    id: i64,
}

/// Adds URLs that were checked; one result each, in their order.
pub(super) async fn add(pool: &Connections, company_id: i64, urls: Vec<UrlInput>) -> Result<Vec<UrlResult>, Error> {
    let mut inputs = Inputs::default();
    for url in urls.into_iter().filter_map(|input| input.url) {
        let (hash, domain) = identity(&url).ok_or_else(Error::internal)?;
        inputs.urls.push(url);
        inputs.hashes.push(hash.into());
        inputs.domains.push(domain);
    }
    let duplicate = UrlResult {
        code: ResultCode::Duplicate.into(),
        url_id: None,
        msg: "This URL already exists and was skipped.".to_owned(),
    };
    let mut results = vec![duplicate; inputs.urls.len()];
    for Added { position, id } in insert(pool, company_id, &inputs).await? {
        if let Some(result) = usize::try_from(position - 1).ok().and_then(|index| results.get_mut(index)) {
            let msg = "URL added successfully.".to_owned();
            *result = UrlResult { code: ResultCode::Saved.into(), url_id: Some(id), msg };
        }
    }
    Ok(results)
}

async fn insert(pool: &Connections, company_id: i64, inputs: &Inputs) -> Result<Vec<Added>, Error> {
    let Inputs { urls, hashes, domains } = inputs;
    let mut tries = 0;
    loop {
        tries += 1;
        let query =
            sqlx::query_file_as!(Added, "src/urls/add.sql", company_id, urls, hashes, domains as &[Option<String>]);
        match query.fetch_all(pool).await {
            Ok(added) => return Ok(added),
            Err(error) if tries < TRIES && is_contention(&error) => tracing::debug!("URLs are added again: {error}"),
            Err(error) => return Err(from_database(&error)),
        }
    }
}
