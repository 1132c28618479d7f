//! What companies share of this process: memory, calls, streams, and statements that are not coalesced.

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

use crate::{
    CoreSettings,
    limits::{
        CALL_SHARE, CALLS_AT_LEAST, CONNECTIONS_OF_COALESCED, CPUS_PER_SLOT_WITH_OTHERS, HEAVY_ITEMS, LARGE_PAGE_SHARE,
        LARGE_PAGES, LONG_BATCHES_AT_LEAST, MAX_QUEUED_LARGE_PAGES, MAX_QUEUED_LONG_BATCHES, MAX_QUEUED_STATEMENTS,
        OPEN_STREAMS, OPEN_STREAMS_OF_A_PEER, QUEUE_SHARE, SLOT_SHARE, STATEMENTS_PER_CPU, STREAM_COMPANIES, WATCHERS,
        WATCHERS_OF_A_COMPANY,
    },
};

/// Clones share the shares.
#[derive(Clone, Debug)]
pub(crate) struct Shares {
    pub(crate) memory: Memory,
    pub(crate) calls: Counts,
    callers: Callers,
    pub(crate) refusals: Refusals,
    pub(crate) streams: Counts,
    pub(crate) watchers: Counts,
    /// Calls that open a watch. All watches of a company may be opened at once, so they are not among its calls.
    openings: Counts,
    /// Streams without a token, by the network of their peer.
    open_to_all: Counts,
    /// Pages, and batches that are short.
    pub(crate) statements: WorkQueue,
    /// Long batches: they keep a processor busy here, and another one in the database. Records of the past: they read all later batches.
    pub(crate) heavy: WorkQueue,
    /// Large pages: each keeps a connection for as long as its reader takes.
    pub(crate) large_pages: WorkQueue,
}

/// What a call makes the service do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueClass {
    /// Nothing, or a part of a coalesced statement.
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

impl Shares {
    /// `connections` are those to the database.
    pub(crate) fn new(settings: &CoreSettings, connections: u32) -> Self {
        let cpus = available_parallelism().map_or(1, usize::from);
        let connections = (connections as usize).saturating_sub(CONNECTIONS_OF_COALESCED).max(1);
        let callers = Callers::default();
        let limits = |running: usize, waiting: usize| QueueLimits {
            running,
            running_per_company: running.div_ceil(SLOT_SHARE),
            running_with_others: (cpus / CPUS_PER_SLOT_WITH_OTHERS).max(1),
            slow_after: SLOW_AFTER,
            waiting,
            waiting_per_company: waiting / QUEUE_SHARE,
        };
        let large_pages = limits((connections / LARGE_PAGE_SHARE).clamp(1, LARGE_PAGES), MAX_QUEUED_LARGE_PAGES);
        // One that is slow still has its connection.
        let large_pages = QueueLimits { running_with_others: 1, slow_after: Duration::MAX, ..large_pages };
        let queue = |limits| WorkQueue::new(limits, callers.clone());
        let CoreSettings { request_memory, max_in_flight, max_streams, .. } = *settings;
        Self {
            memory: Memory::new(request_memory, request_memory / MEMORY_SHARE),
            calls: Counts::new(max_in_flight, (max_in_flight / CALL_SHARE).max(CALLS_AT_LEAST)),
            streams: Counts::new(max_streams.saturating_mul(STREAM_COMPANIES), max_streams),
            watchers: Counts::new(WATCHERS, WATCHERS_OF_A_COMPANY),
            openings: Counts::new(WATCHERS, WATCHERS_OF_A_COMPANY),
            open_to_all: Counts::new(OPEN_STREAMS, OPEN_STREAMS_OF_A_PEER),
            statements: queue(limits((cpus * STATEMENTS_PER_CPU).min(connections), MAX_QUEUED_STATEMENTS)),
            heavy: queue(limits(cpus.max(LONG_BATCHES_AT_LEAST).min(connections), MAX_QUEUED_LONG_BATCHES)),
            large_pages: queue(large_pages),
            callers,
            refusals: Refusals::default(),
        }
    }

    /// Counts a call in flight of a company until what is returned is dropped.
    pub(crate) fn call(&self, company_id: i64) -> Result<Count, Full> {
        self.callers.called(company_id);
        self.calls.add(company_id)
    }

    pub(crate) fn are_several_calling(&self) -> bool {
        self.callers.are_several()
    }

    /// Waits until a company's work may run; it runs until the permit is dropped.
    pub(crate) async fn enter(&self, company_id: i64, work: QueueClass) -> Result<Option<WorkPermit>, Error> {
        // A stream's pages and chunks are work like calls.
        self.callers.called(company_id);
        match work {
            QueueClass::Coalesced => Ok(None),
            QueueClass::Statement => Ok(Some(self.statements.enter(company_id).await?)),
            QueueClass::Heavy => Ok(Some(self.heavy.enter(company_id).await?)),
        }
    }

    /// What is told that a company's work waits: it makes room for work of other companies.
    pub(crate) fn on_wait(&self) -> OnWait {
        let queues = [self.statements.clone(), self.heavy.clone()];
        Arc::new(move |company_id| queues.iter().for_each(|queue| queue.waits(company_id)))
    }

    /// Counts a stream as open until what is returned is dropped.
    pub(crate) fn open_stream(&self, company_id: i64) -> Result<Count, Error> {
        Ok(self.streams.add(company_id)?)
    }

    /// Counts a watcher as open until what is returned is dropped.
    pub(crate) fn watch(&self, company_id: i64) -> Result<Count, Error> {
        self.watchers.add(company_id).map_err(too_many_watches)
    }

    /// Counts a call that opens a watch until what is returned is dropped.
    pub(crate) fn open_watch(&self, company_id: i64) -> Result<Count, Error> {
        self.callers.called(company_id);
        self.openings.add(company_id).map_err(too_many_watches)
    }

    /// Counts a stream that needs no token as open until what is returned is dropped.
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
            let message = format!("{whose} has {most} streams of health and reflection open already.");
            Error { message, ..Full::Company.into() }
        })
    }
}

fn too_many_watches(full: Full) -> Error {
    let message = match full {
        Full::Company => format!("The company has {WATCHERS_OF_A_COMPANY} watches open already."),
        Full::Process => format!("This instance of the service has {WATCHERS} watches open already."),
    };
    Error { message, ..full.into() }
}
