//! Adding URLs: one statement for a whole request, or for many requests that have few.

use compliance_api::{
    error::Error,
    rules::normalised_url,
    v1::{ResultCode, UrlInput, UrlResult},
};
use sha2::{Digest as _, Sha256};

use super::add_few::{AddFew, FEW, FewUrls};
use crate::{
    database::Connections,
    error::is_contention,
    writes::{CompanyQueue, Queues, Writes},
};

/// What a URL is known by: the digest of its normalised form, and its host. `None` when it is no URL.
pub(crate) fn identity(url: &str) -> Option<([u8; 32], Option<String>)> {
    let normalised = normalised_url(url)?;
    Some((Sha256::digest(normalised.as_str()).into(), normalised.host_str().map(str::to_owned)))
}

/// A URL to be added.
pub(super) struct NewUrl {
    /// As it was sent.
    pub(super) url: String,
    pub(super) hash: [u8; 32],
    pub(super) domain: Option<String>,
}

/// A URL that was inserted.
pub(super) struct Added {
    /// Its position in the request, from 1.
    pub(super) position: i64,
    pub(super) id: i64,
}

/// Adds URLs.
pub(super) struct Adder {
    pub(super) pool: Connections,
    /// What requests with many URLs wait in.
    pub(super) queue: CompanyQueue,
    pub(super) few: Writes<AddFew>,
}

impl Adder {
    pub(super) fn new(pool: &Connections, queues: &Queues) -> Self {
        let few = Writes::new(AddFew, pool, &queues.urls);
        Self { pool: pool.clone(), queue: queues.urls.clone(), few }
    }

    /// Adds URLs that were checked; one result each, in their order.
    pub(super) async fn add(&self, company_id: i64, urls: Vec<UrlInput>) -> Result<Vec<UrlResult>, Error> {
        let urls = urls.into_iter().filter_map(|input| input.url).map(NewUrl::new);
        let urls = urls.collect::<Option<Vec<_>>>().ok_or_else(Error::internal)?;
        let ids = match urls.len() {
            ..=FEW => self.few.write(FewUrls { company_id, urls }).await?,
            _ => self.add_many(company_id, &urls).await?,
        };
        Ok(ids.into_iter().map(result).collect())
    }

    /// Adds the URLs of one request. Returns the ID of each, if it was added.
    async fn add_many(&self, company_id: i64, urls: &[NewUrl]) -> Result<Vec<Option<i64>>, Error> {
        let texts: Vec<&str> = urls.iter().map(|new| new.url.as_str()).collect();
        let hashes: Vec<&[u8]> = urls.iter().map(|new| &new.hash[..]).collect();
        let domains: Vec<Option<&str>> = urls.iter().map(|new| new.domain.as_deref()).collect();
        let insert = |pool, _| {
            let (texts, hashes, domains) = (&texts, &hashes, &domains);
            async move {
                sqlx::query_file_as!(Added, "src/urls/add.sql", company_id, texts as _, hashes as _, domains as _)
                    .fetch_all(&pool)
                    .await
            }
        };
        let permit = self.queue.one(company_id).await?;
        let mut ids = vec![None; urls.len()];
        for Added { position, id } in permit.write(&self.pool, is_contention, insert).await? {
            if let Some(found) = usize::try_from(position - 1).ok().and_then(|index| ids.get_mut(index)) {
                *found = Some(id);
            }
        }
        Ok(ids)
    }
}

impl NewUrl {
    fn new(url: String) -> Option<Self> {
        let (hash, domain) = identity(&url)?;
        Some(Self { url, hash, domain })
    }
}

fn result(added: Option<i64>) -> UrlResult {
    let (code, msg) = match added {
        Some(_) => (ResultCode::Saved, "URL added successfully."),
        None => (ResultCode::Duplicate, "This URL already exists and was skipped."),
    };
    UrlResult { code: code.into(), url_id: added, msg: msg.to_owned() }
}
