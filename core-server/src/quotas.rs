//! Limits of companies in this process: memory, calls, streams, and statements that are not coalesced.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    thread::available_parallelism,
    time::Duration,
};

use admission::{
    Callers, Count, Counts, Full, MEMORY_SHARE, Memory, QueueLimits, Refusals, SLOW_AFTER, WorkPermit, WorkQueue,
};
use compliance_api::error::Error;
use storage::writes::OnWait;

use crate::{CompanyLimit, CoreSettings, Limit, usage::Usage};

/// A company may have a quarter of the calls in flight. It may have at least `CALLS_AT_LEAST`.
pub const CALL_SHARE: usize = 4;
const CALLS_AT_LEAST: usize = 64;
/// Maximum number of streams of all companies, as a multiple of the maximum for one company.
const STREAM_COMPANIES: usize = 16;
/// Batches with more items are long. A long batch occupies a processor here and another one in the database.
pub const HEAVY_ITEMS: usize = 100;
/// Database connections reserved for coalesced reads and writes.
const CONNECTIONS_OF_COALESCED: usize = 4;
/// Concurrent pages and short batches per processor. Most of them wait for the database.
const STATEMENTS_PER_CPU: usize = 4;
/// Minimum number of concurrent long batches, if there are fewer processors.
const LONG_BATCHES_AT_LEAST: usize = 2;
/// Maximum number of concurrent large pages. They use at most a quarter of the connections.
const LARGE_PAGES: usize = 4;
const LARGE_PAGE_SHARE: usize = 4;
/// Maximum queue lengths. Most statements are short, so more of them get a permit before their deadline.
const MAX_QUEUED_STATEMENTS: usize = 4096;
const MAX_QUEUED_LONG_BATCHES: usize = 1024;
const MAX_QUEUED_LARGE_PAGES: usize = 1024;
/// A company may have a quarter of each queue.
const QUEUE_SHARE: usize = 4;
/// A company may have half of the permits. Other companies find a free one, however many calls of the company wait.
const PERMIT_SHARE: usize = 2;
/// While other companies call, a company may have one permit per two processors. Its work occupies a processor here or in the database,
/// so half of the processors remain free.
const CPUS_PER_PERMIT_WITH_OTHERS: usize = 2;
/// Maximum number of health and reflection streams, which need no token.
const OPEN_STREAMS: usize = 1024;
/// Maximum number of such streams of one peer.
pub const OPEN_STREAMS_OF_A_PEER: usize = 128;
/// Maximum number of watchers. Each holds little memory, and a connection or one stream of a connection.
const WATCHERS: usize = 10_000;
/// Maximum number of watchers of one company.
pub const WATCHERS_OF_A_COMPANY: usize = 2000;

/// Clones share one set of limits.
#[derive(Clone, Debug)]
pub(crate) struct Quotas {
    pub(crate) memory: Memory,
    pub(crate) calls: Counts,
    callers: Callers,
    pub(crate) refusals: Refusals,
    pub(crate) streams: Counts,
    pub(crate) watchers: Counts,
    pub(crate) usage: Usage,
    /// Calls that open a watch. A company may open all its watches at the same time, so these calls have their own limit.
    openings: Counts,
    /// Streams without a token, by the network of the peer.
    open_to_all: Counts,
    /// Pages and short batches.
    pub(crate) statements: WorkQueue,
    /// Long batches, and records of the past, which read all later batches.
    pub(crate) heavy: WorkQueue,
    /// Large pages. Each occupies a connection until its reader has taken it.
    pub(crate) large_pages: WorkQueue,
}

/// The queue of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueClass {
    /// None: no statement, or a part of a coalesced one.
    Coalesced,
    /// A statement of its own.
    Statement,
    /// A long batch, or a record of the past.
    Heavy,
}

impl QueueClass {
    pub(crate) fn of_items(items: usize) -> Self {
        if items > HEAVY_ITEMS { Self::Heavy } else { Self::Statement }
    }

