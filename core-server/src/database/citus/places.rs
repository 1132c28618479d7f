//! Which node has the records of a company.

use quick_cache::sync::Cache;

use crate::{database::Connections, limits::MAX_CACHED_COMPANIES};

/// The places of companies, as they were when they were last asked for.
#[derive(Debug)]
pub(crate) struct Places(Cache<i64, Place>);

/// The node and the shard that has a company's records.
type Place = (i64, i64);

impl Default for Places {
    fn default() -> Self {
        Self(Cache::new(MAX_CACHED_COMPANIES))
    }
}

/// The places of companies.
const PLACES: &str = "
    select c.id, p.groupid::bigint, p.shardid
    from unnest($1::bigint[]) c (id)
    join pg_dist_placement p on p.shardid = get_shard_id_for_distribution_column('affiliates', c.id)";

impl Connections {
    /// Items by the statement that they can share: all, or on Citus those of one node, by shard.
    pub(crate) async fn divided<T>(&self, items: Vec<T>, company_of: impl Fn(&T) -> i64) -> Vec<Vec<T>> {
        if !self.is_divided() {
            return vec![items];
        }
        let Places(places) = &self.inner.places;
        let mut unknown: Vec<i64> =
            items.iter().map(&company_of).filter(|company| places.get(company).is_none()).collect();
        unknown.sort_unstable();
        unknown.dedup();
        if !unknown.is_empty() {
            // Without them, each company has a statement of its own.
            let found: Result<Vec<(i64, i64, i64)>, _> = sqlx::query_as(PLACES).bind(unknown).fetch_all(self).await;
            for (company, group, shard) in found.unwrap_or_default() {
                places.insert(company, (group, shard));
            }
        }
        let with_place = items.into_iter().map(|item| {
            let company = company_of(&item);
            (places.get(&company).unwrap_or((-company, 0)), company, item)
        });
        let mut items: Vec<(Place, i64, T)> = with_place.collect();
        items.sort_by_key(|(place, company, _)| (*place, *company));
        let (mut parts, mut last): (Vec<Vec<T>>, _) = (Vec::new(), None);
        for ((node, _), _, item) in items {
            match parts.last_mut() {
                Some(part) if last == Some(node) => part.push(item),
                _ => parts.push(vec![item]),
            }
            last = Some(node);
        }
        parts
    }

    /// Forgets where companies were, since one of them has moved.
    pub(crate) fn forget_places(&self, companies: impl IntoIterator<Item = i64>) {
        for company in companies {
            self.inner.places.0.remove(&company);
        }
    }
}
