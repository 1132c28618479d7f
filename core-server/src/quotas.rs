//! Enforces per-company limits in this process (memory, calls, streams and uncoalesced statements), and measures each company's usage.

use std::{collections::HashMap, sync::Arc, thread::available_parallelism, time::Duration};

use admission::{
    LimitReached, MEMORY_QUOTA_DIVISOR, Memory, RejectionDelay, Reservation, ResponseMemory, WorkPermit, WorkQueue,
};
use compliance_api::error::Error;
use metrics::{Counter, Histogram, counter, histogram};
use parking_lot::RwLock;
use telemetry::metrics::is_installed;
use tokio::sync::Semaphore;
use tonic::{Code, Response};

use crate::{CompanyLimit, CoreSettings, Limit};

/// Each company can use a quarter of the calls in flight, and at least `CALLS_AT_LEAST`.
pub const CALL_SHARE: usize = 4;
const CALLS_AT_LEAST: usize = 64;
/// Maximum number of streams, as a multiple of the maximum per company.
const STREAM_COMPANIES: usize = 16;
/// Maximum number of items in a short batch. A long batch occupies a processor here and another one in the database.
pub const HEAVY_ITEMS: usize = 100;
/// Database connections reserved for coalesced reads and writes.
const CONNECTIONS_OF_COALESCED: usize = 4;
/// Maximum number of concurrent large pages. They use at most a quarter of the connections.
const LARGE_PAGES: usize = 4;
const LARGE_PAGE_SHARE: usize = 4;
/// Maximum number of health and reflection streams, which need no token.
pub const OPEN_STREAMS: usize = 1024;
/// Maximum number of watchers. Each watcher uses little memory, but occupies a connection or a stream on one.
const WATCHERS: usize = 10_000;
/// Maximum number of watchers per company.
pub const WATCHERS_OF_A_COMPANY: usize = 2000;

/// Clones share one set of limits.
#[derive(Clone)]
pub(crate) struct Quotas {
    pub(crate) memory: Memory,
    pub(crate) calls: WorkQueue,
    pub(crate) rejections: RejectionDelay,
    pub(crate) streams: WorkQueue,
    pub(crate) watchers: WorkQueue,
    pub(crate) usage: Arc<Usage>,
    /// Calls that open a watch. Their limit is separate, because a company can open all its watches simultaneously.
    openings: WorkQueue,
    /// Streams that need no token.
    pub(crate) open_to_all: Arc<Semaphore>,
    /// Pages and batches.
    pub(crate) statements: WorkQueue,
    /// Large pages. Each page occupies a connection until its reader has received it.
    pub(crate) large_pages: WorkQueue,
}

/// The database work of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DatabaseWork {
    /// No statement, or part of a coalesced statement. Needs no permit.
    Coalesced,
    /// A separate statement.
    Statement,
    /// A long batch, which also occupies a processor here.
    LongStatement,
}

impl DatabaseWork {
    pub(crate) fn of_items(items: usize) -> Self {
        if items > HEAVY_ITEMS { Self::LongStatement } else { Self::Statement }
    }

    pub(crate) fn is_long(self) -> bool {
        self == Self::LongStatement
    }
}

impl Quotas {
    /// Creates the limits for this number of database connections.
    pub(crate) fn new(settings: &CoreSettings, connections: u32) -> Self {
        let cpus = available_parallelism().map_or(1, usize::from);
        let connections = (connections as usize).saturating_sub(CONNECTIONS_OF_COALESCED).max(1);
        let large_pages = (connections / LARGE_PAGE_SHARE).clamp(1, LARGE_PAGES);
        let CoreSettings { request_memory, max_in_flight, max_streams, .. } = *settings;
        let in_flight = |limit| if let Limit::InFlight(calls) = limit { Some(calls) } else { None };
        let calls = CompanyLimit::by_company(&settings.company_limits, in_flight);
        let calls_of_a_company = (max_in_flight / CALL_SHARE).max(CALLS_AT_LEAST);
        Self {
            memory: Memory::new(request_memory, request_memory / MEMORY_QUOTA_DIVISOR),
            calls: WorkQueue::with_companies(max_in_flight, calls_of_a_company, calls),
            streams: WorkQueue::new(max_streams.saturating_mul(STREAM_COMPANIES), max_streams),
            watchers: WorkQueue::new(WATCHERS, WATCHERS_OF_A_COMPANY),
            openings: WorkQueue::new(WATCHERS, WATCHERS_OF_A_COMPANY),
            usage: Usage::new(settings),
            open_to_all: Arc::new(Semaphore::new(OPEN_STREAMS)),
            // The number of connections limits the statements of all companies. One company can keep all processors busy, but leaves
            // connections for others.
            statements: WorkQueue::new(Semaphore::MAX_PERMITS, (cpus + 1).min(connections.div_ceil(2))),
            large_pages: WorkQueue::new(large_pages, large_pages.div_ceil(2)),
            rejections: RejectionDelay::default(),
        }
    }

    /// Counts a company's call as in flight until the permit is dropped.
    pub(crate) fn call(&self, company_id: i64) -> Result<WorkPermit, LimitReached> {
        self.calls.try_enter(company_id)
    }

