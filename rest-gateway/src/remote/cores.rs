//! The known cores, and the choice of a core for each call.

use std::sync::{
    Arc, Mutex, PoisonError, RwLock,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use admission::HoldingBody;
use compliance_api::wire::Operation;
use tokio::sync::Notify;
use tonic::{
    body::Body,
    transport::{self, Channel},
};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};
use tower::ServiceExt as _;

use super::address::Address;
use crate::{
    limits::{CORE_HEALTH_TIMEOUT, LIST_WINDOW, LONG_RESPONSES_PER_CONNECTION, RESPONSE_WINDOW},
    settings::Settings,
};

/// Operations with long responses: a list of any length, and a watch, which has no end.
const LONG: [&str; 2] = [Operation::LIST_AFFILIATES.path, Operation::WATCH_CHANGES.path];

#[derive(Debug)]
pub(super) struct Cores {
    list: RwLock<Arc<[Arc<RemoteCore>]>>,
    /// Index where the search for the next core begins, so that equally busy cores alternate.
    next: AtomicUsize,
    /// Connections to each core.
    pub(super) connections: usize,
    /// Notified when a call fails.
    pub(super) failure: Arc<Notify>,
}

#[derive(Debug)]
pub(super) struct RemoteCore {
    pub(super) name: String,
    connections: Box<[Channel]>,
    /// Connections for long responses. Each response holds a reference to the counter of its connection.
    ///
    /// Unread responses must not use up the window of other calls, and a core limits the streams of one connection.
    for_long_responses: Mutex<Vec<(Channel, Arc<()>)>>,
    address: Address,
    next: AtomicUsize,
    /// Each call without a response holds a reference.
    in_flight: Arc<()>,
    /// Whether the core served at its last call or check.
    serves: AtomicBool,
}

impl Cores {
    /// The cores at these addresses. A name is one core until its addresses are known.
    pub(super) fn new(addresses: &[Address], settings: &Settings) -> Self {
        let connections = settings.core_connections.max(1);
        let cores = addresses.iter().map(|address| RemoteCore::new(address.name(), address, connections));
        Self { list: RwLock::new(cores.collect()), next: AtomicUsize::new(0), connections, failure: Arc::default() }
    }

