//! Chooses a core for each call, and keeps the cores' addresses and health up to date.

use std::{
    collections::BTreeSet,
    error::Error,
    iter::successors,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use admission::GuardedBody;
use compliance_api::{
    client::{CheckHealth, HealthResult},
    wire::Operation,
};
use futures::{StreamExt as _, future::join_all, stream::FuturesUnordered};
use metrics::{describe_gauge, gauge};
use parking_lot::{Mutex, RwLock};
use telemetry::{background::Task, metrics::on_render};
use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout},
};
use tonic::{
    Code, Request, Status,
    body::Body,
    transport::{self, Channel},
};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};
use tower::ServiceExt as _;

use super::address::{Address, NOT_RESOLVED, failure_reason};
use crate::{
    limits::{
        CORE_CHECK_INTERVAL, CORE_HEALTH_TIMEOUT, LIST_WINDOW, LONG_RESPONSES_PER_CONNECTION, MIN_CORE_CHECK_INTERVAL,
        RESOLVE_INTERVAL, RESPONSE_WINDOW, UNHEALTHY_CORE_CHECK_INTERVAL,
    },
    settings::Settings,
};

/// Returns whether an operation's responses can be long: lists of any length, and endless watches.
fn has_long_responses(path: &str) -> bool {
    // A batch of reads and a page end as soon as the core has read their records.
    let is_short = [Operation::BATCH_READ.path, Operation::STREAM_COMPLIANCE_URLS.path].contains(&path);
    !is_short && Operation::at(path).is_some_and(|operation| operation.streams_responses)
}

#[derive(Debug)]
pub(super) struct Cores {
    list: RwLock<Arc<[Arc<RemoteCore>]>>,
    /// Index where the search for the next core begins, so equally busy cores alternate.
    next: AtomicUsize,
    /// Number of connections to each core.
    pub(super) connections: usize,
    /// Notified when a call fails.
    failure: Arc<Notify>,
}

#[derive(Debug)]
pub(super) struct RemoteCore {
    pub(super) name: String,
    connections: Box<[Channel]>,
    /// Connections for long responses. Each response holds a reference to its connection's counter.
    ///
    /// On shared connections, unread responses would use up the window for other calls. A core also limits the streams per connection.
    for_long_responses: Mutex<Vec<(Channel, Arc<()>)>>,
    pub(super) address: Address,
    next: AtomicUsize,
    /// Counter of pending calls. Each call holds a reference.
    in_flight: Arc<()>,
    /// Whether the core was serving at its last call or check.
    serves: AtomicBool,
}

impl Cores {
    /// Creates the cores at these addresses. A name counts as one core until it is resolved.
    pub(super) fn new(addresses: &[Address], settings: &Settings) -> Self {
        let connections = settings.core_connections.max(1);
        let cores = addresses.iter().map(|address| RemoteCore::new(address.name(), address, connections));
        Self { list: RwLock::new(cores.collect()), next: AtomicUsize::new(0), connections, failure: Arc::default() }
    }

    pub(super) fn all(&self) -> Arc<[Arc<RemoteCore>]> {
        Arc::clone(&self.list.read())
    }

    /// Replaces the cores. A core with a known name keeps its connections.
    fn replace(&self, addresses: Vec<(String, Address)>) {
        let known = self.all();
        let cores = addresses.into_iter().map(|(name, address)| {
            let known = known.iter().find(|core| core.name == name).cloned();
            known.unwrap_or_else(|| RemoteCore::new(name, &address, self.connections))
        });
        let cores: Arc<[Arc<RemoteCore>]> = cores.collect();
        *self.list.write() = cores;
    }

    /// Returns how many cores receive calls: all serving cores, or all cores if none is serving.
    pub(super) fn in_use(&self) -> usize {
        let cores = self.all();
        match cores.iter().filter(|core| core.serves()).count() {
            0 => cores.len(),
            serving => serving,
        }
    }

    /// Records a failed call. The core receives no calls until it is serving again, unless no core is serving.
    pub(super) fn failed(&self, core: &RemoteCore) {
        core.serves.store(false, Ordering::Relaxed);
        self.failure.notify_one();
    }

