//! Which webhooks are delivered to, and when. Deliveries have slots of two classes, so that endpoints that hang delay no others: an
//! attempt that takes long gives its fast slot back and goes on in a slow one.

use std::{collections::HashMap, pin::pin, sync::Arc};

use admission::{Count, Counts, Full};
use metrics::{describe_gauge, gauge};
use sqlx::query_as;
use telemetry::{
    background::{Task, supervise},
    metrics::describe,
};
use tokio::{
    sync::Notify,
    task::JoinSet,
    time::{Instant, timeout, timeout_at},
};

use super::{
    deliver::{DELIVERIES, Delivery},
    send::{Attempt, Sender},
    statements::{COMPANIES, DUE},
};
use crate::{
    backend::Backend,
    limits::{
        WEBHOOK_CANDIDATES, WEBHOOK_COMPANY_SLOTS, WEBHOOK_COMPANY_SLOW_SLOTS, WEBHOOK_DUE, WEBHOOK_INTERVAL,
        WEBHOOK_LONGEST_LEASE, WEBHOOK_LONGEST_WAIT, WEBHOOK_SLOTS, WEBHOOK_SLOW, WEBHOOK_SLOW_SLOTS,
    },
};
use storage::statement::Purpose;

const FAILING_WEBHOOKS: &str = "compliance_webhooks_failing";

/// Why an attempt ends that takes long, when no more may.
const NO_SLOW_SLOT: &str = "no response within 0.5 s, and too many endpoints take longer";

/// Starts to deliver.
pub(crate) fn start(tasks: &mut JoinSet<()>, backend: &Arc<Backend>, sender: &Sender) {
    describe(DELIVERIES, "Attempts to deliver changes to webhooks.", "outcome", &["delivered", "failed", "disabled"]);
    describe_gauge!(FAILING_WEBHOOKS, "Webhooks of all companies whose last attempt failed.");
    let slots = Arc::new(Slots::new());
    for are_slow in [false, true] {
        let (backend, sender, slots) = (Arc::clone(backend), sender.clone(), Arc::clone(&slots));
        let deliver = move |task| deliver(Arc::clone(&backend), sender.clone(), Arc::clone(&slots), are_slow, task);
        tasks.spawn(supervise("webhook delivery", deliver));
    }
}

/// Delivers to webhooks whose last attempt failed or took long, or to the others.
async fn deliver(backend: Arc<Backend>, sender: Sender, slots: Arc<Slots>, are_slow: bool, task: Arc<Task>) {
    let (mut running, mut companies) = (JoinSet::new(), Vec::new());
    loop {
        tokio::time::sleep(WEBHOOK_INTERVAL).await;
        while running.try_join_next().is_some() {}
        let due = Purpose::of("due webhooks").run(due(&backend, &mut companies, are_slow, &task)).await;
        for (company_id, id) in in_rounds(due) {
            let slot = if are_slow { slots.slow(company_id) } else { slots.fast(company_id).await };
            match slot {
                Ok(slot) => {
                    let (backend, sender) = (Arc::clone(&backend), sender.clone());
                    let delivery = Delivery { backend, sender, company_id, id };
                    running.spawn(Purpose::of("webhook").run(delivery.run(slot)));
                }
                Err(Full::Company) => {}
                Err(Full::Process) => break,
            }
        }
    }
}

/// Webhooks of companies in turns: the first one of each company, then the second one of each.
fn in_rounds(due: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    let mut rounds: HashMap<i64, usize> = HashMap::new();
    let mut due: Vec<_> = due
        .into_iter()
        .map(|(company_id, id)| {
            let round = rounds.entry(company_id).or_default();
            *round += 1;
            (*round, (company_id, id))
        })
        .collect();
    due.sort_by_key(|(round, _)| *round);
    due.into_iter().map(|(_, webhook)| webhook).collect()
}

/// Webhooks that are due. A node of Citus that is away holds up its companies only: `companies` has those that were read before.
async fn due(backend: &Backend, companies: &mut Vec<i64>, are_slow: bool, task: &Task) -> Vec<(i64, i64)> {
    let known = query_as::<_, (i64, i64)>(COMPANIES).fetch_all(&backend.pool);
    let known = timeout(WEBHOOK_DUE, known).await;
    match &known {
        Ok(Ok(_)) => task.succeeded(),
        Ok(Err(error)) => task.failed(format_args!("the companies with webhooks cannot be read: {error}")),
        Err(_) => task.failed("reading the companies with webhooks takes too long"),
    }
    if let Ok(Ok(known)) = known {
        if are_slow {
            gauge!(FAILING_WEBHOOKS).set(known.iter().map(|(_, failing)| *failing as f64).sum::<f64>());
        }
        *companies = known.into_iter().map(|(company_id, _)| company_id).collect();
    }
    let mut due = Vec::new();
    for part in backend.pool.divided(companies.clone(), |id| *id).await {
        let found = query_as::<_, (i64, i64)>(DUE).bind(part).bind(are_slow).bind(WEBHOOK_CANDIDATES);
        let found = found.bind(WEBHOOK_LONGEST_WAIT.as_secs_f64()).bind(WEBHOOK_LONGEST_LEASE.as_secs_f64());
        if let Ok(Ok(found)) = timeout(WEBHOOK_DUE, found.fetch_all(&backend.pool)).await {
            due.extend(found);
        }
    }
    due
}

