//! Soak test: mixed load over both layers and topologies, while the test kills and freezes processes, cuts connections, and disconnects callers.
//! Afterward, an audit checks all acknowledged writes of each key, in order.
//!
//! `tools/scripts/soak MINUTES` runs a long soak against an optimized program. Without `COMPLIANCE_SOAK_MINUTES`, the test ends after a few faults.

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

/// Number of clients, and of the companies they share.
const CLIENTS: u64 = 16;
const COMPANIES: u64 = 4;
/// Number of faults in a short run.
const FEW: usize = 4;

/// State shared by clients and faults.
struct Shared {
    sides: [Side; 2],
    over: AtomicBool,
    /// Counts starts and ends of faults: odd during a fault. After a thaw, a frozen process executes the requests it received. The database executes
    /// the statements from a killed process, even if the caller disconnected.
    faults: AtomicU64,
    outcomes: Mutex<Outcomes>,
}

/// Ends the load when dropped, even if the test fails.
struct Load(Arc<Shared>);

impl Drop for Load {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Relaxed);
    }
}

#[test]
#[ignore = "a long test: tools/scripts/test-long runs it"]
fn soak_loses_no_acknowledged_writes() {
    let minutes = std::env::var("COMPLIANCE_SOAK_MINUTES").ok().map(|text| text.parse::<f64>().unwrap());
    let seed = std::env::var("COMPLIANCE_MODEL_SEED").map_or(1, |seed| seed.parse().unwrap());
    println!("COMPLIANCE_MODEL_SEED={seed}");
    // The test kills the server, so writes must be durable, as in production.
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
    println!("faults {faults}, recovered within {slowest:.1?} | {audit} | counts: {}", counts.trim());
    let wrong: Vec<&String> = outcomes.wrong.iter().chain(&audit.violations).take(20).collect();
    assert!(wrong.is_empty(), "COMPLIANCE_MODEL_SEED={seed}: {wrong:#?}");
    assert!(status.success(), "{counts}");
    assert!(audit.acknowledged > 0);
}