    /// Returns the least busy core that is not in `unreachable`, preferably a serving core.
    pub(super) fn pick(&self, unreachable: &[Arc<RemoteCore>]) -> Option<Arc<RemoteCore>> {
        let cores = self.all();
        let start = self.next.fetch_add(1, Ordering::Relaxed);
        let (before, after) = cores.split_at(start % cores.len().max(1));
        let candidates = after.iter().chain(before);
        let candidates = candidates.filter(|core| !unreachable.iter().any(|other| Arc::ptr_eq(core, other)));
        // On a tie, `min_by_key` returns the first core.
        candidates.min_by_key(|core| (!core.serves(), Arc::strong_count(&core.in_flight))).cloned()
    }
}

impl RemoteCore {
    fn new(name: String, address: &Address, connections: usize) -> Arc<Self> {
        Arc::new(Self {
            name,
            connections: (0..connections).map(|_| address.connect_lazy(RESPONSE_WINDOW)).collect(),
            for_long_responses: Mutex::default(),
            address: address.clone(),
            next: AtomicUsize::new(0),
            in_flight: Arc::default(),
            serves: AtomicBool::new(true),
        })
    }

    /// Returns whether the core is at one of this URL's addresses.
    fn is_at(&self, url: &str) -> bool {
        // If the host is a name, its address follows in parentheses.
        self.name.strip_prefix(url).is_some_and(|address| address.is_empty() || address.starts_with('('))
    }

    fn serves(&self) -> bool {
        self.serves.load(Ordering::Relaxed)
    }

    /// Sends a request, and waits for the response head.
    pub(super) async fn call(&self, request: http::Request<Body>) -> Result<http::Response<Body>, transport::Error> {
        let _in_flight = Arc::clone(&self.in_flight);
        if has_long_responses(request.uri().path()) {
            let (connection, counter) = self.connection_for_a_long_response();
            let response = connection.oneshot(request).await?;
            return Ok(response.map(|body| Body::new(GuardedBody::new(body, false, counter))));
        }
        let index = self.next.fetch_add(1, Ordering::Relaxed) % self.connections.len();
        self.connections[index].clone().oneshot(request).await
    }

    /// Returns a connection with room for a long response, and its counter.
    fn connection_for_a_long_response(&self) -> (Channel, Arc<()>) {
        let connections = &mut *self.for_long_responses.lock();
        let has_room = |(_, counter): &&(Channel, Arc<()>)| Arc::strong_count(counter) <= LONG_RESPONSES_PER_CONNECTION;
        if let Some(connection) = connections.iter().find(has_room) {
            return connection.clone();
        }
        // The first connections fill up first, so the last connections become unused.
        connections.retain(|(_, counter)| Arc::strong_count(counter) > 1);
        let connection = (self.address.connect_lazy(LIST_WINDOW), Arc::default());
        connections.push(connection.clone());
        connection
    }

    /// Asks the core for its health.
    async fn health(&self) -> HealthResult {
        let mut client = HealthClient::new(self.connections[0].clone());
        let mut request = Request::new(HealthCheckRequest::default());
        request.set_timeout(CORE_HEALTH_TIMEOUT);
        let health = timeout(CORE_HEALTH_TIMEOUT, client.check(request)).await;
        health.unwrap_or_else(|_| Err(Status::deadline_exceeded("the core did not report its health in time")))
    }

    /// Checks the core's health, and returns whether it is serving. Logs why the core cannot be reached.
    async fn check(&self) -> bool {
        let health = self.health().await;
        // Later checks of an unreachable core would repeat the reason.
        if let Err(status) = &health
            && self.serves()
        {
            let is_of_connection = |error: &&(dyn Error + 'static)| {
                successors(Some(*error), |error| (*error).source()).any(<dyn Error>::is::<tonic::ConnectError>)
            };
            if let Some(error) = status.source().filter(is_of_connection) {
                self.address.report_failure(&self.name, failure_reason(error), error);
            } else if !matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled) {
                tracing::warn!(
                    core = self.name,
                    error = status.message(),
                    "no valid health response: check that this is the address of a core's gRPC port"
                );
            }
        }
        let serves = is_serving(&health);
        if serves {
            self.address.recovered();
        }
        self.serves.store(serves, Ordering::Relaxed);
        serves
    }
}

