//! A queue that is fair to companies: by what their work weighs, not by how many calls they make.
//!
//! Work starts at once while there are slots. Otherwise the company is served next that has the least work running, and
//! of these the one that has had the least so far (start-time fair queuing).
//!
//! The calls of one company are served in the order in which they came. When callers leave before their work is done, those
//! who have waited longest are about to leave as well: then most turns go to the call that came last.

use std::{
    cell::Cell,
    collections::{HashMap, VecDeque},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use futures::FutureExt as _;
use parking_lot::Mutex;
use tokio::{
    sync::oneshot,
    time::{Instant, timeout},
};

use crate::{
    Callers, Full,
    limits::{IMPATIENT, OLDEST_EVERY, REMEMBERED_COMPANIES, WAITS_AFTER},
};

tokio::task_local! {
    /// The slot in which this task works.
    static CURRENT: (FairQueue, u64);
    /// Takes the slot of work that has ended, for what follows the work.
    static HANDED_OVER: Cell<Option<Slot>>;
}

/// How much runs, and how much waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimits {
    /// Work that runs at the same time.
    pub running: usize,
    /// Work of one company that runs at the same time.
    pub running_per_company: usize,
    /// The same while several companies call, so that processors and database have time for the others.
    pub running_with_others: usize,
    /// Work that takes longer than this no longer counts in `running`, up to four times as much, but only in
    /// `running_per_company`: it probably waits for something, and must not keep others from theirs.
    pub slow_after: Duration,
    /// Work that waits. More is refused.
    pub waiting: usize,
    /// Work of one company that waits.
    pub waiting_per_company: usize,
}

/// Lets work run. Clones share the queue.
#[derive(Clone, Debug)]
pub struct FairQueue(Arc<SharedQueue>);

#[derive(Debug)]
struct SharedQueue {
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
    /// What it waits for that is not this process's own. It takes nothing meanwhile.
    waits: usize,
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
    /// A queue without work. `callers` records the companies that call.
    pub fn new(limits: QueueLimits, callers: Callers) -> Self {
        Self(Arc::new(SharedQueue { limits, callers, state: Mutex::default() }))
    }

    /// Waits until work of this weight may run. Waits as long as it takes: the caller has a deadline.
    pub async fn enter(&self, company: i64, weight: usize) -> Result<Slot, Full> {
        let mut grant = match self.start(company, weight as u64)? {
            Ok(slot) => return Ok(slot),
            Err(grant) => grant,
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
        self.0.state.lock().waiting
    }

    /// How much work runs.
    pub fn running(&self) -> usize {
        self.0.state.lock().running.len()
    }

    /// Returns a slot, or else what will receive it.
    fn start(&self, company: i64, weight: u64) -> Result<Result<Slot, oneshot::Receiver<Slot>>, Full> {
        let limits = self.0.limits;
        let are_several = self.0.callers.are_several();
        let mut guard = self.0.state.lock();
        let state = &mut *guard;
        let is_free = state.has_free(&limits) && state.may_run(company, &limits, are_several);
        let served = state.served;
        let entry = state.companies.entry(company).or_insert_with(|| Company { served, ..Company::default() });
        if is_free && entry.waiting.is_empty() {
            return Ok(Ok(self.take(state, company, weight)));
        }
        if entry.waiting.len() >= limits.waiting_per_company {
            // Callers that went away make room.
            let before = entry.waiting.len();
            entry.waiting.retain(|waiter| !waiter.grant.is_closed());
            state.waiting -= before - entry.waiting.len();
        }
        let company_is_full = entry.waiting.len() >= limits.waiting_per_company;
        if company_is_full || state.waiting >= limits.waiting {
            state.forget_idle(company);
            return Err(if company_is_full { Full::Company } else { Full::Process });
        }
        let (grant, granted) = oneshot::channel();
        state.last += 1;
        entry.waiting.push_back(Waiter { number: state.last, weight, grant });
        state.waiting += 1;
        drop(guard);
        if is_free {
            // Those before it may have gone away.
            self.dispatch();
        }
        Ok(Err(granted))
    }

    /// Lets work run that waits, as much as may.
    fn dispatch(&self) {
        let limits = self.0.limits;
        // Slots whose callers went away meanwhile. Dropped at the end, since each takes the lock again.
        let mut unused = Vec::new();
        let are_several = self.0.callers.are_several();
        let mut guard = self.0.state.lock();
        let state = &mut *guard;
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
            state.waiting -= before - entry.waiting.len();
            let Some(waiter) = next else {
                state.forget_idle(company);
                continue;
            };
            let slot = self.take(state, company, waiter.weight);
            unused.extend(waiter.grant.send(slot).err());
        }
        drop(guard);
    }

