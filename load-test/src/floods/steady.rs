//! The steady small load of the company that is measured.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use load_test::{
    http::{Connection, headers, request},
    priority,
    target::Target,
    workload::{Chance, Operation, Universe},
};

/// Connections, of which each has one request in flight.
const CONNECTIONS: u32 = 16;
/// How long a response is waited for.
const LONGEST: Duration = Duration::from_secs(30);

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One affiliate.
    Read,
    /// The first page of the URLs.
    Page,
    /// One changed affiliate.
    Write,
}

/// The company that is measured.
#[derive(Clone)]
pub(super) struct Client {
    pub(super) target: Target,
    pub(super) token: String,
    pub(super) universe: Universe,
}

/// How long the calls took.
#[derive(Debug, Default)]
pub(super) struct Latencies {
    calls: Vec<(Kind, Duration)>,
    /// Calls that were refused or broke off. They count with the time that they took.
    pub(super) failed: usize,
}

impl Latencies {
    /// The time within which this part of the calls of a kind was answered.
    pub(super) fn percentile(&self, kind: Option<Kind>, part: f64) -> Duration {
        let of_kind = self.calls.iter().filter(|(of, _)| kind.is_none_or(|kind| kind == *of));
        let mut sorted: Vec<Duration> = of_kind.map(|(_, time)| *time).collect();
        sorted.sort_unstable();
        let index = (sorted.len() as f64 * part).ceil() as usize;
        sorted.get(index.saturating_sub(1)).copied().unwrap_or_default()
    }
}

/// Makes calls at a rate, on a thread of their own.
pub(super) async fn measure(client: Client, rate: u32, duration: Duration) -> anyhow::Result<Latencies> {
    let (sender, received) = tokio::sync::oneshot::channel();
    let thread = thread::Builder::new().name("steady".into());
    thread.spawn(move || {
        priority::first();
        let _ = sender.send(measure_here(&client, rate, duration));
    })?;
    received.await.context("the client of the other company failed")?
}

fn measure_here(client: &Client, rate: u32, duration: Duration) -> anyhow::Result<Latencies> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let latencies = Arc::new(Mutex::new(Latencies::default()));
    let next = AtomicU32::new(0);
    let start = Instant::now() + Duration::from_millis(20);
    let workers = (0..CONNECTIONS).map(|worker| {
        let worker = Worker {
            client,
            chance: Chance::new(u64::from(worker) + 7),
            latencies: &latencies,
            connection: None,
            bytes: Vec::new(),
        };
        worker.run(&next, start, Duration::from_secs(1) / rate, start + duration)
    });
    runtime.block_on(futures::future::join_all(workers));
    let mut latencies = latencies.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(std::mem::take(&mut latencies))
}

struct Worker<'c> {
    client: &'c Client,
    chance: Chance,
    latencies: &'c Mutex<Latencies>,
    connection: Option<Connection>,
    bytes: Vec<u8>,
}

impl Worker<'_> {
    /// Makes the calls that are due next. One that is late because all connections wait counts from when it was due.
    async fn run(mut self, next: &AtomicU32, start: Instant, interval: Duration, end: Instant) {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let due = start + interval * number;
            if due >= end {
                return;
            }
            let begun = if Instant::now() < due {
                tokio::time::sleep_until(due.into()).await;
                Instant::now()
            } else {
                due
            };
            let (kind, operation) = self.operation(number);
            let expected = operation.status();
            let status = tokio::time::timeout(LONGEST, self.call(&operation)).await;
            let is_right = matches!(status, Ok(Ok(status)) if status == expected);
            if !matches!(status, Ok(Ok(_))) {
                self.connection = None;
            }
            let mut latencies = self.latencies.lock().unwrap_or_else(PoisonError::into_inner);
            latencies.calls.push((kind, begun.elapsed()));
            latencies.failed += usize::from(!is_right);
        }
    }

    fn operation(&mut self, number: u32) -> (Kind, Operation) {
        let id = self.client.universe.affiliates.draw(&mut self.chance);
        match number % 10 {
            0 => (Kind::Page, Operation::ListUrls { page: 1, per_page: 20 }),
            1 => (Kind::Write, Operation::Update { id, notes: format!("Changed {:x}", self.chance.draw()) }),
            _ => (Kind::Read, Operation::GetAffiliate(id)),
        }
    }

    async fn call(&mut self, operation: &Operation) -> anyhow::Result<u16> {
        let Client { target, token, .. } = self.client;
        let connection = match &mut self.connection {
            Some(connection) => connection,
            None => self.connection.insert(Connection::open(target).await?),
        };
        let (method, path, body) = operation.rest();
        request(&mut self.bytes, method, &path, &headers(target, Some(token)), &body);
        Ok(connection.exchange(&self.bytes, |_| {}).await?.status)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Kind, Latencies};

    #[test]
    fn percentiles_are_of_one_kind_or_of_all() {
        let calls = (1..=100).map(|ms| (Kind::Read, Duration::from_millis(ms)));
        let calls = calls.chain([(Kind::Write, Duration::from_secs(1))]).collect();
        let latencies = Latencies { calls, failed: 0 };
        assert_eq!(latencies.percentile(Some(Kind::Read), 0.99), Duration::from_millis(99));
        assert_eq!(latencies.percentile(None, 1.0), Duration::from_secs(1));
        assert_eq!(latencies.percentile(Some(Kind::Page), 0.5), Duration::ZERO);
    }
}
