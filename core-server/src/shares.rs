//! What companies share of this process: memory, calls, streams, and statements that are not coalesced.

use std::{thread::available_parallelism, time::Duration};

use admission::{Callers, Count, Counts, FairQueue, Full, Memory, QueueLimits, Refusals, Slot};
use compliance_api::error::Error;

use crate::CoreSettings;

/// Of the memory of requests, one company may hold this part.
const MEMORY_SHARE: usize = 2;
/// A company may have this part of the calls in flight, and at least so many.
const CALL_SHARE: usize = 4;
const CALLS_AT_LEAST: usize = 64;
/// Open streams of all companies: so many times what one company may have.
const STREAM_COMPANIES: usize = 16;
/// A statement that takes longer does not keep other companies from theirs.
const SLOW_AFTER: Duration = Duration::from_secs(2);
/// Work with more items than this is heavy.
const HEAVY_ITEMS: usize = 100;
/// Items that weigh as much as a statement by itself.
const ITEMS_OF_A_STATEMENT: usize = 10;
/// Large pages that are read at the same time, if a quarter of the connections is as many.
const LARGE_PAGES: usize = 4;
/// Connections to the database that are left to coalesced reads and writes.
const RESERVED_CONNECTIONS: usize = 4;

/// The shares. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Shares {
    pub(crate) memory: Memory,
    calls: Counts,
    callers: Callers,
    pub(crate) refusals: Refusals,
    streams: Counts,
    /// Pages, and batches that are short.
    statements: FairQueue,
    /// Long batches: they keep a core busy here, and another one in the database.
    heavy: FairQueue,
    /// Large pages: each keeps a connection for as long as its reader takes.
    large_pages: FairQueue,
}

/// What a call makes the service do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Nothing, or a part of a coalesced statement.
    Coalesced,
    /// A statement of its own, which weighs this.
    Statement(usize),
    /// A long batch of so many items.
    Heavy(usize),
}

impl Work {
    /// A statement of its own for so many items.
    pub(crate) fn of_items(items: usize) -> Self {
        if items > HEAVY_ITEMS { Self::Heavy(items) } else { Self::Statement(1 + items / ITEMS_OF_A_STATEMENT) }
    }

    pub(crate) fn is_heavy(self) -> bool {
        matches!(self, Self::Heavy(_))
    }
}

impl Shares {
    /// `connections` are those to the database.
    pub(crate) fn new(settings: &CoreSettings, connections: u32) -> Self {
        let cores = available_parallelism().map_or(1, usize::from);
        let connections = (connections as usize).saturating_sub(RESERVED_CONNECTIONS).max(1);
        let statements = (cores * 4).min(connections);
        let heavy = cores.max(2).min(connections);
        let callers = Callers::default();
        let queue = |running: usize, waiting: usize| {
            let limits = QueueLimits {
                running,
                // The others find a slot at once, however many calls of one company wait.
                running_per_company: running.div_ceil(2),
                // Half of the processors stay free for them: what a company's work takes here and in the database, one
                // after the other, counts.
                running_beside_others: (cores / 2).max(1),
                slow_after: SLOW_AFTER,
                waiting,
                waiting_per_company: waiting / 4,
            };
            FairQueue::new(limits, callers.clone())
        };
        // One that is slow still has its connection.
        let large_pages = (connections / 4).clamp(1, LARGE_PAGES);
        let large_pages = QueueLimits {
            running: large_pages,
            running_per_company: large_pages.div_ceil(2),
            running_beside_others: 1,
            slow_after: Duration::MAX,
            waiting: 1024,
            waiting_per_company: 256,
        };
        let large_pages = FairQueue::new(large_pages, callers.clone());
        let CoreSettings { request_memory, max_in_flight, max_streams, .. } = *settings;
        Self {
            memory: Memory::new(request_memory, request_memory / MEMORY_SHARE),
            calls: Counts::new(max_in_flight, (max_in_flight / CALL_SHARE).max(CALLS_AT_LEAST)),
            streams: Counts::new(max_streams.saturating_mul(STREAM_COMPANIES), max_streams),
            statements: queue(statements, 4096),
            heavy: queue(heavy, 1024),
            large_pages,
            callers,
            refusals: Refusals::default(),
        }
    }

    /// Counts a call in flight of a company until what is returned is dropped.
    pub(crate) fn call(&self, company_id: i64) -> Result<Count, Full> {
        self.callers.called(company_id);
        self.calls.add(company_id)
    }

    /// Whether several companies call.
    pub(crate) fn are_several_calling(&self) -> bool {
        self.callers.are_several()
    }

    /// Waits until a company's work may run; it runs until the slot is dropped.
    pub(crate) async fn enter(&self, company_id: i64, work: Work) -> Result<Option<Slot>, Error> {
        // A stream's pages and chunks are work like calls.
        self.callers.called(company_id);
        let slot = match work {
            Work::Coalesced => return Ok(None),
            Work::Statement(weight) => self.statements.enter(company_id, weight).await,
            Work::Heavy(items) => self.heavy.enter(company_id, items).await,
        };
        Ok(Some(slot?))
    }

    /// Waits until a large page may be read.
    pub(crate) async fn enter_large_page(&self, company_id: i64) -> Result<Slot, Error> {
        Ok(self.large_pages.enter(company_id, 1).await?)
    }

    /// The queues of work, by name.
    pub(crate) fn queues(&self) -> [(&'static str, FairQueue); 3] {
        let Self { statements, heavy, large_pages, .. } = self;
        [("statements", statements), ("long batches", heavy), ("large pages", large_pages)]
            .map(|(name, queue)| (name, queue.clone()))
    }

    pub(crate) fn calls_in_flight(&self) -> usize {
        self.calls.open()
    }

    pub(crate) fn streams_open(&self) -> usize {
        self.streams.open()
    }

    /// Counts a stream as open until what is returned is dropped.
    pub(crate) fn open_stream(&self, company_id: i64) -> Result<Count, Error> {
        Ok(self.streams.add(company_id)?)
    }
}

/// Does work in its slot, if it has one.
pub(crate) async fn run<F: Future>(slot: &mut Option<Slot>, work: F) -> F::Output {
    match slot {
        Some(slot) => slot.run(work).await,
        None => work.await,
    }
}
