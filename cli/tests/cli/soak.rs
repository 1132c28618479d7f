//! A soak: mixed load over both layers and both topologies, while processes are killed and frozen, connections are cut, and callers
//! disconnect. Then an audit of every acknowledged write, value by value in the order of each key.
//!
//! `tools/scripts/soak MINUTES` runs it at length against an optimized program. Without `COMPLIANCE_SOAK_MINUTES`, it ends after
//! a few faults.

mod audit;
mod client;
mod faults;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use embedded_postgres::ClusterOptions;
use load_test::{target::Target, workload::Rng};
use test_support::Proxy;

use self::{
    client::{Client, Outcomes},
    faults::{Fault, Services},
};
use crate::{calls::Side, common::output, programs::Programs, witness};

/// Clients, and the companies that they share.
const CLIENTS: u64 = 16;
const COMPANIES: u64 = 4;
/// Faults of a short run.
const FEW: usize = 4;

/// The shared state of clients and faults.
struct Shared {
    sides: [Side; 2],
    over: AtomicBool,
    /// Counts the beginnings and the ends of faults, so it is odd during a fault. A frozen process later executes the requests that it has
    /// received. The database executes the statements that a killed process has sent, even if the caller has disconnected.
    faults: AtomicU64,
    outcomes: Mutex<Outcomes>,
}

/// Ends the load, even if the test fails.
struct Load(Arc<Shared>);

impl Drop for Load {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Relaxed);
    }
}

#[test]
#[ignore = "a long test: tools/scripts/test-long runs it"]
fn a_soak_loses_no_acknowledged_write() {
    let minutes = std::env::var("COMPLIANCE_SOAK_MINUTES").ok().map(|text| text.parse::<f64>().unwrap());
    let seed = std::env::var("COMPLIANCE_MODEL_SEED").map_or(1, |seed| seed.parse().unwrap());
    println!("COMPLIANCE_MODEL_SEED={seed}");
    // The server is killed, so its writes are durable, as for users.
    let options =
        ClusterOptions { shared_buffers_mib: 256, max_connections: 200, durable: true, ..ClusterOptions::temporary() };
    let programs = Programs::with(options);
    programs.run(witness::SCHEMA);
    let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut services = Services::start(&programs, |address| threads.block_on(Proxy::tcp(address)));
    let side = |rest, grpc| Side { rest: Target::local(rest), grpc: Target::local(grpc) };
    let shared = Arc::new(Shared {
        sides: [
            side(services.serve_rest(), services.serve_grpc()),
            side(services.gateway_rest(), services.core_grpc()),
        ],
        over: AtomicBool::new(false),
        faults: AtomicU64::new(0),
        outcomes: Mutex::default(),
    });
    let load = Load(Arc::clone(&shared));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let client = Client::new(number, 1 + (number % COMPANIES) as i64, seed, Arc::clone(&shared));
            let threads = threads.handle().clone();
            thread::spawn(move || threads.block_on(client.run()))
        })
        .collect();

    let started = Instant::now();
    let (mut injected, mut slowest) = (BTreeMap::<Fault, usize>::new(), Duration::ZERO);
    let mut chance = Rng::with_seed(seed);
    let is_over = |count| minutes.map_or(count >= FEW, |minutes| started.elapsed().as_secs_f64() > minutes * 60.0);
    let mut faults = Vec::new();
    for _ in (0..).take_while(|count| !is_over(*count)) {
        if faults.is_empty() {
            faults = Fault::shuffled(&mut chance);
        }
        let fault = faults.remove(0);
        *injected.entry(fault).or_default() += 1;
        slowest = slowest.max(services.inject(fault, &programs, &shared, &threads, &mut chance));
    }
    let duration = started.elapsed();
    drop(load);
    let models = clients.into_iter().map(|client| client.join().unwrap()).collect();
    let audit = threads.block_on(audit::audit(&programs.database(), &shared.sides, models));
    let (status, counts, _) = output(&mut programs.doctor(&["--counts"]));
    let outcomes = shared.outcomes.lock().unwrap();
    println!("{:.0} s; calls: {}", duration.as_secs_f64(), outcomes.shown());
    for (fault, count) in &injected {
        println!("{count:5} × {fault:?}");
    }
    let faults: usize = injected.values().sum();
    println!("faults {faults}, works again within {slowest:.1?} | {audit} | counts: {}", counts.trim());
    let wrong: Vec<&String> = outcomes.wrong.iter().chain(&audit.violations).take(20).collect();
    assert!(wrong.is_empty(), "COMPLIANCE_MODEL_SEED={seed}: {wrong:#?}");
    assert!(status.success(), "{counts}");
    assert!(audit.acknowledged > 0);
}
