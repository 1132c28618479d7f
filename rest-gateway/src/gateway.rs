//! The state that all handlers share: core clients, token verifier, limits.

use std::{sync::Arc, thread::available_parallelism};

use admission::{MEMORY_QUOTA_DIVISOR, Memory, WorkPermit, WorkQueue};
use compliance_api::{client::Clients, error::Error, token::Verifier};
use metrics::{describe_gauge, gauge};
use pages::Page;
use telemetry::metrics::on_render;
use tokio::time::timeout;

use crate::{
    limits::{LARGE_REQUESTS_OF_A_COMPANY_PER_CPU, LARGE_REQUESTS_PER_CPU},
    settings::Settings,
};

/// Registers the gateway's gauges.
fn report(large_requests: &WorkQueue, memory: &Memory) {
    describe_gauge!("compliance_gateway_queue_length", "Waiting work, by queue: large requests or single reads.");
    describe_gauge!("compliance_gateway_running", "Large requests in progress.");
    describe_gauge!("compliance_gateway_memory_held_bytes", "Memory in use by requests and their responses, in bytes.");
    let (waiting, running, memory) = (large_requests.clone(), large_requests.clone(), memory.clone());
    let queue = gauge!("compliance_gateway_queue_length", "queue" => "large requests");
    on_render(queue, move || Some(waiting.waiting() as f64));
    on_render(gauge!("compliance_gateway_running"), move || Some(running.running() as f64));
    on_render(gauge!("compliance_gateway_memory_held_bytes"), move || Some(memory.reserved() as f64));
}

pub(crate) struct Gateway {
    pub(crate) clients: Clients,
    pub(crate) verifier: Arc<Verifier>,
    /// Memory for all requests.
    pub(crate) memory: Memory,
    /// Permits for large requests. Each request keeps a processor busy.
    pub(crate) large_requests: WorkQueue,
    /// The console, with its sign-in settings.
    pub(crate) console: Page,
    pub(crate) settings: Settings,
}

impl Gateway {
    pub(crate) fn new(clients: Clients, memory: Option<Memory>, verifier: Arc<Verifier>, settings: Settings) -> Self {
        let cpus = available_parallelism().map_or(1, usize::from);
        let large_requests = WorkQueue::new(cpus * LARGE_REQUESTS_PER_CPU, cpus * LARGE_REQUESTS_OF_A_COMPANY_PER_CPU);
        let own = || Memory::new(settings.memory(), settings.memory() / MEMORY_QUOTA_DIVISOR);
        let memory = memory.unwrap_or_else(own);
        report(&large_requests, &memory);
        let console = settings.console.console(verifier.company_claim(), verifier.person_claim());
        Self { clients, verifier, memory, large_requests, console, settings }
    }

    /// Waits for a permit to process a large request of a company.
    pub(crate) async fn enter(&self, company: i64) -> Result<WorkPermit, Error> {
        let entered = timeout(self.settings.request_timeout, self.large_requests.enter(company)).await;
        Ok(entered.map_err(|_| Error::overloaded())??)
    }
}
