//! A queue that is fair to companies: by what their work weighs, not by how many calls they make.
//!
//! Work starts at once while there are slots. Otherwise the company is served next that has the least work running, and
//! of these the one that has had the least so far (start-time fair queuing). So a company with one call waits for about
//! one call of each other company, however many calls those have waiting.
//!
//! The calls of one company are served in the order in which they came. When callers leave before their work
//! is done, those who have waited longest are about to leave as well, and work for them would be in vain: then most turns
//! go to the call that came last.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::oneshot,
    time::{Instant, timeout},
};

use crate::{Callers, Full};

/// While several companies call, a company's work that takes longer than this no longer counts in
/// `running_beside_others`: it probably waits, and the company's other work must not wait with it.
const WAITS_AFTER: Duration = Duration::from_millis(250);

/// How long a company is served in the other order after callers have left.
const IMPATIENT: Duration = Duration::from_secs(1);
/// Meanwhile, every so many turns go to the call that has waited longest, so that it is served at last.
const OLDEST_EVERY: u32 = 8;
/// Companies without work are looked for when there are so many, and at each doubling.
const MOST_REMEMBERED: usize = 256;

/// How much runs, and how much waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimits {
    /// Work that runs at the same time.
    pub running: usize,
    /// Of it, work of one company.
    pub running_per_company: usize,
    /// Of it, work of one company while several companies call: less, so that the processors and the database have time
    /// for the others as soon as they come.
    pub running_beside_others: usize,
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
    callers: Callers,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// At most a few dozen.
    running: Vec<Running>,
    /// The number of the last slot or waiter.
    last: u64,
    waiting: usize,
    /// Companies with work that runs or waits, and those that are ahead of the others.
    companies: HashMap<i64, Company>,
    /// The weight that the company served last has had.
    served: u64,
}

#[derive(Debug)]
struct Running {
    /// The number of its slot.
    number: u64,
    company: i64,
    since: Instant,
}

#[derive(Debug, Default)]
struct Company {
    running: usize,
    waiting: VecDeque<Waiter>,
    /// When a caller was last found to have left before its turn, or in the middle of its work.
    left: Option<Instant>,
    /// Turns since then.
    turns: u32,
    /// The weight of its work so far. A company that comes starts where the others are, and one that comes again not
    /// before the place that it had.
    served: u64,
}

#[derive(Debug)]
struct Waiter {
    /// Increases with every arrival.
    number: u64,
    weight: u64,
    grant: oneshot::Sender<Slot>,
}

/// Work that runs, until it is dropped.
#[derive(Debug)]
pub struct Slot {
    queue: FairQueue,
    company: i64,
    number: u64,
    /// Work that is run by [`Slot::run`] has not ended.
    is_unfinished: bool,
}

impl FairQueue {
    /// A queue without work. `callers` is told of the companies that call.
    pub fn new(limits: QueueLimits, callers: Callers) -> Self {
        Self(Arc::new(Inner { limits, callers, state: Mutex::default() }))
    }

