//! A queue that is fair to companies: by what their work weighs, not by how many calls they make.
//!
//! Work starts at once while there are slots. Otherwise the company is served next that has the least work running, and
//! of these the one that has had the least so far (start-time fair queuing). So a company with one call waits for about
//! one call of each other company, however many calls those have waiting.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::oneshot,
    time::{Instant, timeout},
};

use crate::Full;

/// How much runs, and how much waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimits {
    /// Work that runs at the same time.
    pub running: usize,
    /// Of it, work of one company.
    pub running_per_company: usize,
    /// Work that takes longer than this no longer counts in `running`, up to four times as much: one company's work that
    /// waits for something must not keep all others from theirs. It still counts in `running_per_company`.
    pub slow_after: Duration,
    /// Work that waits. More is refused.
    pub waiting: usize,
    /// Of it, work of one company.
    pub waiting_per_company: usize,
}

/// Lets work run. Clones share the queue.
#[derive(Clone, Debug)]
pub struct FairQueue(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limits: QueueLimits,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// When each slot was taken. At most a few dozen.
    running: Vec<(u64, Instant)>,
    /// The number of the last slot.
    last: u64,
    waiting: usize,
    /// Companies with work that runs or waits.
    companies: HashMap<i64, Company>,
    /// The weight that the company served last has had.
    served: u64,
}

#[derive(Debug, Default)]
struct Company {
    running: usize,
    waiting: VecDeque<Waiter>,
    /// The weight of its work so far. A company that comes (again) starts where the others are.
    served: u64,
}

#[derive(Debug)]
struct Waiter {
    weight: u64,
    grant: oneshot::Sender<Slot>,
}

/// Work that runs, until it is dropped.
#[derive(Debug)]
pub struct Slot {
    queue: FairQueue,
    company: i64,
    number: u64,
}

impl FairQueue {
    /// A queue without work.
    pub fn new(limits: QueueLimits) -> Self {
        Self(Arc::new(Inner { limits, state: Mutex::default() }))
    }

    /// Waits until work of this weight may run. Waits as long as it takes: the caller has a deadline.
    pub async fn enter(&self, company: i64, weight: usize) -> Result<Slot, Full> {
        let mut grant = match self.start(company, weight as u64)? {
            Start::Now(slot) => return Ok(slot),
            Start::Later(grant) => grant,
        };
        loop {
            match timeout(self.0.limits.slow_after, &mut grant).await {
                Ok(slot) => return slot.map_err(|_| Full::Process),
                // Work that runs may have become slow.
                Err(_) => self.dispatch(),
            }
        }
    }

    /// How much work waits.
    pub fn waiting(&self) -> usize {
        self.0.state().waiting
    }

    /// How much work runs.
    pub fn running(&self) -> usize {
        self.0.state().running.len()
    }

    fn start(&self, company: i64, weight: u64) -> Result<Start, Full> {
        let limits = self.0.limits;
        let mut state = self.0.state();
        let is_free = state.has_free(&limits);
        let served = state.served;
        let entry = state.companies.entry(company).or_insert_with(|| Company { served, ..Company::default() });
        if is_free && entry.waiting.is_empty() && entry.running < limits.running_per_company {
            return Ok(Start::Now(self.take(&mut state, company, weight)));
        }
        if entry.waiting.len() >= limits.waiting_per_company {
            // Callers that went away make room.
            let before = entry.waiting.len();
            entry.waiting.retain(|waiter| !waiter.grant.is_closed());
            let now = entry.waiting.len();
            state.waiting -= before - now;
            if now >= limits.waiting_per_company {
                state.forget_idle(company);
                return Err(Full::Company);
            }
        }
        if state.waiting >= limits.waiting {
            state.forget_idle(company);
            return Err(Full::Process);
        }
        let (grant, granted) = oneshot::channel();
        if let Some(entry) = state.companies.get_mut(&company) {
            entry.waiting.push_back(Waiter { weight, grant });
            state.waiting += 1;
        }
        Ok(Start::Later(granted))
    }

