//! `load-test floods`: what one company's flood does to another company's calls.
//!
//! The generator runs on the machine of the service. The flood's clients run at the lowest priority, so that they take
//! little of what the service could use; the other company's client is scheduled before all else, so that it measures the
//! service and not itself.

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
    /// Floods to measure, separated by commas [default: all, and threads that only compute].
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Flood>,
    /// Duration of each measurement in seconds.
    #[arg(long, default_value_t = 5, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// How often each flood is measured. A machine is quiet in one second and not in the next, so each measurement has one
    /// of the quiet service right before it, and the medians are printed.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100))]
    rounds: u64,
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

    println!(
        "{} requests a second of one company; medians of {} rounds of {} s each; latencies in ms",
        args.rate, args.rounds, args.seconds
    );
    println!("{HEADER}");
    // The first calls prepare statements.
    steady::measure(client.clone(), args.rate, WARM_UP).await?;
    let mut quiet = Vec::new();
    for _ in 0..args.rounds.max(3) {
        quiet.push(p99(&calls().await?));
    }
    let quiet = Quiet { client: client.clone(), rate: args.rate, usual: median(quiet.into_iter()) };
    let controls: &[u32] = if args.only.is_empty() { &[1, 2] } else { &[] };
    for threads in controls {
        let mut rounds = Rounds::default();
        for _ in 0..args.rounds {
            rounds.unquiet += u32::from(!quiet.wait().await?);
            rounds.alone.push(calls().await?);
            let usage = processes.usage();
            let busy: Vec<BusyProcessor> = (0..*threads).map(|_| BusyProcessor::start()).collect();
            rounds.beside.push(calls().await?);
            drop(busy);
            rounds.usage = processes.since(&usage);
        }
        rounds.print(&format!("none; busy threads: {threads}"), None);
    }
    let floods = if args.only.is_empty() { Flood::value_variants() } else { &args.only[..] };
    for flood in floods {
        let clients = args.clients.unwrap_or(flood.clients());
        let (mut rounds, mut first_failure) = (Rounds::default(), None);
        for _ in 0..args.rounds {
            rounds.unquiet += u32::from(!quiet.wait().await?);
            rounds.alone.push(calls().await?);
            let outcomes = Arc::new(Outcomes::default());
            let attack = attack::start(*flood, Arc::clone(&world), clients, Arc::clone(&outcomes));
            tokio::time::sleep(WARM_UP).await;
            outcomes.reset();
            processes.reset_peak();
            let (usage, started) = (processes.usage(), Instant::now());
            rounds.beside.push(calls().await?);
            rounds.usage = processes.since(&usage);
            rounds.outcomes = outcomes.per_second(started.elapsed().as_secs_f64());
            first_failure = first_failure.or_else(|| outcomes.first_failure().map(str::to_owned));
            attack.stop();
        }
        let name = flood.to_possible_value().map_or_else(String::new, |value| value.get_name().into());
        rounds.print(&format!("{name} × {clients}"), first_failure.as_deref());
    }
    Ok(())
}

/// What is waited for before each measurement, so that it does not count what the flood before has left, such as
/// statements that end late and the database's own cleaning.
struct Quiet {
    client: steady::Client,
    rate: u32,
    /// The p99 before the first flood, in milliseconds.
    usual: f64,
}

impl Quiet {
    /// Waits until the p99 is as usual, up to a minute. Returns whether it is.
    async fn wait(&self) -> anyhow::Result<bool> {
        let deadline = Instant::now() + Duration::from_mins(1);
        while Instant::now() < deadline {
            let latencies = steady::measure(self.client.clone(), self.rate, WARM_UP).await?;
            if p99(&latencies) <= self.usual * 1.25 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The measurements of a flood. Of what it does itself, the last round counts.
#[derive(Default)]
struct Rounds {
    alone: Vec<Latencies>,
    beside: Vec<Latencies>,
    /// How many began although the service was not quiet.
    unquiet: u32,
    outcomes: Outcomes,
    usage: Usage,
}

impl Rounds {
    fn print(&self, name: &str, first_failure: Option<&str>) {
        use steady::Kind::{Page, Read, Write};
        let ratios = self.alone.iter().zip(&self.beside).map(|(alone, beside)| p99(beside) / p99(alone));
        let beside = |kind, part| median(self.beside.iter().map(|calls| ms(calls, kind, part)));
        println!(
            "{name:23} | {:9.1} {:6.1} {:5.2} | {:7.2} {:9.1} {:9.1} {:9.1} {:6.0} | {:7} | {:13.0} {:7.0} {:6.0} | {:12.2} {:8.2} {:9.2} | {:3}",
            median(self.alone.iter().map(p99)),
            beside(None, 0.99),
            median(ratios),
            beside(None, 0.5),
            beside(Some(Read), 0.99),
            beside(Some(Page), 0.99),
            beside(Some(Write), 0.99),
            beside(None, 1.0),
            self.beside.iter().map(|calls| calls.failed).sum::<usize>(),
            self.outcomes.done.get(),
            self.outcomes.refused.get(),
            self.outcomes.failed.get(),
            self.usage.service,
            self.usage.database,
            self.usage.generator,
            self.usage.peak_mib,
        );
        if self.unquiet > 0 {
            println!("    rounds that began although the service was not quiet: {}", self.unquiet);
        }
        if let Some(error) = first_failure {
            println!("    the first failure of the flood: {error}");
        }
    }
}

/// The time within which this part of the calls of a kind was answered, in milliseconds.
fn ms(calls: &Latencies, kind: Option<steady::Kind>, part: f64) -> f64 {
    calls.percentile(kind, part).as_secs_f64() * 1000.0
}

fn p99(calls: &Latencies) -> f64 {
    ms(calls, None, 0.99)
}

/// The middle one of numbers; of an even number the lower.
fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = numbers.collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or_default()
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

const HEADER: &str = "flood                   | p99 alone beside ratio |     p50 reads p99 pages p99 write p99    max | not 2xx | flood/s: done refused failed | CPU: service database generator | MiB";

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_the_middle_one() {
        for (numbers, expected) in [(&[3.0, 1.0, 2.0][..], 2.0_f64), (&[4.0, 1.0, 3.0, 2.0], 2.0), (&[], 0.0)] {
            assert_eq!(median(numbers.iter().copied()).total_cmp(&expected), std::cmp::Ordering::Equal);
        }
    }
}