    pub(super) fn all(&self) -> Arc<[Arc<RemoteCore>]> {
        Arc::clone(&self.list.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the cores. A core with a known name keeps its connections.
    pub(super) fn replace(&self, addresses: Vec<(String, Address)>) {
        let known = self.all();
        let cores = addresses.into_iter().map(|(name, address)| {
            let known = known.iter().find(|core| core.name == name).cloned();
            known.unwrap_or_else(|| RemoteCore::new(name, &address, self.connections))
        });
        let cores: Arc<[Arc<RemoteCore>]> = cores.collect();
        *self.list.write().unwrap_or_else(PoisonError::into_inner) = cores;
    }

    /// Returns how many cores get calls: all that serve, or all cores if none serves.
    pub(super) fn in_use(&self) -> usize {
        let cores = self.all();
        match cores.iter().filter(|core| core.serves()).count() {
            0 => cores.len(),
            serving => serving,
        }
    }

    /// Records a failed call. The core gets no calls until it reports that it serves, unless no other core serves.
    pub(super) fn failed(&self, core: &RemoteCore) {
        core.serves.store(false, Ordering::Relaxed);
        self.failure.notify_one();
    }

    /// Returns the least busy core outside of `unreachable`, preferably a serving core.
    pub(super) fn pick(&self, unreachable: &[Arc<RemoteCore>]) -> Option<Arc<RemoteCore>> {
        let cores = self.all();
        let start = self.next.fetch_add(1, Ordering::Relaxed);
        let (before, after) = cores.split_at(start % cores.len().max(1));
        let candidates = after.iter().chain(before);
        let candidates = candidates.filter(|core| !unreachable.iter().any(|other| Arc::ptr_eq(core, other)));
        // The minimum is the first of equals.
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

    /// Whether the core has one of the addresses of this URL.
    pub(super) fn is_at(&self, url: &str) -> bool {
        // The address follows a name in parentheses.
        self.name.strip_prefix(url).is_some_and(|address| address.is_empty() || address.starts_with('('))
    }

    pub(super) fn serves(&self) -> bool {
        self.serves.load(Ordering::Relaxed)
    }

    /// Sends a request, and waits for the head of the response.
    pub(super) async fn call(&self, request: http::Request<Body>) -> Result<http::Response<Body>, transport::Error> {
        let _in_flight = Arc::clone(&self.in_flight);
        if LONG.contains(&request.uri().path()) {
            let (connection, counter) = self.connection_for_a_long_response();
            let response = connection.oneshot(request).await?;
            return Ok(response.map(|body| Body::new(HoldingBody::new(body, false, counter))));
        }
        let index = self.next.fetch_add(1, Ordering::Relaxed) % self.connections.len();
        self.connections[index].clone().oneshot(request).await
    }

    /// Returns a connection with room for a long response, and its counter.
    fn connection_for_a_long_response(&self) -> (Channel, Arc<()>) {
        let connections = &mut *self.for_long_responses.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = |(_, counter): &&(Channel, Arc<()>)| Arc::strong_count(counter) <= LONG_RESPONSES_PER_CONNECTION;
        if let Some(connection) = connections.iter().find(has_room) {
            return connection.clone();
        }
        // The first connections are filled first, so the last ones become free.
        connections.retain(|(_, counter)| Arc::strong_count(counter) > 1);
        let connection = (self.address.connect_lazy(LIST_WINDOW), Arc::default());
        connections.push(connection.clone());
        connection
    }

    /// Asks the core for its health, and returns whether it serves.
    pub(super) async fn check(&self) -> bool {
        let mut client = HealthClient::new(self.connections[0].clone());
        let mut request = tonic::Request::new(HealthCheckRequest::default());
        request.set_timeout(CORE_HEALTH_TIMEOUT);
        let health = tokio::time::timeout(CORE_HEALTH_TIMEOUT, client.check(request)).await;
        let serving = i32::from(ServingStatus::Serving);
        let serves = health.is_ok_and(|health| health.is_ok_and(|health| health.into_inner().status == serving));
        self.serves.store(serves, Ordering::Relaxed);
        serves
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Cores, RemoteCore};
    use crate::{remote::address::Address, settings::Settings};

    fn cores(urls: &str) -> Cores {
        let settings = Settings::default();
        Cores::new(&Address::parse_all(urls, &settings).unwrap(), &settings)
    }

    fn names(picked: impl IntoIterator<Item = Option<Arc<RemoteCore>>>) -> Vec<String> {
        let mut names: Vec<_> = picked.into_iter().map(|core| core.unwrap().name.clone()).collect();
        names.sort();
        names
    }

    #[tokio::test]
    async fn equally_busy_cores_alternate_and_a_busy_one_is_spared() {
        let cores = cores("http://10.0.0.1:1, http://10.0.0.2:2");
        assert_eq!(names([cores.pick(&[]), cores.pick(&[])]), ["http://10.0.0.1:1/", "http://10.0.0.2:2/"]);
        let _calls = [(); 3].map(|()| Arc::clone(&cores.all()[0].in_flight));
        assert_eq!(names([cores.pick(&[]), cores.pick(&[])]), ["http://10.0.0.2:2/"; 2]);
    }

    #[tokio::test]
    async fn a_core_that_failed_is_the_last_choice() {
        let cores = cores("http://10.0.0.1:1,http://10.0.0.2:2");
        let [first, second] = [0, 1].map(|index| Arc::clone(&cores.all()[index]));
        assert_eq!(cores.in_use(), 2);
        cores.failed(&first);
        assert_eq!(cores.in_use(), 1);
        assert_eq!(names([cores.pick(&[]), cores.pick(&[])]), ["http://10.0.0.2:2/"; 2]);
        cores.failed(&second);
        assert_eq!(cores.in_use(), 2);
        assert_eq!(names([cores.pick(&[]), cores.pick(&[])]), ["http://10.0.0.1:1/", "http://10.0.0.2:2/"]);
        assert_eq!(names([cores.pick(std::slice::from_ref(&first))]), ["http://10.0.0.2:2/"]);
        assert!(cores.pick(&[first, second]).is_none());
    }

    #[tokio::test]
    async fn known_cores_keep_their_connections() {
        let cores = cores("http://10.0.0.1:1,http://10.0.0.2:2");
        let known = cores.all();
        let address = || Address::parse_all("http://10.0.0.3:3", &Settings::default()).unwrap().remove(0);
        cores.replace(vec![(known[1].name.clone(), address()), ("new".to_owned(), address())]);
        assert_eq!((cores.all().len(), cores.all()[1].name.as_str()), (2, "new"));
        assert!(Arc::ptr_eq(&cores.all()[0], &known[1]));
    }
}
