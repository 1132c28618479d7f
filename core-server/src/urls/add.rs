//! Adds URLs with one statement per request, or with one statement for many small requests.

use std::{collections::HashSet, sync::Arc};

use compliance_api::{
    error::Error,
    v1::{ResultCode, UrlInput, UrlResult},
};
use sqlx::{Postgres, postgres::PgArguments, query::QueryScalar};
use storage::{
    database::{self, Connections, Session},
    error::{from_database, is_contention},
    statement_context,
    table::Layouts,
    writes::{Write, Writes},
};

use super::identity::identity;
use crate::backend::Backend;

/// Maximum number of URLs in a small request. A larger request uses its own statement.
pub const FEW_URLS: usize = 8;

/// A URL to add, as sent.
pub(super) struct NewUrl {
    url: String,
    hash: [u8; 32],
    domain: Option<String>,
}

/// The statement that finds URLs by hash, with its parameter types.
pub(crate) const KNOWN: (&str, &str) = (include_str!("known.sql"), "bigint, bytea[]");
/// The statement that adds URLs, with its parameter types.
pub(crate) const ADD: (&str, &str) = (include_str!("add.sql"), "bigint[], text[], bytea[], text[], text[]");

/// Adds validated URLs. Returns one result per URL, in order.
pub(super) async fn add(
    backend: &Backend,
    few: &Writes<AddFew>,
    company_id: i64,
    urls: Vec<UrlInput>,
) -> Result<Vec<UrlResult>, Error> {
    let urls = new(urls)?;
    let ids = if urls.len() <= FEW_URLS {
        few.write(FewUrls { company_id, urls }).await?
    } else {
        let urls: Vec<(i64, &NewUrl)> = urls.iter().map(|url| (company_id, url)).collect();
        let urls = urls.as_slice();
        let insert = |pool: Connections, _| async move {
            let pool = pool.of_company(company_id).creating(urls.len());
            insert(urls, &[statement_context::writer()]).fetch_all(&pool).await
        };
        backend.queues.urls.one(company_id).await?.write(&backend.pool, is_contention, insert).await?
    };
    Ok(ids.into_iter().map(|id| result(id.is_some(), id)).collect())
}

/// Returns the results that [`add`] would return, without adding URLs.
pub(super) async fn validate(
    pool: &Connections,
    company_id: i64,
    urls: Vec<UrlInput>,
) -> Result<Vec<UrlResult>, Error> {
    let urls = new(urls)?;
    let hashes: Vec<&[u8]> = urls.iter().map(|new| &new.hash[..]).collect();
    let read =
        async |pool: Connections| sqlx::query_scalar(KNOWN.0).bind(company_id).bind(&hashes).fetch_all(&pool).await;
    let known: Vec<Vec<u8>> = database::read(pool, read).await.map_err(from_database)?;
    let mut known: HashSet<&[u8]> = known.iter().map(Vec::as_slice).collect();
    Ok(hashes.into_iter().map(|hash| result(known.insert(hash), None)).collect())
}

fn new(urls: Vec<UrlInput>) -> Result<Vec<NewUrl>, Error> {
    let new = |url: String| identity(&url).map(|(hash, domain)| NewUrl { url, hash, domain });
    let urls: Option<Vec<_>> = urls.into_iter().filter_map(|input| input.url).map(new).collect();
    urls.ok_or_else(Error::internal)
}

/// Returns a query that inserts URLs, each with its company, and returns the ID of each new URL.
///
/// `writers` contains one writer per URL, or one writer for all.
fn insert(urls: &[(i64, &NewUrl)], writers: &[String]) -> QueryScalar<'static, Postgres, Option<i64>, PgArguments> {
    let companies: Vec<i64> = urls.iter().map(|(company_id, _)| *company_id).collect();
    let texts: Vec<&str> = urls.iter().map(|(_, new)| new.url.as_str()).collect();
    let hashes: Vec<&[u8]> = urls.iter().map(|(_, new)| &new.hash[..]).collect();
    let domains: Vec<Option<&str>> = urls.iter().map(|(_, new)| new.domain.as_deref()).collect();
    sqlx::query_file_scalar!("src/urls/add.sql", &companies, &texts as _, &hashes as _, &domains as _, writers)
}

fn result(is_new: bool, url_id: Option<i64>) -> UrlResult {
    let (code, msg) = if is_new {
        (ResultCode::Saved, "URL added successfully.")
    } else {
        (ResultCode::Duplicate, "This URL already exists and was skipped.")
    };
    UrlResult { code: code.into(), url_id, msg: msg.to_owned() }
}

/// Adds URLs from small requests. Concurrent requests from all companies share one statement.
pub(crate) struct AddFew;

pub(crate) struct FewUrls {
    company_id: i64,
    urls: Vec<NewUrl>,
}

impl Write for AddFew {
    type Item = FewUrls;
    type Written = Vec<Option<i64>>;
    /// Needs no key: if a URL appears twice in a statement, only the first one is added.
    type Key = ();
    const NAME: &'static str = "writes of URLs";

    fn company(item: &FewUrls) -> i64 {
        item.company_id
    }

    async fn write(
        &self,
        session: Session<'_>,
        _: Arc<Layouts>,
        items: &[&FewUrls],
        writers: Vec<String>,
    ) -> Result<Vec<Self::Written>, sqlx::Error> {
        let urls: Vec<(i64, &NewUrl)> =
            items.iter().flat_map(|item| item.urls.iter().map(|url| (item.company_id, url))).collect();
        let each = items.iter().zip(writers).flat_map(|(item, writer)| vec![writer; item.urls.len()]);
        let writers: Vec<String> = each.collect();
        let ids: Vec<(Option<i64>,)> = session.creating(urls.len()).fetch_all(insert(&urls, &writers)).await?;
        let mut ids = ids.into_iter().map(|(id,)| id);
        Ok(items.iter().map(|item| ids.by_ref().take(item.urls.len()).collect()).collect())
    }
}