    /// Waits until work of this weight may run. Waits as long as it takes: the caller has a deadline.
    pub async fn enter(&self, company: i64, weight: usize) -> Result<Slot, Full> {
        let mut grant = match self.start(company, weight as u64)? {
            Start::Now(slot) => return Ok(slot),
            Start::Later(grant) => grant,
        };
        loop {
            match timeout(WAITS_AFTER.min(self.0.limits.slow_after), &mut grant).await {
                Ok(slot) => return slot.map_err(|_| Full::Process),
                // Work that runs may have become slow, or the other companies may have gone.
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
        let are_several = self.0.callers.are_several();
        let mut state = self.0.state();
        let is_free = state.has_free(&limits) && state.may_run(company, &limits, are_several);
        let served = state.served;
        let entry = state.companies.entry(company).or_insert_with(|| Company { served, ..Company::default() });
        if is_free && entry.waiting.is_empty() {
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
        state.last += 1;
        let number = state.last;
        if let Some(entry) = state.companies.get_mut(&company) {
            entry.waiting.push_back(Waiter { number, weight, grant });
            state.waiting += 1;
        }
        drop(state);
        if is_free {
            // Those before it may have gone away.
            self.dispatch();
        }
        Ok(Start::Later(granted))
    }

    /// Lets work run that waits, as much as may.
    fn dispatch(&self) {
        let limits = self.0.limits;
        // Slots whose callers went away meanwhile. Dropped at the end, since each takes the lock again.
        let mut unused = Vec::new();
        let are_several = self.0.callers.are_several();
        let mut state = self.0.state();
        while state.waiting > 0 && state.has_free(&limits) {
            let eligible = state.companies.iter();
            let eligible = eligible
                .filter(|(id, company)| !company.waiting.is_empty() && state.may_run(**id, &limits, are_several));
            // Of those that are equal, the one that has waited longest.
            let first = |company: &Company| company.waiting.front().map(|waiter| waiter.number);
            let Some(company) = eligible
                .min_by_key(|(_, company)| (company.running, company.served, first(company)))
                .map(|(id, _)| *id)
            else {
                break;
            };
            let Some(entry) = state.companies.get_mut(&company) else { break };
            let before = entry.waiting.len();
            let next = entry.next();
            let gone = before - entry.waiting.len();
            state.waiting -= gone;
            let Some(waiter) = next else {
                state.forget_idle(company);
                continue;
            };
            let slot = self.take(&mut state, company, waiter.weight);
            unused.extend(waiter.grant.send(slot).err());
        }
        drop(state);
    }

    fn take(&self, state: &mut State, company: i64, weight: u64) -> Slot {
        state.last += 1;
        let number = state.last;
        state.running.push(Running { number, company, since: Instant::now() });
        if let Some(entry) = state.companies.get_mut(&company) {
            entry.running += 1;
            entry.served = entry.served.max(state.served);
            state.served = entry.served;
            entry.served += weight.max(1);
        }
        Slot { queue: self.clone(), company, number, is_unfinished: false }
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

impl Company {
    /// The caller whose turn it is, if any has waited for it.
    fn next(&mut self) -> Option<Waiter> {
        while self.waiting.front().is_some_and(|oldest| oldest.grant.is_closed()) {
            self.waiting.pop_front();
            self.left = Some(Instant::now());
        }
        if self.left.is_none_or(|left| left.elapsed() >= IMPATIENT) {
            self.turns = 0;
            return self.waiting.pop_front();
        }
        self.turns += 1;
        if self.turns.is_multiple_of(OLDEST_EVERY) {
            return self.waiting.pop_front();
        }
        loop {
            let newest = self.waiting.pop_back()?;
            if !newest.grant.is_closed() {
                return Some(newest);
            }
        }
    }
}

impl State {
    fn has_free(&self, limits: &QueueLimits) -> bool {
        if self.running.len() < limits.running {
            return true;
        }
        let is_recent = |running: &&Running| running.since.elapsed() < limits.slow_after;
        self.running.len() < limits.running * 4 && self.running.iter().filter(is_recent).count() < limits.running
    }

    /// Whether a company may have more work running.
    fn may_run(&self, company: i64, limits: &QueueLimits, are_several: bool) -> bool {
        let running = self.companies.get(&company).map_or(0, |company| company.running);
        if !are_several || running < limits.running_beside_others {
            return running < limits.running_per_company;
        }
        let is_recent = |running: &&Running| running.company == company && running.since.elapsed() < WAITS_AFTER;
        running < limits.running_per_company
            && self.running.iter().filter(is_recent).count() < limits.running_beside_others
    }

    /// Forgets a company that has no work and is not ahead of the others. While nothing runs, nobody is.
    fn forget_idle(&mut self, company: i64) {
        let served = self.served;
        let is_idle = |entry: &Company| entry.running == 0 && entry.waiting.is_empty();
        if self.running.is_empty() && self.waiting == 0 {
            self.companies.clear();
        } else if self.companies.get(&company).is_some_and(|entry| is_idle(entry) && entry.served <= served) {
            self.companies.remove(&company);
        } else if self.companies.len() >= MOST_REMEMBERED && self.companies.len().is_power_of_two() {
            self.companies.retain(|_, entry| !is_idle(entry) || entry.served > served);
        }
    }
}

impl Slot {
    /// Does the work. If this is dropped before it ends, the caller has left, which tells that it does not wait for long.
    pub async fn run<F: Future>(mut self, work: F) -> F::Output {
        self.is_unfinished = true;
        let result = work.await;
        self.is_unfinished = false;
        result
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.queue.0.state();
        state.running.retain(|running| running.number != self.number);
        if let Some(entry) = state.companies.get_mut(&self.company) {
            entry.running -= 1;
            if self.is_unfinished {
                entry.left = Some(Instant::now());
            }
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

    use super::{FairQueue, QueueLimits, WAITS_AFTER};
    use crate::{Callers, Full};

    const LIMITS: QueueLimits = QueueLimits {
        running: 2,
        running_per_company: 2,
        running_beside_others: 2,
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
        let queue = FairQueue::new(LIMITS, Callers::default());
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
        let queue = FairQueue::new(LIMITS, Callers::default());
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
        let queue = FairQueue::new(LIMITS, Callers::default());
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
        let queue = FairQueue::new(QueueLimits { running: 1, ..LIMITS }, Callers::default());
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
        let queue = FairQueue::new(
            QueueLimits { running: 1, slow_after: Duration::from_mins(1), ..LIMITS },
            Callers::default(),
        );
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
    async fn companies_with_one_caller_each_are_served_in_turn() {
        for running in [1, 2, 5] {
            let queue = FairQueue::new(QueueLimits { running, ..LIMITS }, Callers::default());
            let order = Arc::new(Mutex::new(Vec::new()));
            let callers: Vec<_> = (0..16)
                .map(|company| {
                    let (queue, order) = (queue.clone(), Arc::clone(&order));
                    tokio::spawn(async move {
                        loop {
                            let slot = queue.enter(company, 1 + company as usize % 3).await.unwrap();
                            order.lock().unwrap().push(company);
                            sleep(Duration::from_secs(1)).await;
                            drop(slot);
                        }
                    })
                })
                .collect();
            sleep(Duration::from_secs(160)).await;
            callers.iter().for_each(tokio::task::JoinHandle::abort);
            let order = order.lock().unwrap().clone();
            let served = |company: i64| order.iter().filter(|served| **served == company).count();
            let least = (0..16).map(served).min().unwrap();
            // The heaviest work weighs 3 of 31 for 16 callers.
            assert!(least >= 5 * running, "{running} at a time: {:?}", (0..16).map(served).collect::<Vec<_>>());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn callers_that_do_not_wait_for_long_leave_no_work_in_vain() {
        let queue = FairQueue::new(QueueLimits { running: 1, ..LIMITS }, Callers::default());
        // Of ten calls a second, each of which takes 0.2 s, five can be served. Callers wait for two seconds.
        let calls: Vec<_> = (0..500)
            .map(|number| {
                let queue = queue.clone();
                tokio::spawn(async move {
                    sleep(Duration::from_millis(100 * number)).await;
                    let call = async {
                        queue.enter(1, 1).await.unwrap().run(sleep(Duration::from_millis(200))).await;
                    };
                    timeout(Duration::from_millis(2_050), call).await.is_ok()
                })
            })
            .collect();
        let mut served = 0;
        for call in calls {
            served += usize::from(call.await.unwrap());
        }
        assert!(served >= 200, "{served} of 250 that could have been served");
    }

    #[tokio::test(start_paused = true)]
    async fn callers_that_wait_are_served_in_their_order() {
        let queue = FairQueue::new(QueueLimits { running: 1, ..LIMITS }, Callers::default());
        let order = Arc::new(Mutex::new(Vec::new()));
        for number in 0..20 {
            let (queue, order) = (queue.clone(), Arc::clone(&order));
            tokio::spawn(async move {
                sleep(Duration::from_millis(number)).await;
                let slot = queue.enter(1, 1).await.unwrap();
                order.lock().unwrap().push(number);
                sleep(Duration::from_secs(1)).await;
                drop(slot);
            });
        }
        sleep(Duration::from_secs(30)).await;
        assert_eq!(*order.lock().unwrap(), (0..20).collect::<Vec<_>>());
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_waits_is_served_beside_those_that_leave() {
        let queue = FairQueue::new(QueueLimits { running: 1, ..LIMITS }, Callers::default());
        let others: Vec<_> = (0..400)
            .map(|number| {
                let queue = queue.clone();
                tokio::spawn(async move {
                    sleep(Duration::from_millis(250 * number)).await;
                    let call = async {
                        queue.enter(1, 1).await.unwrap().run(sleep(Duration::from_secs(1))).await;
                    };
                    timeout(Duration::from_millis(2_100), call).await.is_ok()
                })
            })
            .collect();
        sleep(Duration::from_secs(10)).await;
        let patient = timeout(Duration::from_secs(30), queue.enter(1, 1)).await;
        assert!(patient.is_ok(), "it is not served");
        others.iter().for_each(tokio::task::JoinHandle::abort);
    }

    #[tokio::test(start_paused = true)]
    async fn companies_that_left_are_not_remembered_for_ever() {
        let queue =
            FairQueue::new(QueueLimits { running: 100, running_per_company: 100, ..LIMITS }, Callers::default());
        let held = queue.enter(-1, 1).await.unwrap();
        for company in 0..10_000 {
            drop(queue.enter(company, 5).await.unwrap());
            // Others go on meanwhile.
            drop(queue.enter(-1, 5).await.unwrap());
        }
        let remembered = queue.0.state().companies.len();
        assert!(remembered < 1_000, "{remembered}");
        drop(held);
        assert!(queue.0.state().companies.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_company_has_no_more_than_its_share_while_slots_are_free() {
        let queue = FairQueue::new(QueueLimits { running_per_company: 1, ..LIMITS }, Callers::default());
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
    async fn a_company_has_less_at_the_same_time_while_others_call() {
        let callers = Callers::default();
        let limits = QueueLimits { running: 8, running_per_company: 4, running_beside_others: 1, ..LIMITS };
        let queue = FairQueue::new(limits, callers.clone());
        let at_once = async |company| timeout(WAITS_AFTER / 10, queue.enter(company, 1)).await.ok();
        callers.called(1);
        let alone = [at_once(1).await, at_once(1).await];
        assert!(alone.iter().all(Option::is_some));
        callers.called(2);
        assert!(at_once(1).await.is_none(), "the company is no longer alone");
        let other = at_once(2).await;
        assert!(other.is_some() && at_once(2).await.is_none());
        // What waits for something counts no longer, but in the share that a company has when it is alone.
        advance(WAITS_AFTER).await;
        let third = at_once(1).await;
        assert!(third.is_some() && at_once(1).await.is_none());
        advance(WAITS_AFTER).await;
        let fourth = at_once(1).await;
        advance(WAITS_AFTER).await;
        assert!(fourth.is_some() && at_once(1).await.is_none(), "it has its whole share");
        drop((alone, third, fourth));
        // Work that waits runs when the other company has gone.
        callers.called(1);
        let (first, mut second) = (at_once(1).await, pin!(queue.enter(1, 1)));
        assert!(first.is_some() && timeout(WAITS_AFTER / 10, &mut second).await.is_err());
        advance(Duration::from_secs(1)).await;
        let second = timeout(WAITS_AFTER * 2, second).await.unwrap();
        let rest = [at_once(1).await, at_once(1).await];
        assert!(second.is_ok() && rest.iter().all(Option::is_some));
    }

    #[tokio::test(start_paused = true)]
    async fn work_that_hangs_keeps_only_its_own_company() {
        let queue = FairQueue::new(QueueLimits { running_per_company: 1, ..LIMITS }, Callers::default());
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
        let queue = FairQueue::new(
            QueueLimits { running: 1, waiting: 3, waiting_per_company: 2, ..LIMITS },
            Callers::default(),
        );
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