    /// Changes what is known of work that runs.
    fn change(&self, number: u64, change: impl Fn(&mut Running)) {
        self.0.state.lock().running.iter_mut().filter(|running| running.number == number).for_each(change);
    }

    fn take(&self, state: &mut State, company: i64, weight: u64) -> Slot {
        state.last += 1;
        let number = state.last;
        state.running.push(Running { number, company, since: Instant::now(), waits: 0 });
        if let Some(entry) = state.companies.get_mut(&company) {
            entry.running += 1;
            entry.served = entry.served.max(state.served);
            state.served = entry.served;
            entry.served += weight.max(1);
        }
        Slot { queue: self.clone(), company, number, is_unfinished: false }
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
        let running = self.running.iter().filter(|running| running.waits == 0);
        let all = running.clone().count();
        let is_recent = |running: &&Running| running.since.elapsed() < limits.slow_after;
        all < limits.running || (all < limits.running * 4 && running.filter(is_recent).count() < limits.running)
    }

    /// Whether a company may have more work running.
    fn may_run(&self, company: i64, limits: &QueueLimits, are_several: bool) -> bool {
        let running = self.companies.get(&company).map_or(0, |company| company.running);
        if !are_several || running < limits.running_with_others {
            return running < limits.running_per_company;
        }
        let is_recent = |running: &&Running| running.company == company && running.since.elapsed() < WAITS_AFTER;
        running < limits.running_per_company
            && self.running.iter().filter(is_recent).count() < limits.running_with_others
    }

    /// Forgets a company that has no work and is not ahead of the others. While nothing runs, nobody is.
    fn forget_idle(&mut self, company: i64) {
        let served = self.served;
        let is_idle = |entry: &Company| entry.running == 0 && entry.waiting.is_empty();
        if self.running.is_empty() && self.waiting == 0 {
            self.companies.clear();
        } else if self.companies.get(&company).is_some_and(|entry| is_idle(entry) && entry.served <= served) {
            self.companies.remove(&company);
        } else if self.companies.len() >= REMEMBERED_COMPANIES && self.companies.len().is_power_of_two() {
            self.companies.retain(|_, entry| !is_idle(entry) || entry.served > served);
        }
    }
}

impl Slot {
    /// Does the work, which can say when it [waits](waiting). If this is dropped before it ends, the caller has left.
    pub fn run<F: Future>(&mut self, work: F) -> impl Future<Output = F::Output> {
        self.is_unfinished = true;
        // No `async fn`, whose future would have room for the work twice.
        CURRENT.scope((self.queue.clone(), self.number), work).inspect(|_| self.is_unfinished = false)
    }

    /// The work waits until what is returned is dropped, as in [`waiting`].
    pub fn waits(&self) -> Waits {
        Waits::new(self.queue.clone(), self.number)
    }

    /// Hands the slot to who has called for the work by [`with_slot_of`]. Without one, it is dropped.
    pub fn hand_over(self) {
        let _ = HANDED_OVER.try_with(|next| next.set(Some(self)));
    }

    /// Whether another company waits for a slot, and could have this one.
    pub fn is_needed(&self) -> bool {
        let SharedQueue { limits, callers, .. } = &*self.queue.0;
        let (are_several, state) = (callers.are_several(), self.queue.0.state.lock());
        let mut others = state.companies.iter().filter(|(id, _)| **id != self.company);
        others.any(|(id, other)| {
            other.waiting.iter().any(|waiter| !waiter.grant.is_closed()) && state.may_run(*id, limits, are_several)
        })
    }
}

/// Does work, and returns the slot that it has [handed over](Slot::hand_over): what follows is done in the same slot.
pub async fn with_slot_of<F: Future>(work: F) -> (F::Output, Option<Slot>) {
    let mut work = pin!(HANDED_OVER.scope(Cell::new(None), work));
    let output = work.as_mut().await;
    (output, work.take_value().and_then(Cell::into_inner))
}

/// Waits for something that is not this process's own, such as a lock that another session holds. The slot of this task, if it
/// has one, serves other companies until then.
pub async fn waiting<F: Future>(wait: F) -> F::Output {
    let current = CURRENT.try_with(|(queue, number)| (queue.clone(), *number)).ok();
    let _waits = current.map(|(queue, number)| Waits::new(queue, number));
    wait.await
}

/// Work that waits, until this is dropped.
#[derive(Debug)]
pub struct Waits {
    queue: FairQueue,
    number: u64,
}

impl Waits {
    fn new(queue: FairQueue, number: u64) -> Self {
        queue.change(number, |running| running.waits += 1);
        queue.dispatch();
        Self { queue, number }
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.queue.change(self.number, |running| running.waits -= 1);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.queue.0.state.lock();
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
mod tests;