    /// Lets work run that waits, as much as may.
    fn dispatch(&self) {
        let limits = self.0.limits;
        // Slots whose callers went away meanwhile. Dropped at the end, since each takes the lock again.
        let mut unused = Vec::new();
        let mut state = self.0.state();
        while state.waiting > 0 && state.has_free(&limits) {
            let eligible = state.companies.iter();
            let eligible = eligible
                .filter(|(_, company)| !company.waiting.is_empty() && company.running < limits.running_per_company);
            let Some(company) =
                eligible.min_by_key(|(_, company)| (company.running, company.served)).map(|(id, _)| *id)
            else {
                break;
            };
            let Some(waiter) = state.companies.get_mut(&company).and_then(|entry| entry.waiting.pop_front()) else {
                break;
            };
            state.waiting -= 1;
            if waiter.grant.is_closed() {
                state.forget_idle(company);
                continue;
            }
            let slot = self.take(&mut state, company, waiter.weight);
            unused.extend(waiter.grant.send(slot).err());
        }
        drop(state);
    }

    fn take(&self, state: &mut State, company: i64, weight: u64) -> Slot {
        state.last += 1;
        let number = state.last;
        state.running.push((number, Instant::now()));
        if let Some(entry) = state.companies.get_mut(&company) {
            entry.running += 1;
            entry.served = entry.served.max(state.served);
            state.served = entry.served;
            entry.served += weight.max(1);
        }
        Slot { queue: self.clone(), company, number }
    }
}

enum Start {
    Now(Slot),
    Later(oneshot::Receiver<Slot>),
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn has_free(&self, limits: &QueueLimits) -> bool {
        if self.running.len() < limits.running {
            return true;
        }
        let is_recent = |(_, since): &&(u64, Instant)| since.elapsed() < limits.slow_after;
        self.running.len() < limits.running * 4 && self.running.iter().filter(is_recent).count() < limits.running
    }

