//! Compares random interleavings of waits, disconnecting callers and competing writes with a model. The service runs as one process and in two tiers
//! (two sides), on one database.
//!
//! In each interleaving:
//!
//! 1. A company sends a write (OLD) to one side, where the write waits.
//! 2. The caller disconnects, and the service logs the disconnect.
//! 3. The other side receives and acknowledges a competing write (NEW) to the same records. The test reads NEW back.
//! 4. The wait ends.
//!
//! Afterward:
//!
//! - No statement that began after the service logged the disconnect wrote OLD.
//! - The database contains NEW. The service cancels an in-flight statement of OLD. In very few interleavings, the statement still runs after NEW.
//! - Every acknowledged write exists exactly once.
//!
//! Many companies run at the same time, so they also wait for each other's permits and connections.

mod model;
mod plan;
mod run;
mod world;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use load_test::workload::Rng;
use tokio::task::JoinSet;

use self::{plan::Plan, run::Ended, world::World};

/// Number of interleavings.
const COUNT: u64 = 1_000;
/// Concurrent interleavings.
const WORKERS: u64 = 20;

/// Returns the number of interleavings, the seed, and the first interleaving. `COMPLIANCE_MODEL_SEED=SEED` repeats a run, and
/// `SEED:NUMBER` repeats one interleaving.
fn chosen() -> (u64, u64, u64) {
    let Ok(given) = std::env::var("COMPLIANCE_MODEL_SEED") else { return (COUNT, 1, 0) };
    match given.split_once(':') {
        Some((seed, number)) => (1, seed.parse().unwrap(), number.parse().unwrap()),
        None => (COUNT, given.parse().unwrap(), 0),
    }
}

#[test]
#[ignore = "a long test: tools/scripts/test-long runs it"]
fn abandoned_writes_start_no_new_statements() {
    let (count, seed, first) = chosen();
    let world = Arc::new(World::start());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let started = Instant::now();
    let (ended, failed, in_flight) = runtime.block_on(async {
        let next = Arc::new(AtomicU64::new(first));
        let mut workers = JoinSet::new();
        for _ in 0..WORKERS.min(count) {
            let (world, next) = (Arc::clone(&world), Arc::clone(&next));
            workers.spawn(async move {
                let mut connection = world.connect().await;
                let mut all = Vec::new();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= first + count {
                        return all;
                    }
                    let plan =
                        Plan::new(number, &mut Rng::with_seed(seed ^ number.wrapping_mul(0x5851_F42D_4C95_7F2D)));
                    all.push((plan.clone(), run::run(&world, &mut connection, &plan).await));
                }
            });
        }
        let (mut connection, latest) = (world.connect().await, Mutex::new(0.0));
        let ended = tokio::select! {
            ended = workers.join_all() => ended,
            () = model::measure_lateness(&mut connection, &latest) => unreachable!("the measurement never ends"),
        };
        let ended = ended.into_iter().flatten().collect::<Vec<_>>();
        let (mut connection, late) = (world.connect().await, latest.into_inner().unwrap());
        println!("statements began up to {late:.3} s late");
        let failed = model::violations(&mut connection, late).await;
        (ended, failed, model::in_flight(&mut connection).await)
    });
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (plan, ended) in &ended {
        match ended {
            Ok(ended) => *counts.entry(ended.name()).or_default() += 1,
            Err(error) => wrong.push(format!("{error:#}: {plan:?}")),
        }
    }
    println!("COMPLIANCE_MODEL_SEED={seed}: {count} interleavings in {:.1?}: {counts:?}", started.elapsed());
    wrong.extend(failed);
    let shown = wrong.iter().take(12).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "COMPLIANCE_MODEL_SEED={seed}: {} violations, such as\n{shown}", wrong.len());
    println!("{in_flight} interleavings ended with OLD: its statement was in flight when the caller disconnected");
    assert!(in_flight as u64 <= 2 + count / 500, "{in_flight} of {count} abandoned statements still ran");
    world.check_counts();
    // If most callers disconnected too late, the test checked nothing.
    let left = counts.get(Ended::Left.name()).copied().unwrap_or_default();
    assert!(count == 1 || left * 2 > count, "only {left} callers disconnected while their writes waited");
}