fn is_serving(health: &HealthResult) -> bool {
    health.as_ref().is_ok_and(|health| health.get_ref().status() == ServingStatus::Serving)
}

/// The gateway can serve if any core does. Asking one core is not enough, because that core may have just begun to shut down.
#[tonic::async_trait]
impl CheckHealth for Cores {
    async fn check_health(&self, _request: Request<HealthCheckRequest>) -> HealthResult {
        let cores = self.all();
        let mut checks: FuturesUnordered<_> = cores.iter().map(|core| core.health()).collect();
        let mut last = Err(Status::unavailable("no core is available"));
        while let Some(health) = checks.next().await {
            last = health;
            if is_serving(&last) {
                break;
            }
        }
        last
    }
}

/// Updates the cores until they are dropped.
pub(super) async fn keep_up_to_date(weak: Weak<Cores>, addresses: Vec<Address>, task: Arc<Task>) {
    let has_names = addresses.iter().any(Address::is_name);
    let mut resolved = None::<Instant>;
    loop {
        let Some(cores) = weak.upgrade() else { return };
        if has_names && resolved.is_none_or(|resolved| resolved.elapsed() >= RESOLVE_INTERVAL) {
            resolve(&cores, &addresses).await;
            resolved = Some(Instant::now());
        }
        let all_serve = check(&cores).await;
        let failure = Arc::clone(&cores.failure);
        drop(cores);
        // The task succeeds even if a core is unhealthy. A separate metric reports unhealthy cores.
        task.succeeded();
        // Limits the rate of checks when many calls fail.
        sleep(MIN_CORE_CHECK_INTERVAL).await;
        let interval = if all_serve { CORE_CHECK_INTERVAL } else { UNHEALTHY_CORE_CHECK_INTERVAL };
        // A failed call triggers the next check.
        let _ = timeout(interval, failure.notified()).await;
    }
}

/// Reports how many of each core's addresses are serving.
pub(super) fn report(cores: &Weak<Cores>, addresses: &[Address]) {
    let name = "compliance_gateway_core_addresses";
    describe_gauge!(name, "Addresses of each core in --core-url, by state: serving or not_serving.");
    for url in addresses.iter().map(Address::name) {
        for (state, serving) in [("serving", true), ("not_serving", false)] {
            let (cores, url) = (Weak::clone(cores), url.clone());
            let gauge = gauge!(name, "core" => url.clone(), "state" => state);
            on_render(gauge, move || {
                let all = cores.upgrade()?.all();
                Some(all.iter().filter(|core| core.is_at(&url) && core.serves() == serving).count() as f64)
            });
        }
    }
}

/// Checks the health of each core, and returns whether all are serving.
async fn check(cores: &Cores) -> bool {
    let all = cores.all();
    let served = all.iter().map(|core| async { (core.serves(), core.check().await) });
    for (core, (before, now)) in all.iter().zip(join_all(served).await) {
        match (before, now) {
            (true, false) => tracing::warn!(core = core.name, "a core is unhealthy"),
            (false, true) => tracing::info!(core = core.name, "a core has recovered"),
            _ => {}
        }
    }
    all.iter().all(|core| core.serves())
}

/// Resolves each name to its addresses. A name that cannot be resolved keeps its previous addresses. An address with several names is one core,
/// because companies' rate limits depend on the number of cores.
async fn resolve(cores: &Cores, addresses: &[Address]) {
    let mut found = Vec::new();
    for address in addresses {
        let name = address.name();
        if !address.is_name() {
            found.push((name, address.clone()));
            continue;
        }
        match address.resolve().await {
            Ok(resolved) => {
                address.recovered();
                found.extend(resolved.into_iter().filter_map(|at| Some((format!("{name}({at})"), address.at(at)?))));
            }
            Err(error) => {
                address.report_failure(&name, NOT_RESOLVED, &error);
                let known = cores.all();
                let known = known.iter().filter(|core| core.is_at(&name));
                found.extend(known.map(|core| (core.name.clone(), core.address.clone())));
            }
        }
    }
    let mut endpoints = BTreeSet::new();
    found.retain(|(_, address)| endpoints.insert(address.endpoint()));
    cores.replace(found);
}

#[cfg(test)]
mod tests;
