//! Effects of load on others: one company's floods during another company's calls, and ten times the connections of the peak
//! for clients that give up.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::Context as _;
use load_test::{
    load::{Load, LoadWorker},
    measure::{Worker, measure},
    priority,
    target::Target,
    workload::{Scenario, Universe},
};

use crate::{
    contender::Contender, dataset, lists::ours, measure::Sample, results::Results, stage::Stage, tables::Table,
};

/// A flood: operations, items of a batch, and connections.
const FLOODS: [(&str, Scenario, u64, u32); 8] = [
    ("single reads", Scenario::PointRead, 1, 64),
    ("pages of URLs", Scenario::UrlPage, 1, 64),
    ("late pages of URLs", Scenario::DeepPage, 1, 64),
    ("whole lists", Scenario::List, 1, 32),
    ("single updates", Scenario::Update, 1, 64),
    ("new affiliates, 1,000 a request", Scenario::BatchCreate, 1_000, 16),
    ("updates, 1,000 a request", Scenario::BatchUpdate, 1_000, 16),
    ("new URLs, 1,000 a request", Scenario::UrlAdd, 1_000, 16),
];
/// Requests a second of the other company, and its connections.
const CALM: (f64, u32) = (200.0, 16);
/// Time of a flood before the measurement of the other company.
const WARM_UP: Duration = Duration::from_secs(1);

/// Operations under overload, and the connections of the peak and beyond.
const OVERLOADED: [(&str, Scenario); 4] = [
    ("point reads in a second", Scenario::PointRead),
    ("pages of URLs in a second", Scenario::UrlPage),
    ("new URLs in a second", Scenario::UrlAddOne),
    ("mixed requests in a second", Scenario::Mixed),
];
const CONNECTIONS: [u32; 2] = [64, 640];
/// Timeout of a client.
const PATIENCE: Duration = Duration::from_secs(1);

/// Minimum fraction of the peak rate at ten times its connections.
pub(crate) fn goals() -> impl Iterator<Item = (&'static str, [u32; 2], f64)> {
    OVERLOADED.into_iter().map(|(work, _)| (work, CONNECTIONS, 0.8))
}

/// Measures one round.
pub(crate) async fn round(stage: &Stage<'_>, seconds: f64, results: &mut Results) -> anyhow::Result<()> {
    let (contender, target) = (stage.contender('a').context("our own REST does not run")?, ours(stage)?);
    let mut crowd = Vec::new();
    for company in dataset::crowd() {
        // Writes add records.
        crowd.push(Universe { affiliates_total: None, ..stage.database.universe(company).await? });
    }
    for (what, scenario, batch, connections) in FLOODS {
        let calm = async || calm(&target, contender, &crowd[..1], seconds).await;
        let alone = calm().await?;
        let token = contender.token(crowd[1].company)?;
        let flood = Flood::start(target.clone(), token, crowd[1].clone(), (scenario, batch, connections));
        tokio::time::sleep(WARM_UP).await;
        let during = calm().await?;
        drop(flood);
        results.add(Table::Floods, what, u64::from(connections), Some(alone), during);
    }
    let tokens = crowd.iter().map(|universe| contender.token(universe.company)).collect::<anyhow::Result<Vec<_>>>()?;
    for (work, scenario) in OVERLOADED {
        for connections in CONNECTIONS {
            let load = Load { scenario, batch: 10, companies: &crowd, connections };
            let workers = load.rest(&target, &tokens).await?;
            let workers: Vec<_> =
                workers.into_iter().map(|worker| Impatient { worker, target: target.clone() }).collect();
            let sample = Sample::of(workers, seconds, &contender.processes, stage.database.pid()?).await?;
            let series = results.series(work, (contender.key, contender.name), crowd.len() as u32, connections);
            series.samples.push(sample);
        }
    }
    stage.database.tidy().await
}

/// The p99 of a company that makes few requests, in milliseconds.
async fn calm(target: &Target, contender: &Contender, company: &[Universe], seconds: f64) -> anyhow::Result<f64> {
    let (rate, connections) = CALM;
    let load = Load { scenario: Scenario::Mixed, batch: 10, companies: company, connections };
    let workers = load.rest(target, &[contender.token(company[0].company)?]).await?;
    Ok(measure(workers, seconds, Some(rate), || ()).await?.milliseconds(0.99))
}

/// Requests of one company without pauses, until it is dropped. Its thread runs after all others, so that it takes little from
/// the service.
struct Flood {
    is_over: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Flood {
    fn start(target: Target, token: Option<String>, universe: Universe, load: (Scenario, u64, u32)) -> Self {
        let (is_over, (scenario, batch, connections)) = (Arc::new(AtomicBool::new(false)), load);
        let end = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            priority::last();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let load = Load { scenario, batch, companies: &[universe], connections };
            let flood = async {
                for mut worker in load.rest(&target, &[token]).await.unwrap_or_default() {
                    let target = target.clone();
                    tokio::spawn(async move {
                        loop {
                            // The service may refuse it.
                            if worker.once().await.is_err() {
                                tokio::time::sleep(Duration::from_millis(20)).await;
                                let _ = worker.reconnect(&target).await;
                            }
                        }
                    });
                }
                while !end.load(Ordering::Relaxed) {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            };
            if let Ok(runtime) = runtime {
                runtime.block_on(flood);
            }
        });
        Self { is_over, thread: Some(thread) }
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(thread::JoinHandle::join);
    }
}

/// Repeats a request on other connections until a correct response arrives in time. Only that response counts.
struct Impatient {
    worker: LoadWorker,
    target: Target,
}

impl Worker for Impatient {
    async fn once(&mut self) -> anyhow::Result<()> {
        loop {
            if let Ok(Ok(())) = tokio::time::timeout(PATIENCE, self.worker.once()).await {
                return Ok(());
            }
            self.worker.reconnect(&self.target).await?;
        }
    }
}
