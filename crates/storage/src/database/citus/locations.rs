//! The node of each company's records.

use std::{collections::BTreeSet, sync::Arc};

use quick_cache::sync::Cache;

use crate::database::{borrowed::fetch_all, pool::Pool};

/// Companies whose node is known without a question. Each takes about 50 bytes.
const MAX_LOCATED_COMPANIES: usize = 100_000;

/// Locations of companies, as last read.
#[derive(Debug)]
pub(in crate::database) struct Locations(Cache<i64, Location>);

/// The node and the shard of a company.
type Location = (i64, i64);

impl Default for Locations {
    fn default() -> Self {
        Self(Cache::new(MAX_LOCATED_COMPANIES))
    }
}

const LOCATIONS: &str = "
    select c.id, p.groupid::bigint, p.shardid
    from unnest($1::bigint[]) c (id)
    join pg_dist_placement p on p.shardid = get_shard_id_for_distribution_column('affiliates', c.id)";

impl Locations {
    /// Returns the node of a company, if known.
    pub(in crate::database) fn node(&self, company: i64) -> Option<i64> {
        self.0.get(&company).map(|(node, _)| node)
    }

    /// Divides items into groups that can share a statement: one for each node, ordered by shard.
    pub(in crate::database) async fn divide<T>(
        &self,
        coordinator: &Arc<Pool>,
        items: Vec<T>,
        company_of: impl Fn(&T) -> i64,
    ) -> Vec<Vec<T>> {
        // A company without a location has a statement of its own.
        self.locate(coordinator, &items.iter().map(&company_of).collect::<Vec<_>>()).await;
        let with_location = items.into_iter().map(|item| {
            let company = company_of(&item);
            (self.0.get(&company).unwrap_or((-company, 0)), company, item)
        });
        let mut items: Vec<(Location, i64, T)> = with_location.collect();
        items.sort_by_key(|(location, company, _)| (*location, *company));
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

    /// Reads the unknown locations of companies.
    pub(in crate::database) async fn locate(&self, coordinator: &Arc<Pool>, companies: &[i64]) {
        let unknown = companies.iter().copied().filter(|company| self.0.get(company).is_none());
        let unknown: BTreeSet<i64> = unknown.collect();
        if unknown.is_empty() {
            return;
        }
        let query = sqlx::query_as(LOCATIONS).bind(Vec::from_iter(unknown));
        let found: Result<Vec<(i64, i64, i64)>, _> = fetch_all(coordinator, query).await;
        let found = found.inspect_err(|error| tracing::warn!("the nodes of companies cannot be read: {error}"));
        for (company, group, shard) in found.unwrap_or_default() {
            self.0.insert(company, (group, shard));
        }
    }

    /// Forgets the locations of companies, because one of them has moved.
    pub(in crate::database) fn forget(&self, companies: impl IntoIterator<Item = i64>) {
        for company in companies {
            self.0.remove(&company);
        }
    }
}