/// The slots for deliveries of this core.
struct Slots {
    /// For attempts that have just begun.
    fast: Counts,
    /// For attempts that take longer, and for webhooks whose last one did, or failed.
    slow: Counts,
    /// A fast slot is free again.
    freed: Notify,
}

impl Slots {
    fn new() -> Self {
        Self {
            fast: Counts::new(WEBHOOK_SLOTS, WEBHOOK_COMPANY_SLOTS),
            slow: Counts::new(WEBHOOK_SLOW_SLOTS, WEBHOOK_COMPANY_SLOW_SLOTS),
            freed: Notify::new(),
        }
    }

    /// A fast slot, when one is free: each is soon.
    async fn fast(self: &Arc<Self>, company_id: i64) -> Result<Slot, Full> {
        let deadline = Instant::now() + WEBHOOK_SLOW * 2;
        loop {
            match self.fast.add(company_id) {
                Ok(count) => {
                    return Ok(Slot { slots: Arc::clone(self), company_id, count: Some(count), is_fast: true });
                }
                Err(Full::Process) if timeout_at(deadline, self.freed.notified()).await.is_ok() => {}
                Err(full) => return Err(full),
            }
        }
    }

    fn slow(self: &Arc<Self>, company_id: i64) -> Result<Slot, Full> {
        let count = Some(self.slow.add(company_id)?);
        Ok(Slot { slots: Arc::clone(self), company_id, count, is_fast: false })
    }
}

/// The slot of a delivery.
pub(super) struct Slot {
    slots: Arc<Slots>,
    company_id: i64,
    /// `None` only while it is dropped.
    count: Option<Count>,
    is_fast: bool,
}

impl Slot {
    /// Waits for an attempt. One that takes long goes on in a slow slot, or ends if there is none.
    pub(super) async fn wait_for(&mut self, attempt: impl Future<Output = Attempt>) -> Attempt {
        let mut attempt = pin!(attempt);
        if self.is_fast {
            if let Ok(attempt) = timeout(WEBHOOK_SLOW, &mut attempt).await {
                return attempt;
            }
            match self.slots.slow(self.company_id) {
                Ok(slow) => *self = slow,
                Err(_) => return Attempt::failed(NO_SLOW_SLOT.to_owned(), WEBHOOK_SLOW),
            }
        }
        attempt.await
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.count = None;
        if self.is_fast {
            self.slots.freed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, sync::Arc, time::Duration};

    use admission::Full;
    use tokio::time::{pause, timeout};

    use super::{Attempt, NO_SLOW_SLOT, Slots, in_rounds};
    use crate::limits::{WEBHOOK_COMPANY_SLOTS, WEBHOOK_COMPANY_SLOW_SLOTS, WEBHOOK_SLOTS, WEBHOOK_SLOW};

    #[test]
    fn companies_take_turns() {
        let due = [(7, 1), (7, 2), (7, 3), (8, 4), (9, 5), (8, 6)];
        assert_eq!(in_rounds(due.to_vec()), [(7, 1), (8, 4), (9, 5), (7, 2), (8, 6), (7, 3)]);
    }

    #[tokio::test]
    async fn an_attempt_that_hangs_gives_its_fast_slot_to_others() {
        pause();
        let slots = Arc::new(Slots::new());
        let mut hanging = Vec::new();
        for number in 0..WEBHOOK_SLOTS {
            let company = (number / WEBHOOK_COMPANY_SLOTS) as i64;
            let mut slot = slots.fast(company).await.unwrap();
            hanging.push(tokio::spawn(async move { slot.wait_for(pending()).await }));
        }
        assert_eq!(slots.fast(100).await.err(), None, "none is free within the time of an attempt");
        // Those that have no slow slot of their company have ended.
        tokio::time::sleep(WEBHOOK_SLOW).await;
        assert_eq!((slots.fast.open(), slots.slow.open() % WEBHOOK_COMPANY_SLOW_SLOTS), (0, 0));
        let mut ended = 0;
        for attempt in hanging {
            if let Ok(attempt) = timeout(Duration::from_millis(1), attempt).await {
                assert_eq!(attempt.unwrap().error.as_deref(), Some(NO_SLOW_SLOT));
                ended += 1;
            }
        }
        assert_eq!(ended + slots.slow.open(), WEBHOOK_SLOTS);
        assert!(matches!(slots.slow(0), Err(Full::Company)));
    }

    #[tokio::test]
    async fn an_attempt_that_is_quick_keeps_its_slot() {
        let slots = Arc::new(Slots::new());
        let mut slot = slots.fast(1).await.unwrap();
        let attempt = slot.wait_for(async { Attempt::failed("no".to_owned(), Duration::ZERO) }).await;
        assert_eq!((attempt.error.as_deref(), slots.fast.open(), slots.slow.open()), (Some("no"), 1, 0));
    }
}
