//! Connections to the Citus nodes.
//!
//! The coordinator plans each call again and copies its rows, which takes longer than the statement itself. So reads by key, pages and
//! coalesced writes call the function on the company's node if it can be reached. All other statements go through the coordinator.

use std::{collections::HashMap, sync::Arc};

use futures::future::join_all;
use parking_lot::RwLock;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use telemetry::background::{Task, supervise};
use tokio::{
    task::{AbortHandle, JoinSet},
    time::sleep,
};

use crate::{
    database::{borrowed::fetch_all, open::Database, pool::Pool, pooler::Sessions, probe::probe_other, target::Target},
    limits::{CHECK_INTERVAL, CHECK_TIMEOUT},
    statement::StatementContext,
};

/// Nodes by group. Empty on plain PostgreSQL.
#[derive(Debug, Default)]
pub(in crate::database) struct NodeConnections(RwLock<HashMap<i64, Arc<Pool>>>);

/// Nodes with records, and their addresses.
const NODES: &str = "
    select groupid::bigint, nodename, nodeport from pg_dist_node
    where groupid <> 0 and isactive and noderole = 'primary' order by groupid";

/// Group, host and port of a node.
type Address = (i64, String, i32);

impl NodeConnections {
    /// Returns the connections to a node if it responds.
    pub(in crate::database) fn get(&self, group: i64) -> Option<Arc<Pool>> {
        let node = self.0.read().get(&group).cloned();
        node.filter(|node| node.responds())
    }

    /// Keeps the nodes up to date, until the task is dropped. Does nothing behind a pooler, which may be the only path to them.
    pub(in crate::database) async fn watch(&self, coordinator: &Arc<Pool>, task: &Task) {
        if coordinator.shares_sessions() {
            return;
        }
        let mut known: HashMap<Address, (Arc<PgConnectOptions>, Arc<Pool>, AbortHandle)> = HashMap::new();
        let mut probes = JoinSet::new();
        loop {
            let addresses: Result<Vec<Address>, _> =
                StatementContext::of("nodes of Citus").run(fetch_all(coordinator, sqlx::query_as(NODES))).await;
            let options = coordinator.options();
            match addresses {
                Ok(addresses) if options.get_socket().is_none() => {
                    let is_current = |address: &_, with: &_| addresses.contains(address) && Arc::ptr_eq(with, &options);
                    let former = known.extract_if(|address, (with, ..)| !is_current(address, with));
                    former.for_each(|(_, (_, _, probe))| probe.abort());
                    let new = addresses.iter().filter(|address| !known.contains_key(*address));
                    let opened = join_all(new.map(|address| open(coordinator, &options, address))).await;
                    for (address, node) in opened.into_iter().flatten() {
                        let watched = Arc::clone(&node);
                        let probe = move |task| probe_other(Arc::clone(&watched), None, task);
                        let probe = probes.spawn(supervise("node probe", probe));
                        known.insert(address, (Arc::clone(&options), node, probe));
                    }
                    let nodes = known.iter().map(|((group, ..), (_, node, _))| (*group, Arc::clone(node))).collect();
                    *self.0.write() = nodes;
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
    let node = Database { pool, target, sessions, on_citus: false, replicas: None };
    Some((address.clone(), Pool::new(&node, Arc::new(inputs), None, false)))
}