    fn forget_idle(&mut self, company: i64) {
        if self.companies.get(&company).is_some_and(|entry| entry.running == 0 && entry.waiting.is_empty()) {
            self.companies.remove(&company);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.queue.0.state();
        state.running.retain(|(number, _)| *number != self.number);
        if let Some(entry) = state.companies.get_mut(&self.company) {
            entry.running -= 1;
        }
        state.forget_idle(self.company);
        let waits = state.waiting > 0;
        drop(state);
        if waits {
            self.queue.dispatch();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::poll_fn,
        pin::pin,
        sync::{Arc, Mutex},
        task::Poll,
        time::Duration,
    };

    use tokio::time::{advance, sleep, timeout};

    use super::{FairQueue, Full, QueueLimits};

    const LIMITS: QueueLimits = QueueLimits {
        running: 2,
        running_per_company: 2,
        slow_after: Duration::from_secs(2),
        waiting: 100,
        waiting_per_company: 50,
    };

    /// Enters the queue in a task, which reports the company once it runs, and runs for a second.
    fn spawn(queue: &FairQueue, company: i64, weight: usize, order: &Arc<Mutex<Vec<i64>>>) {
        let (queue, order) = (queue.clone(), Arc::clone(order));
        tokio::spawn(async move {
            let slot = queue.enter(company, weight).await.unwrap();
            order.lock().unwrap().push(company);
            sleep(Duration::from_secs(1)).await;
            drop(slot);
        });
    }

    #[tokio::test]
    async fn free_slots_are_taken_without_waiting() {
        let queue = FairQueue::new(LIMITS);
        let mut first = pin!(queue.enter(1, 5));
        // The first poll is enough.
        let slot = poll_fn(|context| Poll::Ready(first.as_mut().poll(context))).await;
        assert!(slot.is_ready());
        assert_eq!((queue.running(), queue.waiting()), (1, 0));
        drop(slot);
        assert_eq!(queue.running(), 0);
        assert!(queue.0.state().companies.is_empty());
    }

    #[tokio::test]
    async fn a_slot_that_is_given_back_frees_no_other() {
        let queue = FairQueue::new(LIMITS);
        let (first, second) = (queue.enter(1, 1).await.unwrap(), queue.enter(2, 1).await.unwrap());
        drop(first);
        assert_eq!(queue.running(), 1);
        drop(second);
        assert_eq!(queue.running(), 0);
    }

    /// Whether a company's work runs within a second.
    async fn runs(queue: &FairQueue, company: i64) -> Option<super::Slot> {
        timeout(Duration::from_secs(1), queue.enter(company, 1)).await.ok().map(Result::unwrap)
    }

    #[tokio::test(start_paused = true)]
    async fn slow_work_makes_room_for_other_work() {
        let queue = FairQueue::new(LIMITS);
        let slow = runs(&queue, 1).await.unwrap();
        advance(LIMITS.slow_after).await;
        let recent = [runs(&queue, 2).await.unwrap(), runs(&queue, 3).await.unwrap()];
        assert!(runs(&queue, 4).await.is_none(), "more than the limit runs, and is not slow");
        drop((slow, recent));
        // Of slow work there is at most four times the limit.
        let mut slots = Vec::new();
        for company in 0..8 {
            slots.push(runs(&queue, company).await.unwrap_or_else(|| panic!("{company} waits")));
            advance(LIMITS.slow_after).await;
        }
        assert!(runs(&queue, 8).await.is_none());
        assert_eq!(queue.running(), 8);
    }

    #[tokio::test(start_paused = true)]
    async fn a_company_with_one_call_is_served_before_the_rest_of_a_flood() {
        let queue = FairQueue::new(QueueLimits { running: 1, ..LIMITS });
        let order = Arc::default();
        for _ in 0..40 {
            spawn(&queue, 1, 20, &order);
        }
        tokio::task::yield_now().await;
        spawn(&queue, 2, 20, &order);
        spawn(&queue, 3, 20, &order);
        sleep(Duration::from_millis(3500)).await;
        let mut served = order.lock().unwrap().clone();
        served[..3].sort_unstable();
        assert_eq!(served[..3], [1, 2, 3], "{served:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn companies_have_work_in_proportion_to_its_weight() {
        let queue = FairQueue::new(QueueLimits { running: 1, slow_after: Duration::from_mins(1), ..LIMITS });
        let order = Arc::default();
        for _ in 0..40 {
            spawn(&queue, 1, 30, &order);
            spawn(&queue, 2, 10, &order);
        }
        sleep(Duration::from_millis(39_500)).await;
        let served = order.lock().unwrap().clone();
        let of_first = served.iter().filter(|company| **company == 1).count();
        assert!((9..=11).contains(&of_first), "{of_first} of {}: {served:?}", served.len());
    }

    #[tokio::test(start_paused = true)]
    async fn a_company_has_no_more_than_its_share_while_slots_are_free() {
        let queue = FairQueue::new(QueueLimits { running_per_company: 1, ..LIMITS });
        let held = queue.enter(1, 1).await.unwrap();
        let order = Arc::default();
        spawn(&queue, 1, 1, &order);
        sleep(Duration::from_millis(10)).await;
        assert_eq!((queue.running(), queue.waiting()), (1, 1));
        let other = queue.enter(2, 1).await.unwrap();
        drop(held);
        sleep(Duration::from_millis(10)).await;
        assert_eq!(*order.lock().unwrap(), [1]);
        drop(other);
    }

    #[tokio::test(start_paused = true)]
    async fn work_that_hangs_keeps_only_its_own_company() {
        let queue = FairQueue::new(QueueLimits { running_per_company: 1, ..LIMITS });
        let hanging = (queue.enter(1, 1).await.unwrap(), queue.enter(2, 1).await.unwrap());
        let order = Arc::default();
        spawn(&queue, 1, 1, &order);
        spawn(&queue, 3, 1, &order);
        sleep(Duration::from_secs(1)).await;
        assert_eq!(*order.lock().unwrap(), [0; 0]);
        sleep(Duration::from_secs(2)).await;
        assert_eq!(*order.lock().unwrap(), [3]);
        drop(hanging);
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_is_bounded_and_callers_that_leave_make_room() {
        let queue = FairQueue::new(QueueLimits { running: 1, waiting: 3, waiting_per_company: 2, ..LIMITS });
        let slot = queue.enter(1, 1).await.unwrap();
        let order = Arc::default();
        let waiting: Vec<_> = (0..2)
            .map(|_| {
                tokio::spawn({
                    let queue = queue.clone();
                    async move { queue.enter(1, 1).await.map(drop) }
                })
            })
            .collect();
        tokio::task::yield_now().await;
        assert_eq!(queue.enter(1, 1).await.unwrap_err(), Full::Company);
        spawn(&queue, 2, 1, &order);
        tokio::task::yield_now().await;
        assert_eq!(queue.enter(3, 1).await.unwrap_err(), Full::Process);
        waiting.iter().for_each(tokio::task::JoinHandle::abort);
        tokio::task::yield_now().await;
        spawn(&queue, 1, 1, &order);
        tokio::task::yield_now().await;
        assert_eq!(queue.waiting(), 2);
        drop(slot);
        advance(Duration::from_secs(5)).await;
        sleep(Duration::from_secs(5)).await;
        assert_eq!((queue.running(), queue.waiting(), order.lock().unwrap().len()), (0, 0, 2));
        assert!(queue.0.state().companies.is_empty());
    }
}
