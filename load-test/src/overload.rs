//! `load-test overload`: how much of the peak rate is left at ten times the connections, for clients that give up.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use clap::Args;
use load_test::{
    http::{Connection, headers, request},
    service::Demo,
    target::Target,
    workload::{Plan, Scenario, Universe},
};

use crate::floods::{Processes, Usage};

/// How much of the peak must be left.
const GOAL: f64 = 0.8;
/// How much more connections there are than at the peak.
const TIMES: u32 = 10;

/// Settings of overload.
#[derive(Args, Debug)]
pub(crate) struct OverloadArgs {
    /// Operations to call, separated by commas.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "point-read,url-page,url-add-one,update,url-add,mixed"
    )]
    scenario: Vec<Scenario>,
    /// Connections at the peak.
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    connections: u32,
    /// Companies.
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    companies: u32,
    /// Items of a batch in the scenarios that write batches.
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    batch: u64,
    /// Duration of each measurement in seconds.
    #[arg(long, default_value_t = 8, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Time within which a response counts, in milliseconds. A client then closes its connection and opens another one.
    #[arg(long, default_value_t = 1000, value_name = "MS")]
    deadline: u64,
    /// Fail if less than 80 % of the peak is left.
    #[arg(long)]
    check: bool,
}

/// Measures each scenario at its peak and beyond.
pub(crate) async fn run(args: &OverloadArgs) -> anyhow::Result<()> {
    let demo = Demo::start(args.companies).await?;
    let result = measure_all(args, &demo).await;
    demo.stop().await;
    result
}

async fn measure_all(args: &OverloadArgs, demo: &Demo) -> anyhow::Result<()> {
    let world = Arc::new(World {
        target: Target::local(demo.service.rest),
        companies: demo.companies.clone(),
        batch: args.batch,
        deadline: Duration::from_millis(args.deadline),
    });
    let processes = Processes { service: demo.service.process.pid, database: demo.database_pid()? };
    println!(
        "scenario    | connections | good/s  | late or refused/s | p99 ms | CPU: service database generator | MiB"
    );
    let mut worst = f64::INFINITY;
    for scenario in &args.scenario {
        let mut rates = Vec::new();
        for connections in [args.connections, args.connections * TIMES] {
            measure(&world, *scenario, connections, Duration::from_secs(1)).await?;
            processes.reset_peak();
            let usage = processes.usage();
            let mut counts = measure(&world, *scenario, connections, Duration::from_secs(args.seconds)).await?;
            print_row(*scenario, connections, &mut counts, args.seconds, &processes.since(&usage));
            rates.push(counts.good as f64 / args.seconds as f64);
        }
        let left = rates[1] / rates[0].max(f64::MIN_POSITIVE);
        println!("            |        left | {left:.2}");
        worst = worst.min(left);
    }
    ensure!(!args.check || worst >= GOAL, "only {worst:.2} of the peak is left at {TIMES} times the connections");
    Ok(())
}

fn print_row(scenario: Scenario, connections: u32, counts: &mut Counts, seconds: u64, usage: &Usage) {
    use clap::ValueEnum as _;
    counts.times.sort_unstable();
    let index = (counts.times.len() as f64 * 0.99) as usize;
    let p99 = counts.times.get(index).copied().unwrap_or_default();
    println!(
        "{:11} | {connections:11} | {:7.0} | {:17.0} | {:6.0} | {:12.2} {:8.2} {:9.2} | {:3}",
        scenario.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned()),
        counts.good as f64 / seconds as f64,
        counts.bad as f64 / seconds as f64,
        f64::from(p99) / 1000.0,
        usage.service,
        usage.database,
        usage.generator,
        usage.peak_mib,
    );
}

struct World {
    target: Target,
    companies: Vec<(String, Universe)>,
    batch: u64,
    deadline: Duration,
}

/// Responses in time, and all others.
#[derive(Default)]
struct Counts {
    good: u64,
    bad: u64,
    /// Of those in time, in microseconds.
    times: Vec<u32>,
}

/// Makes as many requests as there are responses, on a thread of its own.
async fn measure(
    world: &Arc<World>,
    scenario: Scenario,
    connections: u32,
    duration: Duration,
) -> anyhow::Result<Counts> {
    let (world, (sender, received)) = (Arc::clone(world), tokio::sync::oneshot::channel());
    thread::spawn(move || {
        let _ = sender.send(measure_here(&world, scenario, connections, duration));
    });
    received.await.context("the generator failed")?
}

fn measure_here(
    world: &Arc<World>,
    scenario: Scenario,
    connections: u32,
    duration: Duration,
) -> anyhow::Result<Counts> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let counts = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
    let times = runtime.block_on(async {
        let until = Instant::now() + duration;
        let clients: Vec<_> = (0..connections)
            .map(|number| tokio::spawn(client(Arc::clone(world), scenario, number, until, Arc::clone(&counts))))
            .collect();
        let mut times = Vec::new();
        for client in clients {
            times.extend(client.await.unwrap_or_default());
        }
        times
    });
    runtime.shutdown_background();
    let (good, bad) = &*counts;
    Ok(Counts { good: good.load(Ordering::Relaxed), bad: bad.load(Ordering::Relaxed), times })
}

/// One request after the other, until the end. Returns the times of those that were answered in time.
async fn client(
    world: Arc<World>,
    scenario: Scenario,
    number: u32,
    until: Instant,
    counts: Arc<(AtomicU64, AtomicU64)>,
) -> Vec<u32> {
    let (token, universe) = &world.companies[number as usize % world.companies.len()];
    let (mut connection, mut bytes, mut times) = (None, Vec::new(), Vec::new());
    let mut plan = Plan::new(scenario, world.batch, number);
    let headers = headers(&world.target, Some(token));
    while Instant::now() < until {
        let operation = plan.step(universe);
        let (method, path, body) = operation.rest();
        request(&mut bytes, method, &path, &headers, &body);
        let started = Instant::now();
        let exchange = async {
            let mut open = match connection.take() {
                Some(open) => open,
                None => Connection::open(&world.target).await?,
            };
            let status = open.exchange(&bytes, |_| {}).await?.status;
            anyhow::Ok((open, status))
        };
        let ended = tokio::time::timeout(world.deadline, exchange).await;
        if Instant::now() >= until {
            break;
        }
        let mut is_good = false;
        if let Ok(Ok((open, status))) = ended {
            connection = Some(open);
            is_good = status == operation.status();
        }
        if is_good {
            counts.0.fetch_add(1, Ordering::Relaxed);
            times.push(started.elapsed().as_micros() as u32);
        } else {
            counts.1.fetch_add(1, Ordering::Relaxed);
        }
    }
    times
}