    pub(crate) fn is_heavy(self) -> bool {
        self == Self::Heavy
    }
}

impl Quotas {
    /// `connections` is the number of database connections.
    pub(crate) fn new(settings: &CoreSettings, connections: u32) -> Self {
        let cpus = available_parallelism().map_or(1, usize::from);
        let connections = (connections as usize).saturating_sub(CONNECTIONS_OF_COALESCED).max(1);
        let callers = Callers::default();
        let limits = |running: usize, waiting: usize| QueueLimits {
            running,
            running_per_company: running.div_ceil(PERMIT_SHARE),
            running_with_others: (cpus / CPUS_PER_PERMIT_WITH_OTHERS).max(1),
            slow_after: SLOW_AFTER,
            waiting,
            waiting_per_company: waiting / QUEUE_SHARE,
        };
        let large_pages = limits((connections / LARGE_PAGE_SHARE).clamp(1, LARGE_PAGES), MAX_QUEUED_LARGE_PAGES);
        // A slow page still occupies its connection.
        let large_pages = QueueLimits { running_with_others: 1, slow_after: Duration::MAX, ..large_pages };
        let queue = |limits| WorkQueue::new(limits, callers.clone());
        let CoreSettings { request_memory, max_in_flight, max_streams, .. } = *settings;
        let own = |kind: fn(Limit) -> Option<usize>| CompanyLimit::by_company(&settings.company_limits, kind);
        let memory = own(|limit| if let Limit::Memory(bytes) = limit { Some(bytes) } else { None });
        let calls = own(|limit| if let Limit::InFlight(calls) = limit { Some(calls) } else { None });
        let streams = own(|limit| if let Limit::Streams(streams) = limit { Some(streams) } else { None });
        let watches = own(|limit| if let Limit::Watches(watches) = limit { Some(watches) } else { None });
        let calls_of_a_company = (max_in_flight / CALL_SHARE).max(CALLS_AT_LEAST);
        Self {
            memory: Memory::with_companies(request_memory, request_memory / MEMORY_SHARE, memory),
            calls: Counts::with_companies(max_in_flight, calls_of_a_company, calls),
            streams: Counts::with_companies(max_streams.saturating_mul(STREAM_COMPANIES), max_streams, streams),
            watchers: Counts::with_companies(WATCHERS, WATCHERS_OF_A_COMPANY, watches.clone()),
            openings: Counts::with_companies(WATCHERS, WATCHERS_OF_A_COMPANY, watches),
            usage: Usage::new(settings),
            open_to_all: Counts::new(OPEN_STREAMS, OPEN_STREAMS_OF_A_PEER),
            statements: queue(limits((cpus * STATEMENTS_PER_CPU).min(connections), MAX_QUEUED_STATEMENTS)),
            heavy: queue(limits(cpus.max(LONG_BATCHES_AT_LEAST).min(connections), MAX_QUEUED_LONG_BATCHES)),
            large_pages: queue(large_pages),
            callers,
            refusals: Refusals::default(),
        }
    }

    /// Counts a call of a company as in flight until the count is dropped.
    pub(crate) fn call(&self, company_id: i64) -> Result<Count, Full> {
        self.callers.called(company_id);
        self.calls.add(company_id)
    }

    pub(crate) fn are_several_calling(&self) -> bool {
        self.callers.are_several()
    }

    /// Waits for a permit for a company's work. Drop the permit after the work.
    pub(crate) async fn enter(&self, company_id: i64, work: QueueClass) -> Result<Option<WorkPermit>, Error> {
        // Pages and chunks of streams count like calls.
        self.callers.called(company_id);
        match work {
            QueueClass::Coalesced => Ok(None),
            QueueClass::Statement => Ok(Some(self.statements.enter(company_id).await?)),
            QueueClass::Heavy => Ok(Some(self.heavy.enter(company_id).await?)),
        }
    }

    /// A callback for work that waits for a lock. Work of other companies gets its permit.
    pub(crate) fn on_wait(&self) -> OnWait {
        let queues = [self.statements.clone(), self.heavy.clone()];
        Arc::new(move |company_id| queues.iter().for_each(|queue| queue.waits(company_id)))
    }

