//! The Citus nodes: which of them has a company's records, and connections to them.
//!
//! The coordinator plans each call again and copies its rows, which takes longer than the statement itself. So reads by key, pages and
//! coalesced writes call the function on the company's node if it can be reached. All other statements go through the coordinator.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use futures::future::join_all;
use parking_lot::RwLock;
use quick_cache::sync::Cache;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use telemetry::background::{Task, supervise};
use tokio::{
    task::{AbortHandle, JoinSet},
    time::sleep,
};

use super::calls::Calls;
use crate::{
    Schema,
    database::{borrowed::fetch_all, open::Database, pool::Pool, probe::probe_node, session::Sessions, target::Target},
    limits::{CHECK_INTERVAL, CHECK_TIMEOUT},
    statement::StatementContext,
};

/// Companies whose node is known without a question. Each takes about 50 bytes.
const MAX_LOCATED_COMPANIES: usize = 100_000;

const LOCATIONS: &str = "
    select c.id, p.groupid::bigint, p.shardid
    from unnest($1::bigint[]) c (id)
    join pg_dist_placement p on p.shardid = get_shard_id_for_distribution_column('affiliates', c.id)";

/// Nodes with records, and their addresses.
const NODES: &str = "
    select groupid::bigint, nodename, nodeport from pg_dist_node
    where groupid <> 0 and isactive and noderole = 'primary' order by groupid";

/// How statements reach the nodes of Citus.
#[derive(Debug)]
pub(in crate::database) struct Citus {
    pub(in crate::database) calls: Calls,
    /// The location of each company, as last read.
    locations: Cache<i64, Location>,
    /// Connections to each node, by its group.
    nodes: RwLock<HashMap<i64, Arc<Pool>>>,
}

/// The node and the shard of a company.
type Location = (i64, i64);

/// Group, host and port of a node.
type Address = (i64, String, i32);

impl Citus {
    pub(in crate::database) fn new(schema: &Schema) -> Self {
        let locations = Cache::new(MAX_LOCATED_COMPANIES);
        Self { calls: Calls::new(schema), locations, nodes: RwLock::default() }
    }

    /// Returns the connections to a company's node, if it is known and responds.
    pub(in crate::database) fn node(&self, company: i64) -> Option<Arc<Pool>> {
        let (group, _) = self.locations.get(&company)?;
        self.nodes.read().get(&group).filter(|node| node.responds()).cloned()
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
            (self.locations.get(&company).unwrap_or((-company, 0)), company, item)
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
        let unknown = companies.iter().copied().filter(|company| self.locations.get(company).is_none());
        let unknown: BTreeSet<i64> = unknown.collect();
        if unknown.is_empty() {
            return;
        }
        let query = sqlx::query_as(LOCATIONS).bind(Vec::from_iter(unknown));
        let found: Result<Vec<(i64, i64, i64)>, _> = fetch_all(coordinator, query).await;
        let found = found.inspect_err(|error| tracing::warn!("the nodes of companies cannot be read: {error}"));
        for (company, group, shard) in found.unwrap_or_default() {
            self.locations.insert(company, (group, shard));
        }
    }

    /// Forgets the locations of companies, because one of them has moved.
    pub(in crate::database) fn forget(&self, companies: impl IntoIterator<Item = i64>) {
        for company in companies {
            self.locations.remove(&company);
        }
    }

    /// Keeps the nodes up to date, until the task is dropped. Does nothing behind a pooler, which may be the only path to them.
    pub(in crate::database) async fn watch(self: Arc<Self>, coordinator: Arc<Pool>, task: Arc<Task>) {
        if coordinator.shares_sessions() {
            return;
        }
        let mut known: HashMap<Address, (Arc<PgConnectOptions>, Arc<Pool>, AbortHandle)> = HashMap::new();
        let mut probes = JoinSet::new();
        loop {
            let addresses: Result<Vec<Address>, _> =
                StatementContext::of("nodes of Citus").run(fetch_all(&coordinator, sqlx::query_as(NODES))).await;
            let options = coordinator.options.connect_options();
            match addresses {
                Ok(addresses) if options.get_socket().is_none() => {
                    let is_current = |address: &_, with: &_| addresses.contains(address) && Arc::ptr_eq(with, &options);
                    let former = known.extract_if(|address, (with, ..)| !is_current(address, with));
                    former.for_each(|(_, (_, _, probe))| probe.abort());
                    let new = addresses.iter().filter(|address| !known.contains_key(*address));
                    let opened = join_all(new.map(|address| open(&coordinator, &options, address))).await;
                    for (address, node) in opened.into_iter().flatten() {
                        let watched = Arc::clone(&node);
                        let probe = move |task| probe_node(Arc::clone(&watched), task);
                        let probe = probes.spawn(supervise("node probe", probe));
                        known.insert(address, (Arc::clone(&options), node, probe));
                    }
                    let nodes = known.iter().map(|((group, ..), (_, node, _))| (*group, Arc::clone(node))).collect();
                    *self.nodes.write() = nodes;
                    task.succeeded();
                }
                Ok(_) => task.succeeded(),
                Err(error) => task.failed(format_args!("the Citus nodes cannot be read: {error}")),
            }
            sleep(CHECK_INTERVAL).await;
        }
    }
}

/// Opens connections to a node, with the coordinator's role and password. It is not used before its first successful check.
///
/// Returns `None` if it cannot be reached or has another schema.
async fn open(coordinator: &Pool, options: &PgConnectOptions, address: &Address) -> Option<(Address, Arc<Pool>)> {
    let (_, host, port) = address;
    let options = options.clone().host(host).port(u16::try_from(*port).ok()?);
    let pool = PgPoolOptions::new().max_connections(coordinator.most()).acquire_timeout(CHECK_TIMEOUT);
    let pool = pool.connect_lazy_with(options.clone());
    let inputs = coordinator.inputs.at_node(&pool).await;
    let inputs = inputs.inspect_err(|error| tracing::debug!(host, port, "a Citus node is not used: {error}")).ok()?;
    // A call on a node has one company, so its plan is cached as on plain PostgreSQL.
    let (target, sessions) = (Target::from(options), Sessions::Own);
    let node = Database { pool, target, sessions, on_citus: false };
    Some((address.clone(), Pool::new(&node, Arc::new(inputs), false)))
}