    /// Waits for a permit for a company's work. The caller drops the permit after the work.
    pub(crate) async fn enter(&self, company_id: i64, work: DatabaseWork) -> Result<Option<WorkPermit>, Error> {
        match work {
            DatabaseWork::Coalesced => Ok(None),
            DatabaseWork::Statement | DatabaseWork::LongStatement => Ok(Some(self.statements.enter(company_id).await?)),
        }
    }

    /// Counts a stream as open until the permit is dropped.
    pub(crate) fn open_stream(&self, company_id: i64) -> Result<WorkPermit, Error> {
        Ok(self.streams.try_enter(company_id)?)
    }

    /// Counts a watcher as open until the permit is dropped.
    pub(crate) fn watch(&self, company_id: i64) -> Result<WorkPermit, Error> {
        self.watchers.try_enter(company_id).map_err(too_many_watches)
    }

    /// Counts a call that opens a watch until the permit is dropped.
    pub(crate) fn open_watch(&self, company_id: i64) -> Result<WorkPermit, Error> {
        self.openings.try_enter(company_id).map_err(too_many_watches)
    }
}

fn too_many_watches(limit: LimitReached) -> Error {
    let (owner, most) = match limit {
        LimitReached::Company => ("The company", WATCHERS_OF_A_COMPANY),
        LimitReached::Process => ("This instance of the service", WATCHERS),
    };
    let message = format!("{owner} has reached its limit for open watches: {most}.");
    Error { message, ..limit.into() }
}

/// Returns a response that holds its memory until it is sent.
pub(crate) fn with_memory<T>(message: T, memory: impl Into<Option<Reservation>>) -> Response<T> {
    let mut response = Response::new(message);
    if let Some(memory) = memory.into().filter(|memory| memory.bytes() > 0) {
        response.extensions_mut().insert(ResponseMemory::new(memory));
    }
    response
}

pub(crate) const CALLS: &str = "compliance_company_calls_total";
pub(crate) const DURATION: &str = "compliance_company_call_duration_seconds";
pub(crate) const WRITTEN: &str = "compliance_company_items_written_total";
/// The label of all companies without their own label.
const OTHER: &str = "other";

/// Usage metrics per company, with a bounded number of labels.
///
/// A label lasts until the process ends. The first companies to call get their own labels, and the others share one. Companies with their
/// own limits get a label at startup, because operators watch them.
pub(crate) struct Usage {
    most: usize,
    companies: RwLock<HashMap<i64, Arc<CompanyUsage>>>,
    other: Arc<CompanyUsage>,
}

struct CompanyUsage {
    ok: Counter,
    rejected: Counter,
    limited: Counter,
    failed: Counter,
    duration: Histogram,
    written: Counter,
}

impl Usage {
    fn new(settings: &CoreSettings) -> Arc<Self> {
        let other = Arc::new(CompanyUsage::labelled(OTHER.to_owned()));
        let usage = Self { most: settings.company_metrics, companies: RwLock::default(), other };
        for limit in &settings.company_limits {
            usage.of(limit.company);
        }
        Arc::new(usage)
    }

    /// Counts a finished call and the items that it wrote.
    pub(crate) fn called(&self, company: i64, code: Code, duration: Duration, written: usize) {
        if !is_installed() {
            return;
        }
        let usage = self.of(company);
        let result = match code {
            Code::Ok => &usage.ok,
            Code::ResourceExhausted => &usage.limited,
            Code::Internal | Code::Unknown | Code::DataLoss | Code::Unavailable | Code::DeadlineExceeded => {
                &usage.failed
            }
            _ => &usage.rejected,
        };
        result.increment(1);
        usage.duration.record(duration);
        if code == Code::Ok {
            usage.written.increment(written as u64);
        }
    }

    /// Counts the items that a stream message wrote.
    pub(crate) fn wrote(&self, company: i64, items: usize) {
        if is_installed() {
            self.of(company).written.increment(items as u64);
        }
    }

    fn of(&self, company: i64) -> Arc<CompanyUsage> {
        let Self { most, companies, other } = self;
        let labelled = companies.read();
        match labelled.get(&company) {
            Some(usage) => return Arc::clone(usage),
            None if labelled.len() >= *most => return Arc::clone(other),
            None => drop(labelled),
        }
        let mut companies = companies.write();
        if companies.len() >= *most && !companies.contains_key(&company) {
            return Arc::clone(other);
        }
        let usage = || Arc::new(CompanyUsage::labelled(company.to_string()));
        Arc::clone(companies.entry(company).or_insert_with(usage))
    }
}

impl CompanyUsage {
    /// Creates a label's metrics. Counters start at 0, which makes their first increase visible.
    fn labelled(company: String) -> Self {
        let calls = |result: &'static str| {
            let calls = counter!(CALLS, "company" => company.clone(), "result" => result);
            calls.increment(0);
            calls
        };
        let written = counter!(WRITTEN, "company" => company.clone());
        written.increment(0);
        Self {
            ok: calls("ok"),
            rejected: calls("rejected"),
            limited: calls("limited"),
            failed: calls("failed"),
            duration: histogram!(DURATION, "company" => company.clone()),
            written,
        }
    }
}

#[cfg(test)]
mod tests;
