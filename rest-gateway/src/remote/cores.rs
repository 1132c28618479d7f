//! The cores that a gateway knows, and which of them takes the next call.

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
    limits::{CORE_HEALTH_TIMEOUT, LIST_WINDOW, RESPONSE_WINDOW, WATCHES_OF_A_CONNECTION},
    settings::Settings,
};

/// The operation that returns a list of any length.
const LIST: &str = Operation::LIST_AFFILIATES.path;
/// The operation whose response has no end.
const WATCH: &str = Operation::WATCH_CHANGES.path;

#[derive(Debug)]
pub(super) struct Cores {
    list: RwLock<Arc<[Arc<RemoteCore>]>>,
    /// Where the search for the next core begins, so that equally busy ones take turns.
    next: AtomicUsize,
    /// Connections to each.
    pub(super) connections: usize,
    /// Is notified when a call has failed.
    pub(super) failure: Arc<Notify>,
}

#[derive(Debug)]
pub(super) struct RemoteCore {
    pub(super) name: String,
    connections: Box<[Channel]>,
    /// The connection of lists. Those that nobody reads must not use up the window of the others.
    lists: Channel,
    /// The connections of watches, each with a clone for each of its watches. As many as are needed: a core limits the streams of one.
    watches: Mutex<Vec<(Channel, Arc<()>)>>,
    address: Address,
    next: AtomicUsize,
    /// Each call without a response has a clone.
    in_flight: Arc<()>,
    /// Whether it served when it was last called or asked.
    serves: AtomicBool,
}

impl Cores {
    /// The cores at these addresses. Of a name it connects to one address until all are known.
    pub(super) fn new(addresses: &[Address], settings: &Settings) -> Self {
        let connections = settings.core_connections.max(1);
        let cores = addresses.iter().map(|address| RemoteCore::new(address.name(), address, connections));
        Self { list: RwLock::new(cores.collect()), next: AtomicUsize::new(0), connections, failure: Arc::default() }
    }

    pub(super) fn all(&self) -> Arc<[Arc<RemoteCore>]> {
        Arc::clone(&self.list.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the cores by those with these names, keeping the ones that are known already.
    pub(super) fn replace(&self, addresses: Vec<(String, Address)>) {
        let known = self.all();
        let cores = addresses.into_iter().map(|(name, address)| {
            let known = known.iter().find(|core| core.name == name).cloned();
            known.unwrap_or_else(|| RemoteCore::new(name, &address, self.connections))
        });
        let cores: Arc<[Arc<RemoteCore>]> = cores.collect();
        *self.list.write().unwrap_or_else(PoisonError::into_inner) = cores;
    }

    /// How many cores get calls: those that serve, or all if none does.
    pub(super) fn in_use(&self) -> usize {
        let cores = self.all();
        match cores.iter().filter(|core| core.serves()).count() {
            0 => cores.len(),
            serving => serving,
        }
    }

    /// Notes that a call to a core failed. It gets no calls until it reports that it serves, if there are others.
    pub(super) fn failed(&self, core: &RemoteCore) {
        core.serves.store(false, Ordering::Relaxed);
        self.failure.notify_one();
    }

    /// The least busy core that serves; if none does, the least busy one. Never one of `unreachable`.
    pub(super) fn pick(&self, unreachable: &[Arc<RemoteCore>]) -> Option<Arc<RemoteCore>> {
        let cores = self.all();
        let start = self.next.fetch_add(1, Ordering::Relaxed);
        let (before, after) = cores.split_at(start % cores.len().max(1));
        let candidates = after.iter().chain(before);
        let candidates = candidates.filter(|core| !unreachable.iter().any(|other| Arc::ptr_eq(core, other)));
        // The first of equals is the minimum.
        candidates.min_by_key(|core| (!core.serves(), Arc::strong_count(&core.in_flight))).cloned()
    }
}

impl RemoteCore {
    fn new(name: String, address: &Address, connections: usize) -> Arc<Self> {
        Arc::new(Self {
            name,
            connections: (0..connections).map(|_| address.connect_lazy(RESPONSE_WINDOW)).collect(),
            lists: address.connect_lazy(LIST_WINDOW),
            watches: Mutex::default(),
            address: address.clone(),
            next: AtomicUsize::new(0),
            in_flight: Arc::default(),
            serves: AtomicBool::new(true),
        })
    }

    /// Whether it has one of the addresses of this URL.
    pub(super) fn is_at(&self, url: &str) -> bool {
        // Addresses of a name follow it in parentheses.
        self.name.strip_prefix(url).is_some_and(|address| address.is_empty() || address.starts_with('('))
    }

    pub(super) fn serves(&self) -> bool {
        self.serves.load(Ordering::Relaxed)
    }

    /// Sends a request and waits for the head of the response.
    pub(super) async fn call(&self, request: http::Request<Body>) -> Result<http::Response<Body>, transport::Error> {
        if request.uri().path() == WATCH {
            let (connection, watch) = self.connection_of_a_watch();
            let response = connection.oneshot(request).await?;
            return Ok(response.map(|body| Body::new(HoldingBody::new(body, false, watch))));
        }
        let connection = if request.uri().path() == LIST {
            self.lists.clone()
        } else {
            let index = self.next.fetch_add(1, Ordering::Relaxed) % self.connections.len();
            self.connections[index].clone()
        };
        let _in_flight = Arc::clone(&self.in_flight);
        connection.oneshot(request).await
    }

    /// A connection that has room for a watch, and what the watch holds until it ends.
    fn connection_of_a_watch(&self) -> (Channel, Arc<()>) {
        let watches = &mut *self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = |(_, watches): &&(Channel, Arc<()>)| Arc::strong_count(watches) <= WATCHES_OF_A_CONNECTION;
        if let Some(connection) = watches.iter().find(has_room) {
            return connection.clone();
        }
        // The first ones are filled again, so the last ones become free.
        watches.retain(|(_, watches)| Arc::strong_count(watches) > 1);
        let connection = (self.address.connect_lazy(LIST_WINDOW), Arc::default());
        watches.push(connection.clone());
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
    async fn equally_busy_cores_take_turns_and_a_busy_one_is_spared() {
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
    async fn cores_that_are_known_keep_their_connections() {
        let cores = cores("http://10.0.0.1:1,http://10.0.0.2:2");
        let known = cores.all();
        let address = || Address::parse_all("http://10.0.0.3:3", &Settings::default()).unwrap().remove(0);
        cores.replace(vec![(known[1].name.clone(), address()), ("new".to_owned(), address())]);
        assert_eq!((cores.all().len(), cores.all()[1].name.as_str()), (2, "new"));
        assert!(Arc::ptr_eq(&cores.all()[0], &known[1]));
    }
}
