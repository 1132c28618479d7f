//! `load-test floods`: what one company's flood does to another company's calls.
//!
//! The generator runs on the machine of the service. The flood's clients run at the lowest priority, so that they take
//! little of what the service could use; the other company's client runs above it, so that it measures the service and
//! not itself.

mod attack;
mod grpc_attack;
mod processes;
mod steady;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use clap::{Args, ValueEnum as _};
use load_test::{
    service::{Demo, monitoring_token},
    target::Target,
};

use attack::{Flood, Outcomes, World};
pub(crate) use processes::{Processes, Usage};
use steady::Latencies;

/// The company that floods, and the one that is measured.
const COMPANIES: u32 = 2;
/// How long a flood runs before the measurement begins.
const WARM_UP: Duration = Duration::from_secs(2);

/// Settings of floods.
#[derive(Args, Debug)]
pub(crate) struct FloodArgs {
    /// Floods to measure, separated by commas [default: all].
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Flood>,
    /// Duration of each measurement in seconds.
    #[arg(long, default_value_t = 10, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Requests per second of the other company.
    #[arg(long, default_value_t = 200, value_name = "R", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rate: u32,
    /// Clients of each flood, in place of its own number.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    clients: Option<u32>,
    /// Rate limit of the service.
    #[arg(long, default_value = "1000/s", value_name = "LIMIT")]
    rate_limit: String,
}

/// Measures the other company without a flood and during each.
pub(crate) async fn run(args: &FloodArgs) -> anyhow::Result<()> {
    let demo = Demo::start_with(COMPANIES, &["--rate-limit", &args.rate_limit]).await?;
    let result = measure_all(args, &demo).await;
    demo.stop().await;
    result
}

async fn measure_all(args: &FloodArgs, demo: &Demo) -> anyhow::Result<()> {
    let [(flood_token, flood_universe), (token, universe)] = &demo.companies[..] else {
        anyhow::bail!("there are two companies");
    };
    let world = Arc::new(World {
        rest: Target::local(demo.service.rest),
        grpc: Target::local(demo.service.grpc),
        token: flood_token.clone(),
        monitoring_token: monitoring_token(flood_universe.company)?,
        universe: flood_universe.clone(),
    });
    let client = steady::Client { target: world.rest.clone(), token: token.clone(), universe: universe.clone() };
    let processes = Processes { service: demo.service.process.pid, database: demo.database_pid()? };
    let duration = Duration::from_secs(args.seconds);
    let calls = async || steady::measure(client.clone(), args.rate, duration).await;

    println!("{} requests a second of one company, {} s each; latencies in ms", args.rate, args.seconds);
    println!("{HEADER}");
    let usage = processes.usage();
    // The first calls prepare statements.
    steady::measure(client.clone(), args.rate, WARM_UP).await?;
    let before = calls().await?;
    print_row("none", &before, &Outcomes::default(), &processes.since(&usage));
    let usage = processes.usage();
    let busy = BusyProcessor::start();
    let beside = calls().await;
    drop(busy);
    print_row("none; one busy thread", &beside?, &Outcomes::default(), &processes.since(&usage));
    let floods = if args.only.is_empty() { Flood::value_variants() } else { &args.only[..] };
    for flood in floods {
        let clients = args.clients.unwrap_or(flood.clients());
        let outcomes = Arc::new(Outcomes::default());
        let attack = attack::start(*flood, Arc::clone(&world), clients, Arc::clone(&outcomes));
        tokio::time::sleep(WARM_UP).await;
        outcomes.reset();
        processes.reset_peak();
        let (usage, started) = (processes.usage(), Instant::now());
        let during = calls().await;
        let (usage, seconds) = (processes.since(&usage), started.elapsed().as_secs_f64());
        let name =
            format!("{} × {clients}", flood.to_possible_value().map_or_else(String::new, |v| v.get_name().into()));
        print_row(&name, &during?, &outcomes.per_second(seconds), &usage);
        if let Some(error) = outcomes.first_failure() {
            println!("    the first failure of the flood: {error}");
        }
        attack.stop();
        // What the flood has left is done before the next one begins.
        settle(&client).await?;
    }
    Ok(())
}

/// A thread that computes all the time, beside the service: what it does to the other company's calls is the system's
/// doing, and any work of another company does the same.
struct BusyProcessor(Arc<AtomicBool>);

impl BusyProcessor {
    fn start() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&is_over);
        std::thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        Self(is_over)
    }
}

impl Drop for BusyProcessor {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Waits until the other company is served as quickly as without a flood, up to half a minute.
async fn settle(client: &steady::Client) -> anyhow::Result<()> {
    let deadline = Instant::now() + Duration::from_secs(30);
    while Instant::now() < deadline {
        let latencies = steady::measure(client.clone(), 100, Duration::from_secs(1)).await?;
        if latencies.percentile(None, 0.99) < Duration::from_millis(10) {
            break;
        }
    }
    Ok(())
}

const HEADER: &str = "flood                   |  all p50    p99    max | reads p99 pages p99 write p99 | not 2xx | flood/s: done refused failed | CPU: service database generator | MiB";

fn print_row(name: &str, calls: &Latencies, flood: &Outcomes, usage: &Usage) {
    use steady::Kind::{Page, Read, Write};
    let ms = |kind, part| calls.percentile(kind, part).as_secs_f64() * 1000.0;
    println!(
        "{name:23} | {:8.2} {:6.1} {:6.0} | {:9.1} {:9.1} {:9.1} | {:7} | {:13.0} {:7.0} {:6.0} | {:12.2} {:8.2} {:9.2} | {:3}",
        ms(None, 0.5),
        ms(None, 0.99),
        ms(None, 1.0),
        ms(Some(Read), 0.99),
        ms(Some(Page), 0.99),
        ms(Some(Write), 0.99),
        calls.failed,
        flood.done.get(),
        flood.refused.get(),
        flood.failed.get(),
        usage.service,
        usage.database,
        usage.generator,
        usage.peak_mib,
    );
}
