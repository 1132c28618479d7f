//! Runs a service with short timeouts and well-behaved clients, and measures its process.

use std::{
    fs,
    io::Write as _,
    net::SocketAddr,
    panic::resume_unwind,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use compliance_api::v1::{AffiliateInput, BatchCreateAffiliatesRequest, GetComplianceUrlRequest, ResultCode};
use test_support::{GrpcClients, priority};
use tokio::runtime::{Builder, Runtime};

use crate::{
    common::{DataDir, Service, compliance, migrated, token, wait_until},
    durability::Connection,
};

/// Timeout for heads, bodies and stalled readers.
pub(crate) const TIME: Duration = Duration::from_secs(1);
/// Maximum wait before the test fails. A busy machine can be many times slower.
pub(crate) const PATIENCE: Duration = Duration::from_mins(3);
/// Number of other clients' calls before an attack, for comparison.
const CALLS_BEFORE: usize = 400;
/// Minimum number of other clients' calls during an attack. The test repeats short attacks to get enough calls for a p99.
const CALLS_DURING: usize = 400;
/// Pause between another client's calls.
const PAUSE: Duration = Duration::from_millis(2);
/// The service's maximum memory use during an attack, in KiB.
const MEMORY: u64 = 160 << 10;
/// Memory that the allocator keeps per thread, in KiB: a huge page. On a busy machine, computations take longer, so more
/// threads compute at the same time.
const THREAD: u64 = 2 << 10;
/// Number of affiliates. Their list exceeds the system's buffers.
const AFFILIATES: usize = 6000;

/// A running service.
pub(crate) struct World {
    pub(crate) service: Service,
    pub(crate) data: DataDir,
    /// Token of the attacking company, which has a long list.
    pub(crate) token: String,
    bystander: String,
}

impl World {
    pub(crate) fn start() -> Self {
        Self::with_body_timeout("1s")
    }

    pub(crate) fn with_body_timeout(time: &str) -> Self {
        let data = migrated();
        let (token, bystander) = (token(&data, 8), token(&data, 7));
        let mut command = compliance(&data);
        command.args(["serve", "--rate-limit", "off", "--body-timeout", time]);
        for port in ["rest", "grpc"] {
            for limit in ["header", "write"] {
                command.args([format!("--{port}-{limit}-timeout"), format!("{}s", TIME.as_secs())]);
            }
        }
        let service = Service::start_as(&mut command);
        add_affiliates(service.grpc, &token);
        assert_eq!(
            service.request("POST", "/api/urls", &bystander, r#"{"urls":[{"url":"https://a.example"}]}"#).0,
            201
        );
        Self { service, data, token, bystander }
    }

    /// Returns the addresses of both ports.
    pub(crate) fn ports(&self) -> [SocketAddr; 2] {
        [self.service.rest, self.service.grpc]
    }

    /// Repeats an attack until other clients have made enough calls. Checks that all these calls succeed, and that memory use stays within the limit.
    /// The median call takes less than a quarter of the attackers' timeout, or less than ten times as long as before.
    pub(crate) fn attack(&self, name: &str, attack: impl Fn() + Sync) {
        self.attack_within(MEMORY, name, attack);
    }

    /// Like [`Self::attack`], with a different memory limit, in KiB.
    pub(crate) fn attack_within(&self, most: u64, name: &str, attack: impl Fn() + Sync) {
        let clear = format!("/proc/{}/clear_refs", self.service.pid());
        fs::OpenOptions::new().write(true).open(clear).unwrap().write_all(b"5").unwrap();
        let (memory, threads) = (self.status("VmRSS"), self.status("Threads"));
        let progress = &Progress::default();
        let ([rest, grpc], token) = (self.ports(), self.bystander.as_str());
        thread::scope(|scope| {
            let rest = scope.spawn(move || use_rest(rest, token, progress));
            let grpc = scope.spawn(move || use_grpc(grpc, token, progress));
            wait_until("other clients receive responses", || progress.has(CALLS_BEFORE));
            let (end, before_attack) = (End(progress), progress.calls.load(Ordering::Relaxed));
            progress.is_attacked.store(true, Ordering::Relaxed);
            let attack = &attack;
            let attacker = scope.spawn(move || {
                // Only on an idle machine: next to other programs, a lowest-priority attack would hardly run.
                if std::env::var_os("COMPLIANCE_TEST_PROGRAM").is_some() {
                    priority::last();
                }
                attack();
                while !progress.has(before_attack + CALLS_DURING) {
                    attack();
                }
            });
            let mut most_threads = threads;
            while !attacker.is_finished() {
                most_threads = most_threads.max(self.status("Threads"));
                thread::sleep(PAUSE);
            }
            let outcome = attacker.join();
            drop(end);
            let mut latencies = rest.join().unwrap();
            latencies.add(grpc.join().unwrap());
            if let Err(failure) = outcome {
                resume_unwind(failure);
            }
            let (usual, median) = (percentile(&mut latencies.before, 50), percentile(&mut latencies.during, 50));
            let (before, during) = (percentile(&mut latencies.before, 99), percentile(&mut latencies.during, 99));
            let slowest = percentile(&mut latencies.during, 100);
            let growth = self.status("VmHWM").saturating_sub(memory);
            let more_threads = most_threads - threads;
            println!(
                "{name}: {} other calls, p99 {during:.1?} ({before:.1?} before), slowest {slowest:.1?}; {growth} KiB, \
                 {more_threads} more threads",
                latencies.during.len()
            );
            // A client blocked by the attackers waits about as long as their timeout.
            let most_time = (usual * 10).max(TIME / 4);
            assert!(median < most_time, "{name}: the median of other calls is {median:?}, {usual:?} before");
            assert!(growth < most + more_threads * THREAD, "{name}: {growth} KiB with {more_threads} more threads");
        });
    }

    /// Returns a number from the process's `/proc` status.
    fn status(&self, what: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.service.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with(what)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

/// Creates the long list over gRPC, because a REST body can exceed the short timeout on a busy machine.
fn add_affiliates(address: SocketAddr, token: &str) {
    let runtime = runtime();
    let affiliate = |number: usize| AffiliateInput {
        client_affiliate_id: Some("c".to_owned()),
        affiliate_name: Some(number.to_string()),
        notes: Some("n".repeat(1500)),
        ..AffiliateInput::default()
    };
    let request =
        BatchCreateAffiliatesRequest { affiliates: (0..AFFILIATES).map(affiliate).collect(), validate_only: false };
    let created = runtime.block_on(async {
        let mut clients = GrpcClients::connect(address, token).await;
        clients.affiliates.batch_create_affiliates(request).await.unwrap().into_inner().results
    });
    assert!(created.iter().all(|result| result.code() == ResultCode::Saved));
}

/// The other clients' progress.
#[derive(Default)]
struct Progress {
    calls: AtomicUsize,
    is_attacked: AtomicBool,
    is_over: AtomicBool,
}

impl Progress {
    /// Returns whether the other clients have made this number of calls, or stopped because a call failed.
    fn has(&self, calls: usize) -> bool {
        self.calls.load(Ordering::Relaxed) >= calls || self.is_over.load(Ordering::Relaxed)
    }
}

/// The other clients' call durations.
#[derive(Default)]
struct Latencies {
    before: Vec<Duration>,
    during: Vec<Duration>,
}

impl Latencies {
    fn add(&mut self, other: Self) {
        self.before.extend(other.before);
        self.during.extend(other.during);
    }
}

/// Returns the time within which this percentage of calls received a response.
fn percentile(latencies: &mut [Duration], percent: usize) -> Duration {
    latencies.sort_unstable();
    let index = (latencies.len() * percent).div_ceil(100).saturating_sub(1);
    latencies.get(index).copied().unwrap_or_default()
}

/// Stops the other clients when dropped, even if the attack or a call fails.
struct End<'a>(&'a Progress);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

/// Makes REST requests, each on a new connection.
fn use_rest(address: SocketAddr, token: &str, progress: &Progress) -> Latencies {
    repeat(progress, || {
        let answer = Connection::new(address).unwrap().request("GET", "/api/urls/1", token, "").unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
    })
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Makes gRPC calls.
fn use_grpc(address: SocketAddr, token: &str, progress: &Progress) -> Latencies {
    let runtime = runtime();
    let mut clients = runtime.block_on(GrpcClients::connect(address, token));
    repeat(progress, || {
        let call = clients.urls.get_compliance_url(GetComplianceUrlRequest { id: 1, as_of: None });
        assert_eq!(runtime.block_on(call).unwrap().into_inner().id, 1);
    })
}

fn repeat(progress: &Progress, mut call: impl FnMut()) -> Latencies {
    priority::first();
    let _end = End(progress);
    let mut latencies = Latencies::default();
    while !progress.is_over.load(Ordering::Relaxed) {
        let is_attacked = progress.is_attacked.load(Ordering::Relaxed);
        let started = Instant::now();
        call();
        let of_phase = if is_attacked { &mut latencies.during } else { &mut latencies.before };
        of_phase.push(started.elapsed());
        progress.calls.fetch_add(1, Ordering::Relaxed);
        // Without a pause, the other clients would themselves be the load.
        thread::sleep(PAUSE);
    }
    latencies
}
