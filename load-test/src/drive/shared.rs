//! State that all workers share, and the count of responses.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering},
};

use anyhow::bail;
use load_test::{
    check::LimitReached,
    target::Target,
    workload::{Scenario, Universe},
};
use rlt::{IterReport, Status};
use tokio::time::Duration;

/// Responses of all workers.
#[derive(Debug, Default)]
struct Responses {
    right: AtomicU64,
    wrong: AtomicU64,
    /// The error of the first wrong response.
    first_error: OnceLock<String>,
    /// The first error that says that a limit was reached.
    limit_reached: OnceLock<String>,
}

/// A company under load.
#[derive(Clone, Debug)]
pub(super) struct Company {
    pub(super) token: String,
    pub(super) universe: Universe,
}

/// State that all workers share.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) target: Target,
    pub(super) scenario: Scenario,
    /// At least one.
    companies: Arc<[Company]>,
    pub(super) batch: u64,
    responses: Arc<Responses>,
}

impl Shared {
    /// There must be at least one company.
    pub(super) fn new(target: Target, scenario: Scenario, companies: Vec<Company>, batch: u64) -> Self {
        Self { target, scenario, companies: companies.into(), batch, responses: Arc::default() }
    }

    /// Fails if a response was wrong or none arrived.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let Responses { right, wrong, first_error, limit_reached } = &*self.responses;
        match wrong.load(Ordering::Relaxed) {
            0 if right.load(Ordering::Relaxed) == 0 => bail!("no response arrived in this time"),
            0 => Ok(()),
            count => {
                let error = limit_reached.get().or(first_error.get()).map_or("", String::as_str);
                bail!("the result is void: {count} wrong responses, such as: {error}")
            }
        }
    }

    /// The company of a worker.
    pub(super) fn company(&self, worker: u32) -> &Company {
        &self.companies[worker as usize % self.companies.len()]
    }

    /// Counts a response and reports it to the library. `result` is the number of its records.
    pub(super) fn report(&self, duration: Duration, bytes: u64, result: anyhow::Result<u64>) -> IterReport {
        let (status, items) = match result {
            Ok(items) => {
                self.responses.right.fetch_add(1, Ordering::Relaxed);
                (Status::success(0), items)
            }
            Err(error) => {
                self.responses.wrong.fetch_add(1, Ordering::Relaxed);
                let first = if error.is::<LimitReached>() {
                    &self.responses.limit_reached
                } else {
                    &self.responses.first_error
                };
                first.get_or_init(|| format!("{error:#}"));
                (Status::error(1), 0)
            }
        };
        IterReport { duration, status, bytes, items }
    }
}
