//! Concurrent reads of one shape, gathered into one.
//!
//! A read that comes while few are under way goes out at once, with those that other tasks are just about to make; alone,
//! it goes in its caller's own task. One that comes while they are under way waits, and all that wait go out together as
//! soon as one of those is back: an idle service adds no wait, a busy one makes one round trip for many reads. What waits is bounded. A caller that goes away loses its own answer
//! only, and hands on the turn it had.

use std::{
    collections::VecDeque,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::{runtime::Handle, sync::oneshot};

/// How reads are made.
pub trait Fetch: Send + Sync + 'static {
    /// What is read.
    type Key: Send + 'static;
    /// What came of one read, failure included.
    type Answer: Send + 'static;

    /// Makes the reads. One answer for each key, in their order; bounded in time.
    fn fetch(&self, keys: Vec<Self::Key>) -> impl Future<Output = Vec<Self::Answer>> + Send;
}

/// How much at the same time.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Fetches under way; what comes beyond waits to be gathered.
    pub under_way: usize,
    /// Fetches under way when those do not come back: when none has gone out for [`Self::patience`], those who wait go
    /// out in spite of them.
    pub under_way_at_most: usize,
    /// How long a fetch commonly takes, at most.
    pub patience: Duration,
    /// Keys in one fetch.
    pub at_once: usize,
    /// Reads that wait; more are refused.
    pub waiting: usize,
}

impl Limits {
    /// As many fetches under way as keep this machine busy, one for two cores: more would only make each of them smaller.
    pub fn for_this_machine(under_way_at_most: usize, waiting: usize) -> Self {
        let half = std::thread::available_parallelism().map_or(1, |cores| cores.get() / 2);
        let under_way = half.clamp(1, under_way_at_most.max(1));
        Self { under_way, under_way_at_most, patience: Duration::from_millis(50), at_once: 256, waiting }
    }

    /// Turns that there are when the last one was taken so long ago.
    fn turns(&self, since: Duration) -> usize {
        if since < self.patience { self.under_way } else { self.under_way_at_most }
    }
}

/// A read that was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// As many reads wait as may.
    Full,
    /// The fetch ended without an answer.
    Lost,
}

/// Gathers reads. Clones share the queue.
pub struct Gather<F: Fetch>(Arc<Inner<F>>);

struct Inner<F: Fetch> {
    fetch: F,
    limits: Limits,
    state: Mutex<State<F>>,
}

struct State<F: Fetch> {
    /// Turns that are taken.
    under_way: usize,
    /// When the last fetch went out.
    last: Instant,
    waiting: VecDeque<Waiting<F>>,
}

struct Waiting<F: Fetch> {
    key: F::Key,
    answer: oneshot::Sender<F::Answer>,
}

impl<F: Fetch> Clone for Gather<F> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<F: Fetch> std::fmt::Debug for Gather<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gather").field("limits", &self.0.limits).finish_non_exhaustive()
    }
}

impl<F: Fetch> Gather<F> {
    /// Gathers for `fetch`.
    pub fn new(fetch: F, limits: Limits) -> Self {
        let state = Mutex::new(State { under_way: 0, last: Instant::now(), waiting: VecDeque::new() });
        Self(Arc::new(Inner { fetch, limits, state }))
    }

    /// What the reads are made with.
    pub fn fetcher(&self) -> &F {
        &self.0.fetch
    }

    /// Makes a read, alone or with others.
    pub async fn get(&self, key: F::Key) -> Result<F::Answer, Refused> {
        let answer = {
            let mut state = self.0.state();
            let now = Instant::now();
            if state.under_way < self.0.limits.turns(now - state.last) {
                state.under_way += 1;
                state.last = now;
                Err(key)
            } else if state.waiting.len() >= self.0.limits.waiting {
                return Err(Refused::Full);
            } else {
                let (sender, receiver) = oneshot::channel();
                state.waiting.push_back(Waiting { key, answer: sender });
                Ok(receiver)
            }
        };
        match answer {
            Ok(gathered) => gathered.await.map_err(|_| Refused::Lost),
            Err(key) => {
                // Handed on when this is done, or when the caller goes away half way.
                let turn = Turn(Arc::clone(&self.0));
                // Whoever is about to ask comes along.
                tokio::task::yield_now().await;
                let gathered = {
                    let mut state = self.0.state();
                    if state.waiting.is_empty() {
                        Err(key)
                    } else {
                        let (sender, receiver) = oneshot::channel();
                        state.waiting.push_front(Waiting { key, answer: sender });
                        Ok(receiver)
                    }
                };
                match gathered {
                    Ok(gathered) => {
                        drop(turn);
                        gathered.await.map_err(|_| Refused::Lost)
                    }
                    Err(key) => self.0.make(vec![key]).await.pop().ok_or(Refused::Lost),
                }
            }
        }
    }
}

