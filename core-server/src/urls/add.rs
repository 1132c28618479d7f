//! Adding URLs: one statement for a whole request.

use crate::database::Connections;
use compliance_api::{
    error::Error,
    rules::normalised_url,
    v1::{ResultCode, UrlInput, UrlResult},
};
use sha2::{Digest as _, Sha256};

use crate::error::is_contention;

/// What a URL is known by: the digest of its normalised form, and its host. `None` when it is no URL.
pub(crate) fn identity(url: &str) -> Option<([u8; 32], Option<String>)> {
    let normalised = normalised_url(url)?;
    Some((Sha256::digest(normalised.as_str()).into(), normalised.host_str().map(str::to_owned)))
}

/// A URL that was inserted.
struct Added {
    /// Its position in the request, from 1.
    position: i64,
    id: i64,
}

/// Adds URLs that were checked; one result each, in their order.
pub(super) async fn add(pool: &Connections, company_id: i64, urls: Vec<UrlInput>) -> Result<Vec<UrlResult>, Error> {
    let urls: Vec<String> = urls.into_iter().filter_map(|input| input.url).collect();
    let identities = urls.iter().map(|url| identity(url).map(|(hash, domain)| (hash.to_vec(), domain)));
    let (hashes, domains): (Vec<Vec<u8>>, Vec<Option<String>>) =
        identities.collect::<Option<Vec<_>>>().ok_or_else(Error::internal)?.into_iter().unzip();
    let duplicate = UrlResult {
        code: ResultCode::Duplicate.into(),
        url_id: None,
        msg: "This URL already exists and was skipped.".to_owned(),
    };
    let mut results = vec![duplicate; urls.len()];
    let insert = |_| {
        let domains = &domains as &[Option<String>];
        sqlx::query_file_as!(Added, "src/urls/add.sql", company_id, &urls, &hashes, domains as _).fetch_all(pool)
    };
    for Added { position, id } in pool.write(is_contention, insert).await? {
        if let Some(result) = usize::try_from(position - 1).ok().and_then(|index| results.get_mut(index)) {
            let msg = "URL added successfully.".to_owned();
            *result = UrlResult { code: ResultCode::Saved.into(), url_id: Some(id), msg };
        }
    }
    Ok(results)
}
