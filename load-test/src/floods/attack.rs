//! The floods of one company.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use clap::ValueEnum;
use load_test::{
    http::{Connection, headers, request},
    priority,
    target::Target,
    workload::{Plan, Scenario, Universe},
};

use super::grpc_attack;

/// What a company floods the service with. Each client makes the next request when it has the response to the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Flood {
    /// Single affiliates are read.
    Reads,
    /// Single URLs are added.
    Writes,
    /// Batches of 1,500 URLs are added.
    Batches,
    /// Batches of 1,000 affiliates are changed.
    Updates,
    /// Pages of 200 URLs are read.
    Pages,
    /// Whole lists of affiliates are read over REST.
    Lists,
    /// All URLs are exported over gRPC.
    Exports,
    /// Chunks of 1,000 observed URLs are streamed over gRPC.
    Observations,
    /// The health is watched over gRPC, by new streams all the time.
    Watchers,
}

impl Flood {
    /// Clients, unless another number is asked for.
    pub(super) fn clients(self) -> u32 {
        match self {
            Self::Reads | Self::Writes | Self::Watchers => 256,
            Self::Batches => 120,
            Self::Updates | Self::Pages => 100,
            Self::Lists | Self::Exports | Self::Observations => 64,
        }
    }

    fn scenario(self) -> Option<(Scenario, u64)> {
        match self {
            Self::Reads => Some((Scenario::PointRead, 1)),
            Self::Writes => Some((Scenario::UrlAddOne, 1)),
            Self::Batches => Some((Scenario::UrlAdd, 1500)),
            Self::Updates => Some((Scenario::BatchUpdate, 1000)),
            Self::Pages => Some((Scenario::DeepPage, 1)),
            Self::Lists => Some((Scenario::List, 1)),
            Self::Exports | Self::Observations | Self::Watchers => None,
        }
    }
}

/// The service and the company that floods it.
pub(super) struct World {
    pub(super) rest: Target,
    pub(super) grpc: Target,
    pub(super) token: String,
    pub(super) monitoring_token: String,
    pub(super) universe: Universe,
}

/// A number that clients count.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What came of the requests of a flood.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    pub(super) done: Counter,
    /// 429 and 503.
    pub(super) refused: Counter,
    /// Any other error.
    pub(super) failed: Counter,
    first_failure: OnceLock<String>,
}

impl Outcomes {
    pub(super) fn fail(&self, error: impl ToString) {
        self.failed.add();
        self.first_failure.get_or_init(|| error.to_string());
    }

    pub(super) fn first_failure(&self) -> Option<&str> {
        self.first_failure.get().map(String::as_str)
    }

    pub(super) fn reset(&self) {
        for counter in [&self.done, &self.refused, &self.failed] {
            counter.0.store(0, Ordering::Relaxed);
        }
    }

    pub(super) fn per_second(&self, seconds: f64) -> Self {
        let rate = |counter: &Counter| Counter(AtomicU64::new((counter.get() as f64 / seconds) as u64));
        let (done, refused, failed) = (rate(&self.done), rate(&self.refused), rate(&self.failed));
        Self { done, refused, failed, first_failure: OnceLock::new() }
    }
}

/// A flood that runs until it is stopped.
pub(super) struct Attack {
    over: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Attack {
    pub(super) fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Attack {
    fn drop(&mut self) {
        self.end();
    }
}

/// Starts a flood on a thread of its own.
pub(super) fn start(flood: Flood, world: Arc<World>, clients: u32, outcomes: Arc<Outcomes>) -> Attack {
    let over = Arc::new(AtomicBool::new(false));
    let until = Arc::clone(&over);
    let thread = thread::spawn(move || {
        priority::last();
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            for client in 0..clients {
                let (world, outcomes) = (Arc::clone(&world), Arc::clone(&outcomes));
                tokio::spawn(async move {
                    loop {
                        let ended = match flood.scenario() {
                            Some((scenario, batch)) => rest(&world, scenario, batch, client, &outcomes).await,
                            None => grpc_attack::run(flood, &world, client, &outcomes).await,
                        };
                        if let Err(error) = ended {
                            outcomes.fail(format!("{error:#}"));
                        }
                        // Without it, a service that refuses connections would keep this thread busy.
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                });
            }
            while !until.load(Ordering::Relaxed) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        runtime.shutdown_background();
    });
    Attack { over, thread: Some(thread) }
}

/// One request after the other on a connection, until it breaks.
async fn rest(world: &World, scenario: Scenario, batch: u64, client: u32, outcomes: &Outcomes) -> anyhow::Result<()> {
    let mut connection = Connection::open(&world.rest).await?;
    let mut plan = Plan::new(scenario, batch, client);
    let (headers, mut bytes) = (headers(&world.rest, Some(&world.token)), Vec::new());
    loop {
        let (method, path, body) = plan.step(&world.universe).rest();
        request(&mut bytes, method, &path, &headers, &body);
        let status = connection.exchange(&bytes, |_| {}).await?.status;
        match status {
            200..=299 => outcomes.done.add(),
            429 | 503 => outcomes.refused.add(),
            _ => outcomes.fail(status),
        }
    }
}