    /// Counts a stream as open until the count is dropped.
    pub(crate) fn open_stream(&self, company_id: i64) -> Result<Count, Error> {
        Ok(self.streams.add(company_id)?)
    }

    /// Counts a watcher as open until the count is dropped.
    pub(crate) fn watch(&self, company_id: i64) -> Result<Count, Error> {
        self.watchers.add(company_id).map_err(|full| self.too_many_watches(company_id, full))
    }

    /// Counts a call that opens a watch until the count is dropped.
    pub(crate) fn open_watch(&self, company_id: i64) -> Result<Count, Error> {
        self.callers.called(company_id);
        self.openings.add(company_id).map_err(|full| self.too_many_watches(company_id, full))
    }

    fn too_many_watches(&self, company_id: i64, full: Full) -> Error {
        let most = self.watchers.limit_of(company_id);
        let message = match full {
            Full::Company => format!("The company has reached its limit for open watches: {most}."),
            Full::Process => {
                format!("This instance of the service has reached its limit for open watches: {WATCHERS}.")
            }
        };
        Error { message, ..full.into() }
    }

    /// Counts a stream that needs no token as open until the count is dropped.
    pub(crate) fn open_to_all(&self, peer: Option<SocketAddr>) -> Result<Count, Error> {
        let network = match peer.map(|peer| http_server::network(peer.ip())) {
            Some(IpAddr::V4(address)) => i64::from(address.to_bits()),
            Some(IpAddr::V6(address)) => (address.to_bits() >> 64) as i64,
            None => 0,
        };
        self.open_to_all.add(network).map_err(|full| {
            let (whose, most) = match full {
                Full::Company => ("This address", OPEN_STREAMS_OF_A_PEER),
                Full::Process => ("This instance of the service", OPEN_STREAMS),
            };
            let message = format!("{whose} has reached its limit for open health and reflection streams: {most}.");
            Error { message, ..Full::Company.into() }
        })
    }
}

#[cfg(test)]
mod tests {
    use admission::Full;

    use super::{Quotas, WATCHERS_OF_A_COMPANY};
    use crate::CoreSettings;

    #[tokio::test]
    async fn a_company_with_limits_of_its_own_has_no_others() {
        let limits = ["1:in-flight=1", "1:streams=2", "1:watches=3", "1:memory=4KiB"];
        let company_limits = limits.iter().map(|limit| limit.parse().unwrap()).collect();
        let quotas = Quotas::new(&CoreSettings { company_limits, ..CoreSettings::default() }, 20);
        let _call = quotas.call(1).unwrap();
        assert_eq!(quotas.call(1).unwrap_err(), Full::Company);
        let _streams = [1, 1].map(|company| quotas.open_stream(company).unwrap());
        assert!(quotas.open_stream(1).is_err());
        let _watches = [1, 1, 1].map(|company| (quotas.open_watch(company).unwrap(), quotas.watch(company).unwrap()));
        for error in [quotas.open_watch(1).unwrap_err(), quotas.watch(1).unwrap_err()] {
            assert_eq!(error.message, "The company has reached its limit for open watches: 3.");
        }
        let mut memory = quotas.memory.reservation(Some(1));
        assert_eq!((memory.grow(4097), memory.grow(4096)), (Err(Full::Company), Ok(())));
        // Another company has the limits of all companies.
        let calls: Vec<_> = (0..).map_while(|_| quotas.call(2).ok()).collect();
        let streams: Vec<_> = (0..).map_while(|_| quotas.open_stream(2).ok()).collect();
        let watches: Vec<_> = (0..).map_while(|_| quotas.watch(2).ok()).collect();
        assert_eq!((calls.len(), streams.len(), watches.len()), (1024, 64, WATCHERS_OF_A_COMPANY));
        assert_eq!(quotas.memory.reservation(Some(2)).grow(1 << 20), Ok(()));
    }
}
