//! Injects faults into the processes.

use std::{
    net::SocketAddr,
    process::Command,
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use load_test::workload::{LoadRequest, Rng, affiliate};
use nix::sys::signal::Signal;
use sqlx::AssertSqlSafe;
use test_support::{Proxy, kill_process};
use tokio::runtime::Runtime;

use super::Shared;
use crate::{
    calls::{self, Via},
    common::{Service, wait_until},
    programs::{Programs, token_of},
};

/// Company for probe calls. No client writes for this company.
const PROBE: i64 = 999;
/// Maximum outage after a fault, on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    KillBackend,
    KillDatabase,
    KillServe,
    KillCore,
    KillGateway,
    RestartServe,
    FreezeBackends,
    FreezeDatabase,
    FreezeServe,
    FreezeCore,
    CutClients,
    CutCore,
    TerminateBackends,
    LockTable,
}

impl Fault {
    /// Returns every fault in random order.
    pub(super) fn shuffled(chance: &mut Rng) -> Vec<Self> {
        use Fault::*;
        let mut all = vec![
            KillBackend,
            KillDatabase,
            KillServe,
            KillCore,
            KillGateway,
            RestartServe,
            FreezeBackends,
            FreezeDatabase,
            FreezeServe,
            FreezeCore,
            CutClients,
            CutCore,
            TerminateBackends,
            LockTable,
        ];
        for index in (1..all.len()).rev() {
            all.swap(index, chance.u64(..=index as u64) as usize);
        }
        all
    }
}

/// The service's processes: one with both tiers, and one for each tier.
pub(super) struct Services<'p> {
    programs: &'p Programs,
    serve: Service,
    core: Service,
    gateway: Service,
    /// Proxies between clients and the REST port of `serve`, and between the gateway and the core.
    proxies: [Proxy; 2],
}

impl<'p> Services<'p> {
    pub(super) fn start(programs: &'p Programs, proxy: impl Fn(SocketAddr) -> Proxy) -> Self {
        let serve = Service::start_as(&mut programs.serve(&[]));
        let core = Service::start_as(&mut programs.core(&[]));
        let proxies = [proxy(serve.rest), proxy(core.grpc)];
        let gateway = Service::start_as(&mut programs.gateway_of(&[proxies[1].address()], &[]));
        Self { programs, serve, core, gateway, proxies }
    }

    pub(super) fn serve_rest(&self) -> SocketAddr {
        self.proxies[0].address()
    }

    pub(super) fn serve_grpc(&self) -> SocketAddr {
        self.serve.grpc
    }

    pub(super) fn gateway_rest(&self) -> SocketAddr {
        self.gateway.rest
    }

    pub(super) fn core_grpc(&self) -> SocketAddr {
        self.core.grpc
    }

    /// Waits until both sides and layers acknowledge writes. Returns the recovery time.
    fn until_recovered(shared: &Shared, threads: &Runtime) -> Duration {
        let started = Instant::now();
        for (side, via) in shared.sides.iter().flat_map(|side| [(side, Via::Rest), (side, Via::Grpc)]) {
            let write = || {
                let input = affiliate(rand::random(), 0);
                let create = LoadRequest::Create(Box::new(input));
                let write = async { calls::write(side, via, &token_of(PROBE), "probe", &create).await };
                threads.block_on(async { tokio::time::timeout(PATIENCE, write).await })
            };
            while !matches!(write(), Ok(Ok(()))) {
                assert!(started.elapsed() < PATIENCE, "{via:?} of {} did not recover", side.rest.authority);
                thread::sleep(Duration::from_millis(20));
            }
        }
        started.elapsed()
    }

    /// Injects a fault, and waits until no earlier statement is running. Returns the recovery time.
    pub(super) fn inject(
        &mut self,
        fault: Fault,
        programs: &Programs,
        shared: &Shared,
        threads: &Runtime,
        chance: &mut Rng,
    ) -> Duration {
        // During this time, clients wait for their abandoned calls to end.
        thread::sleep(Duration::from_millis(800 + chance.u64(..1000)));
        shared.faults.fetch_add(1, Ordering::SeqCst);
        self.disturb(fault, programs, chance);
        // After a thaw or a kill, the database still executes the statements it received.
        let recovered = Self::until_recovered(shared, threads);
        let began = format!(
            "select count(*) from pg_stat_activity where application_name = 'affiliate-compliance' and state <> 'idle'
                and query_start < to_timestamp({})",
            SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
        );
        wait_until("earlier statements have ended", || programs.number(AssertSqlSafe(began.clone())) == 0);
        shared.faults.fetch_add(1, Ordering::SeqCst);
        recovered
    }

    fn disturb(&mut self, fault: Fault, programs: &Programs, chance: &mut Rng) {
        let mut backends = || {
            let mut backends = programs.backends();
            let keep = 1 + chance.u64(..backends.len().max(1) as u64) as usize;
            backends.truncate(keep);
            backends
        };
        match fault {
            Fault::KillBackend => backends().into_iter().take(1).for_each(|pid| kill_process(pid, Signal::SIGKILL)),
            Fault::TerminateBackends => backends().into_iter().for_each(|pid| kill_process(pid, Signal::SIGTERM)),
            Fault::KillDatabase => programs.server_pid().into_iter().for_each(|pid| kill_process(pid, Signal::SIGKILL)),
            Fault::KillServe => again(&mut self.serve, programs.serve(&[]), Signal::SIGKILL),
            Fault::RestartServe => again(&mut self.serve, programs.serve(&[]), Signal::SIGTERM),
            Fault::KillCore => again(&mut self.core, programs.core(&[]), Signal::SIGKILL),
            Fault::KillGateway => {
                let gateway = self.programs.gateway_of(&[self.proxies[1].address()], &[]);
                again(&mut self.gateway, gateway, Signal::SIGKILL);
            }
            Fault::FreezeBackends => freeze(backends(), chance),
            Fault::FreezeDatabase => {
                let all = programs.server_pid().into_iter().chain(programs.backends()).collect();
                freeze(all, chance);
            }
            Fault::FreezeServe => freeze(vec![self.serve.pid()], chance),
            Fault::FreezeCore => freeze(vec![self.core.pid()], chance),
            Fault::CutClients => self.proxies[0].cut(),
            Fault::CutCore => self.proxies[1].cut(),
            Fault::LockTable => {
                let lock = programs.lock_affiliates();
                thread::sleep(Duration::from_millis(100 + chance.u64(..2000)));
                drop(lock);
            }
        }
    }
}

/// Stops a service with a signal, and restarts it at the same addresses.
fn again(service: &mut Service, mut command: Command, signal: Signal) {
    service.signal(signal);
    service.wait_for_end();
    command.env("COMPLIANCE_REST_ADDR", service.rest.to_string());
    command.env("COMPLIANCE_GRPC_ADDR", service.grpc.to_string());
    *service = Service::start_as(&mut command);
}

/// Freezes processes for up to two seconds.
fn freeze(processes: Vec<i32>, chance: &mut Rng) {
    for process in &processes {
        kill_process(*process, Signal::SIGSTOP);
    }
    thread::sleep(Duration::from_millis(200 + chance.u64(..1800)));
    for process in &processes {
        kill_process(*process, Signal::SIGCONT);
    }
}
