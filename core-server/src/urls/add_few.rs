//! Adding few URLs: concurrent requests, of all companies together, become one statement.

use std::sync::Arc;

use sqlx::PgConnection;

use super::add::{Added, NewUrl};
use crate::{table::Layouts, writes::Write};

/// URLs in a request that is written together with others.
pub(super) const FEW: usize = 8;

/// Adds the URLs of requests that have few of them.
pub(crate) struct AddFew;

/// The URLs of one request.
pub(crate) struct FewUrls {
    pub(super) company_id: i64,
    pub(super) urls: Vec<NewUrl>,
}

impl Write for AddFew {
    type Item = FewUrls;
    /// The ID of each URL, if it was added.
    type Written = Vec<Option<i64>>;
    type Key = ();
    const NAME: &'static str = "writes of URLs";

    fn company(item: &FewUrls) -> i64 {
        item.company_id
    }

    /// Of two equal URLs the first is added, in one statement as in two.
    fn keys(_: &FewUrls) -> Vec<()> {
        Vec::new()
    }

    async fn write(
        &self,
        connection: &mut PgConnection,
        _: Arc<Layouts>,
        items: &[&FewUrls],
    ) -> Result<Vec<Self::Written>, sqlx::Error> {
        let all = || items.iter().flat_map(|item| item.urls.iter().map(|url| (item.company_id, url)));
        let companies: Vec<i64> = all().map(|(company_id, _)| company_id).collect();
        let urls: Vec<&str> = all().map(|(_, new)| new.url.as_str()).collect();
        let hashes: Vec<&[u8]> = all().map(|(_, new)| &new.hash[..]).collect();
        let domains: Vec<Option<&str>> = all().map(|(_, new)| new.domain.as_deref()).collect();
        let added =
            sqlx::query_file_as!(Added, "src/urls/add_few.sql", &companies, &urls as _, &hashes as _, &domains as _);
        let mut ids = vec![None; urls.len()];
        for Added { position, id } in added.fetch_all(connection).await? {
            if let Some(found) = usize::try_from(position - 1).ok().and_then(|index| ids.get_mut(index)) {
                *found = Some(id);
            }
        }
        let mut ids = ids.into_iter();
        Ok(items.iter().map(|item| ids.by_ref().take(item.urls.len()).collect()).collect())
    }
}
