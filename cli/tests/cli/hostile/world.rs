//! A service with short timeouts, a client that uses it as intended, and the resources of its process.

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

/// Timeout of a head, a body and a stalled reader.
pub(crate) const TIME: Duration = Duration::from_secs(1);
/// Maximum wait, after which the test fails. On a busy machine, everything takes many times as long.
pub(crate) const PATIENCE: Duration = Duration::from_mins(3);
/// Calls of others before an attack, with which calls during the attack are compared.
const CALLS_BEFORE: usize = 400;
/// Minimum number of calls of others during an attack. Short attacks are repeated, so that there is a p99.
const CALLS_DURING: usize = 400;
/// The pause between two calls of others.
const PAUSE: Duration = Duration::from_millis(2);
/// Maximum memory of the service during an attack, in KiB.
const MEMORY: u64 = 160 << 10;
/// Memory that the allocator keeps for a thread, in KiB: a huge page. On a busy machine, computations take longer, so more threads compute
/// at the same time.
const THREAD: u64 = 2 << 10;
/// Number of affiliates: their list is longer than the system's buffers.
const AFFILIATES: usize = 6000;

/// A running service.
pub(crate) struct World {
    pub(crate) service: Service,
    pub(crate) data: DataDir,
    /// A token of the company that attacks. It has a long list.
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

    /// Both ports.
    pub(crate) fn ports(&self) -> [SocketAddr; 2] {
        [self.service.rest, self.service.grpc]
    }

    /// Repeats an attack until others have made enough calls. All these calls succeed, and the memory of the process stays within its
    /// limit. Half of them take less than a quarter of an attacker's time, or less than ten times as long as before.
    pub(crate) fn attack(&self, name: &str, attack: impl Fn() + Sync) {
        self.attack_within(MEMORY, name, attack);
    }

    /// Like [`Self::attack`], with another memory limit, in KiB.
    pub(crate) fn attack_within(&self, most: u64, name: &str, attack: impl Fn() + Sync) {
        let clear = format!("/proc/{}/clear_refs", self.service.pid());
        fs::OpenOptions::new().write(true).open(clear).unwrap().write_all(b"5").unwrap();
        let (memory, threads) = (self.status("VmRSS"), self.status("Threads"));
        let progress = &Progress::default();
        let ([rest, grpc], token) = (self.ports(), self.bystander.as_str());
        thread::scope(|scope| {
            let rest = scope.spawn(move || use_rest(rest, token, progress));
            let grpc = scope.spawn(move || use_grpc(grpc, token, progress));
            wait_until("others are served", || progress.has(CALLS_BEFORE));
            let (end, before_attack) = (End(progress), progress.calls.load(Ordering::Relaxed));
            progress.is_attacked.store(true, Ordering::Relaxed);
            let attack = &attack;
            let attacker = scope.spawn(move || {
                // Beside other programs, an attack with the lowest priority would hardly run.
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
                "{name}: {} calls of others, p99 {during:.1?} ({before:.1?} before), the slowest {slowest:.1?}; {growth} KiB, \
                 {more_threads} threads more",
                latencies.during.len()
            );
            // Clients that wait for the attackers wait for about the attackers' time.
            let most_time = (usual * 10).max(TIME / 4);
            assert!(median < most_time, "{name}: half of the calls of others take {median:?}, {usual:?} before");
            assert!(growth < most + more_threads * THREAD, "{name}: {growth} KiB, {more_threads} threads more");
        });
    }

    /// A number that the system reports about the process.
    fn status(&self, what: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.service.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with(what)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

/// Creates the long list over gRPC, because on a busy machine a body can take longer than the timeout here.
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

/// The progress of the calls of others.
#[derive(Default)]
struct Progress {
    calls: AtomicUsize,
    is_attacked: AtomicBool,
    is_over: AtomicBool,
}

impl Progress {
    /// Whether others have made this number of calls, or have stopped because a call has failed.
    fn has(&self, calls: usize) -> bool {
        self.calls.load(Ordering::Relaxed) >= calls || self.is_over.load(Ordering::Relaxed)
    }
}

/// The durations of the calls of others.
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

/// The time within which this percentage of calls got a response.
fn percentile(latencies: &mut [Duration], percent: usize) -> Duration {
    latencies.sort_unstable();
    let index = (latencies.len() * percent).div_ceil(100).saturating_sub(1);
    latencies.get(index).copied().unwrap_or_default()
}

/// Ends the calls of others, whether the attack or a call succeeds or fails.
struct End<'a>(&'a Progress);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

/// Makes REST requests, each on its own connection.
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
        // Other clients that call without a pause would themselves be the load.
        thread::sleep(PAUSE);
    }
    latencies
}
