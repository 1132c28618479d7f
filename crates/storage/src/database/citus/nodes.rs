//! Connections to the nodes of Citus.
//!
//! The coordinator plans each call anew and copies its rows, which takes longer than the statement itself. So reads by key, pages
//! and coalesced writes call the function on the node that has the company's records, as long as this node can be reached from here.
//! Otherwise they go through the coordinator, as all other statements do.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use futures::future::join_all;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use telemetry::background::{Task, supervise};
use tokio::{
    task::{AbortHandle, JoinSet},
    time::sleep,
};

use crate::{
    database::{Connections, Database, Target, pooler::Sessions, probe_replica},
    limits::{CHECK_INTERVAL, CHECK_TIMEOUT},
    statement::Purpose,
};

/// The nodes by their group, as Citus knows them. Empty on plain PostgreSQL.
#[derive(Debug, Default)]
pub struct NodeConnections(RwLock<HashMap<i64, Connections>>);

/// The nodes that have records, with their addresses.
const NODES: &str = "
    select groupid::bigint, nodename, nodeport from pg_dist_node
    where groupid <> 0 and isactive and noderole = 'primary' order by groupid";

/// A node's group, host and port.
type Address = (i64, String, i32);

/// Keeps the nodes as Citus knows them, until the task is dropped. Not behind a pooler, which may be the only path to them.
pub async fn watch_nodes(coordinator: Connections, task: Arc<Task>) {
    if !coordinator.is_divided() || coordinator.inner.shares_sessions() {
        return;
    }
    let mut known: HashMap<Address, (Arc<PgConnectOptions>, Connections, AbortHandle)> = HashMap::new();
    let mut probes = JoinSet::new();
    loop {
        let addresses: Result<Vec<Address>, _> =
            Purpose::of("nodes of Citus").run(sqlx::query_as(NODES).fetch_all(&coordinator)).await;
        let options = coordinator.inner.options();
        match addresses {
            Ok(addresses) if options.get_socket().is_none() => {
                let is_current = |address: &_, with: &_| addresses.contains(address) && Arc::ptr_eq(with, &options);
                let former = known.extract_if(|address, (with, ..)| !is_current(address, with));
                former.for_each(|(_, (_, _, probe))| probe.abort());
                let new = addresses.iter().filter(|address| !known.contains_key(*address));
                let opened = join_all(new.map(|address| coordinator.open_node(&options, address))).await;
                for (address, node) in opened.into_iter().flatten() {
                    let watched = node.clone();
                    let probe = supervise("node probe", move |task| probe_replica(watched.clone(), task));
                    let probe = probes.spawn(probe);
                    known.insert(address, (Arc::clone(&options), node, probe));
                }
                coordinator.inner.nodes.replace(known.iter().map(|((group, ..), (_, node, _))| (*group, node.clone())));
                task.succeeded();
            }
            Ok(_) => task.succeeded(),
            Err(error) => task.failed(format_args!("the nodes of Citus cannot be read: {error}")),
        }
        sleep(CHECK_INTERVAL).await;
    }
}

impl NodeConnections {
    fn replace(&self, nodes: impl Iterator<Item = (i64, Connections)>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = nodes.collect();
    }

    fn get(&self, group: i64) -> Option<Connections> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&group).cloned()
    }
}

impl Connections {
    /// Connections to a node, which is not used until it is found to serve. Its role and its password are those of the coordinator.
    /// `None` if it cannot be reached from here, or has another schema.
    async fn open_node(&self, options: &PgConnectOptions, address: &Address) -> Option<(Address, Self)> {
        let (_, host, port) = address;
        let options = options.clone().host(host).port(u16::try_from(*port).ok()?);
        let pool = PgPoolOptions::new().max_connections(self.most()).acquire_timeout(CHECK_TIMEOUT);
        let pool = pool.connect_lazy_with(options.clone());
        let inputs = self.inner.inputs.at_node(&pool).await;
        let inputs =
            inputs.inspect_err(|error| tracing::debug!(host, port, "a node of Citus is not used: {error}")).ok()?;
        // A call has one company there, so it is planned once, as on plain PostgreSQL.
        let (target, sessions) = (Target::from(options), Sessions::Own);
        let node = Database { pool, target, sessions, on_citus: false, replicas: None };
        Some((address.clone(), self.to_server(&node, Arc::new(inputs), None)))
    }

    /// The connections to the node that has the company's records, if that is known and can be reached.
    pub fn node(&self) -> Option<Self> {
        let node = self.inner.nodes.get(self.inner.locations.node(self.company_id)?)?;
        node.inner.responds().then(|| Self { inner: node.inner, ..self.clone() })
    }

    /// Reports that a statement failed on this node. Until the company is located again, its statements go through the coordinator,
    /// which waits for the end of a move.
    pub async fn node_failed(&self, node: &Self, error: &sqlx::Error) {
        self.forget_locations([self.company_id]);
        node.report_failure(error);
        node.inner.inputs.changed(error).await;
    }
}