impl<F: Fetch> Inner<F> {
    fn state(&self) -> MutexGuard<'_, State<F>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes reads. When they do not come back soon, those who wait go out in spite of them.
    async fn make(self: &Arc<Self>, keys: Vec<F::Key>) -> Vec<F::Answer> {
        let mut fetch = pin!(self.fetch.fetch(keys));
        loop {
            if let Ok(answers) = tokio::time::timeout(self.limits.patience, fetch.as_mut()).await {
                return answers;
            }
            self.go_out_in_spite();
        }
    }

    fn go_out_in_spite(self: &Arc<Self>) {
        let mut state = self.state();
        let now = Instant::now();
        if !state.waiting.is_empty() && state.under_way < self.limits.turns(now - state.last) {
            state.under_way += 1;
            state.last = now;
            drop(state);
            tokio::spawn(serve(Turn(Arc::clone(self))));
        }
    }
}

/// The right to have one fetch under way. Dropped, it goes to those who wait, or back.
struct Turn<F: Fetch>(Arc<Inner<F>>);

impl<F: Fetch> Drop for Turn<F> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        match Handle::try_current() {
            Ok(runtime) if !state.waiting.is_empty() => {
                drop(state);
                runtime.spawn(serve(Self(Arc::clone(&self.0))));
            }
            _ => state.under_way -= 1,
        }
    }
}

/// Makes the reads that wait, as many at once as may be, until none does.
async fn serve<F: Fetch>(turn: Turn<F>) {
    let inner = Arc::clone(&turn.0);
    loop {
        let (keys, answers) = {
            let mut state = inner.state();
            state.last = Instant::now();
            let (mut keys, mut answers) = (Vec::new(), Vec::new());
            while keys.len() < inner.limits.at_once {
                let Some(Waiting { key, answer }) = state.waiting.pop_front() else { break };
                // Who has gone away wants nothing read.
                if !answer.is_closed() {
                    keys.push(key);
                    answers.push(answer);
                }
            }
            (keys, answers)
        };
        if keys.is_empty() {
            return;
        }
        for (answer, sender) in inner.make(keys).await.into_iter().zip(answers) {
            // A caller that has gone meanwhile wants no answer.
            let _ = sender.send(answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::Semaphore;

    use super::{Duration, Fetch, Gather, Limits, Refused};

    /// Doubles its keys; a fetch waits for a permit, and counts.
    struct Double {
        permits: Semaphore,
        fetches: AtomicUsize,
        most_keys: AtomicUsize,
    }

    impl Double {
        fn new(permits: usize) -> Self {
            let (fetches, most_keys) = (AtomicUsize::new(0), AtomicUsize::new(0));
            Self { permits: Semaphore::new(permits), fetches, most_keys }
        }
    }

    impl Fetch for Double {
        type Key = u64;
        type Answer = u64;

        async fn fetch(&self, keys: Vec<u64>) -> Vec<u64> {
            self.fetches.fetch_add(1, Ordering::SeqCst);
            self.most_keys.fetch_max(keys.len(), Ordering::SeqCst);
            self.permits.acquire().await.unwrap().forget();
            assert!(!keys.contains(&13), "unlucky");
            keys.into_iter().map(|key| key * 2).collect()
        }
    }

    const LIMITS: Limits =
        Limits { under_way: 1, under_way_at_most: 2, patience: Duration::from_hours(1), at_once: 64, waiting: 100 };

    async fn until(condition: impl Fn() -> bool) {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    type Reads = Vec<tokio::task::JoinHandle<(u64, Result<u64, Refused>)>>;

    fn reads(gather: &Gather<Double>, keys: std::ops::Range<u64>) -> Reads {
        let read = |key| {
            let gather = gather.clone();
            tokio::spawn(async move { (key, gather.get(key).await) })
        };
        keys.map(read).collect()
    }

    async fn doubled(reads: Reads) {
        for read in reads {
            let (key, answer) = read.await.unwrap();
            assert_eq!(answer, Ok(key * 2));
        }
    }

    #[tokio::test]
    async fn what_waits_goes_out_together_and_everyone_gets_their_own() {
        let gather = Gather::new(Double::new(0), LIMITS);
        let first = reads(&gather, 100..101);
        until(|| gather.fetcher().fetches.load(Ordering::SeqCst) == 1).await;
        let others = reads(&gather, 101..150);
        until(|| gather.0.state().waiting.len() == 49).await;
        gather.fetcher().permits.add_permits(2);
        doubled(first).await;
        doubled(others).await;
        assert_eq!(gather.fetcher().fetches.load(Ordering::SeqCst), 2);
        assert_eq!(gather.fetcher().most_keys.load(Ordering::SeqCst), 49);
        until(|| gather.0.state().under_way == 0).await;
    }

    #[tokio::test]
    async fn reads_that_are_made_together_go_out_together() {
        let gather = Gather::new(Double::new(1), LIMITS);
        doubled(reads(&gather, 100..150)).await;
        assert_eq!(gather.fetcher().fetches.load(Ordering::SeqCst), 1);
        until(|| gather.0.state().under_way == 0).await;
    }

    #[tokio::test]
    async fn a_caller_that_goes_away_hands_on_its_turn() {
        let gather = Gather::new(Double::new(0), LIMITS);
        let first = tokio::spawn({
            let gather = gather.clone();
            async move { gather.get(1).await }
        });
        until(|| gather.fetcher().fetches.load(Ordering::SeqCst) == 1).await;
        let second = tokio::spawn({
            let gather = gather.clone();
            async move { gather.get(2).await }
        });
        until(|| gather.0.state().waiting.len() == 1).await;
        first.abort();
        gather.fetcher().permits.add_permits(1);
        assert_eq!(second.await.unwrap(), Ok(4));
    }

    #[tokio::test]
    async fn a_fetch_that_panics_harms_nobody_else() {
        let gather = Gather::new(Double::new(0), Limits { at_once: 1, ..LIMITS });
        let get = |key| {
            let gather = gather.clone();
            tokio::spawn(async move { gather.get(key).await })
        };
        let first = get(1);
        until(|| gather.fetcher().fetches.load(Ordering::SeqCst) == 1).await;
        let unlucky = get(13);
        until(|| gather.0.state().waiting.len() == 1).await;
        let last = get(3);
        until(|| gather.0.state().waiting.len() == 2).await;
        gather.fetcher().permits.add_permits(3);
        assert_eq!(first.await.unwrap(), Ok(2));
        assert_eq!(unlucky.await.unwrap(), Err(Refused::Lost));
        assert_eq!(last.await.unwrap(), Ok(6));
    }

    #[tokio::test]
    async fn a_fetch_that_does_not_come_back_holds_up_only_its_own() {
        let gather = Gather::new(Double::new(0), Limits { patience: Duration::from_millis(1), ..LIMITS });
        let stuck = tokio::spawn({
            let gather = gather.clone();
            async move { gather.get(1).await }
        });
        until(|| gather.fetcher().fetches.load(Ordering::SeqCst) == 1).await;
        let second = tokio::spawn({
            let gather = gather.clone();
            async move { gather.get(2).await }
        });
        until(|| gather.fetcher().fetches.load(Ordering::SeqCst) == 2).await;
        gather.fetcher().permits.add_permits(2);
        assert_eq!((stuck.await.unwrap(), second.await.unwrap()), (Ok(2), Ok(4)));
    }

    #[tokio::test]
    async fn who_waits_for_a_fetch_that_does_not_come_back_needs_no_other_read_to_go_out() {
        let gather = Gather::new(Double::new(0), Limits { patience: Duration::from_millis(100), ..LIMITS });
        let stuck = reads(&gather, 1..2);
        until(|| gather.fetcher().fetches.load(Ordering::SeqCst) == 1).await;
        let waiting = reads(&gather, 2..10);
        until(|| gather.fetcher().fetches.load(Ordering::SeqCst) == 2).await;
        gather.fetcher().permits.add_permits(2);
        doubled(stuck).await;
        doubled(waiting).await;
    }

    #[tokio::test]
    async fn the_queue_has_a_limit() {
        let gather = Gather::new(Double::new(0), Limits { waiting: 1, ..LIMITS });
        let first = reads(&gather, 1..2);
        until(|| gather.fetcher().fetches.load(Ordering::SeqCst) == 1).await;
        let second = reads(&gather, 2..3);
        until(|| gather.0.state().waiting.len() == 1).await;
        assert_eq!(gather.get(3).await, Err(Refused::Full));
        gather.fetcher().permits.add_permits(2);
        doubled(first).await;
        doubled(second).await;
    }
}
