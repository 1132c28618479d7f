//! Tests the batcher with batches that wait for a permit.

use std::{
    ops::Range,
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::poll;
use tokio::{
    sync::{Semaphore, oneshot},
    task::{Id, JoinHandle},
    time::{Instant, timeout},
};

use super::{BatchError, BatchLimits, Batcher, Pending, RunBatch};

/// Doubles numbers. Each batch waits for a permit and panics on 13.
#[derive(Clone)]
struct Double(Arc<State>);

struct State {
    permits: Semaphore,
    started: AtomicUsize,
    batches: Mutex<Vec<Vec<u64>>>,
    /// IDs of the tasks that ran the batches.
    tasks: Mutex<Vec<Id>>,
}

impl Double {
    fn new(permits: usize) -> Self {
        let permits = Semaphore::new(permits);
        Self(Arc::new(State {
            permits,
            started: AtomicUsize::new(0),
            batches: Mutex::default(),
            tasks: Mutex::default(),
        }))
    }

    async fn until_started(&self, batches: usize) {
        until(|| self.0.started.load(Ordering::SeqCst) == batches).await;
    }

    fn allow(&self, batches: usize) {
        self.0.permits.add_permits(batches);
    }

    fn batches(&self) -> Vec<Vec<u64>> {
        self.0.batches.lock().unwrap().clone()
    }
}

impl RunBatch for Double {
    type Request = u64;
    type Response = u64;

    async fn run(&self, batch: Vec<Pending<u64, u64>>) {
        self.0.batches.lock().unwrap().push(batch.iter().map(|pending| pending.request).collect());
        self.0.tasks.lock().unwrap().push(tokio::task::id());
        self.0.started.fetch_add(1, Ordering::SeqCst);
        self.0.permits.acquire().await.unwrap().forget();
        for pending in batch {
            assert_ne!(pending.request, 13, "unlucky");
            let doubled = pending.request * 2;
            pending.respond(doubled);
        }
    }
}

const LIMITS: BatchLimits = BatchLimits {
    max_in_flight: 1,
    max_in_flight_when_slow: 2,
    slow_after: Duration::MAX,
    max_batch: 64,
    max_queue: 100,
};

/// Longer than any test step.
const SOON: Duration = Duration::from_mins(1);

async fn until(condition: impl Fn() -> bool) {
    let met = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(SOON, met).await.expect("timed out waiting for the condition");
}

fn batcher(limits: BatchLimits) -> (Double, Batcher<Double>) {
    let double = Double::new(0);
    (double.clone(), Batcher::new(double, limits))
}

async fn until_queued(batcher: &Batcher<Double>, requests: usize) {
    let waiting = batcher.queue_length();
    until(|| waiting() == Some(requests)).await;
}

fn call(batcher: &Batcher<Double>, request: u64) -> JoinHandle<Result<u64, BatchError>> {
    let batcher = batcher.clone();
    tokio::spawn(async move { batcher.call(request).await })
}

fn calls(batcher: &Batcher<Double>, requests: Range<u64>) -> Vec<(u64, JoinHandle<Result<u64, BatchError>>)> {
    requests.map(|request| (request, call(batcher, request))).collect()
}

async fn assert_doubled(calls: Vec<(u64, JoinHandle<Result<u64, BatchError>>)>) {
    for (request, response) in calls {
        let response = timeout(SOON, response).await.expect("timed out waiting for a response");
        assert_eq!(response.unwrap(), Ok(request * 2));
    }
}

/// The batcher reads the first of two requests before the second is sent.
#[tokio::test]
async fn lone_requests_do_not_wait_for_others() {
    let (double, batcher) = batcher(LIMITS);
    double.allow(10);
    let one_after_another = async |first: u64| {
        let mut one = pin!(batcher.call(first));
        assert!(poll!(&mut one).is_pending());
        let other = call(&batcher, first + 1);
        assert_eq!((one.await, other.await.unwrap()), (Ok(first * 2), Ok(first * 2 + 2)));
    };
    assert_eq!(batcher.call(1).await, Ok(2));
    one_after_another(2).await;
    let at_once = futures::join!(batcher.call(4), batcher.call(5));
    assert_eq!(at_once, (Ok(8), Ok(10)));
    one_after_another(6).await;
    assert_eq!(double.batches(), [vec![1], vec![2], vec![3], vec![4, 5], vec![6, 7]]);
}

#[tokio::test]
async fn waiting_requests_form_one_batch() {
    let (double, batcher) = batcher(LIMITS);
    let first = calls(&batcher, 100..101);
    double.until_started(1).await;
    let others = calls(&batcher, 101..150);
    until_queued(&batcher, 49).await;
    double.allow(2);
    assert_doubled(first).await;
    assert_doubled(others).await;
    assert_eq!(double.batches().iter().map(Vec::len).collect::<Vec<_>>(), [1, 49]);
}

#[tokio::test]
async fn simultaneous_requests_form_one_batch() {
    let (double, batcher) = batcher(LIMITS);
    let calls = calls(&batcher, 100..150);
    double.allow(1);
    assert_doubled(calls).await;
    assert_eq!(double.batches().len(), 1);
}

/// A ready task sends the second request after the dispatcher has received the first.
#[tokio::test]
async fn batches_include_requests_sent_during_yield() {
    for (max_batch, expected) in
        [(64, vec![vec![1, 2, 3]]), (2, vec![vec![1, 2], vec![3]]), (1, vec![vec![1], vec![2], vec![3]])]
    {
        let (double, batcher) = batcher(BatchLimits { max_batch, ..LIMITS });
        double.allow(3);
        // Lets the dispatcher start waiting for a request.
        tokio::task::yield_now().await;
        let mut first = Box::pin(batcher.call(1));
        assert!(poll!(first.as_mut()).is_pending());
        let others = calls(&batcher, 2..4);
        assert_eq!(first.await, Ok(2));
        assert_doubled(others).await;
        assert_eq!(double.batches(), expected);
    }
}

#[tokio::test]
async fn lone_batches_run_in_dispatcher_task() {
    let (double, batcher) = batcher(BatchLimits { max_in_flight: 2, max_batch: 1, ..LIMITS });
    for request in [1, 2] {
        double.allow(1);
        assert_eq!(batcher.call(request).await, Ok(request * 2));
    }
    let others = calls(&batcher, 3..5);
    double.until_started(4).await;
    double.allow(2);
    assert_doubled(others).await;
    let tasks = double.0.tasks.lock().unwrap().clone();
    assert_eq!([tasks[1], tasks[2]], [tasks[0]; 2]);
    assert_ne!(tasks[3], tasks[0]);
}

#[tokio::test]
async fn pending_requests_detect_disconnected_callers() {
    let (sender, caller) = oneshot::channel::<u64>();
    let mut pending = Pending { request: 1, reply: sender };
    assert!(!pending.is_abandoned());
    assert!(poll!(Box::pin(pending.parts_mut().1.closed())).is_pending() && !pending.is_abandoned());
    drop(caller);
    pending.parts_mut().1.closed().await;
    assert!(pending.is_abandoned());
}

#[test]
fn limits_allow_one_batch_per_two_cores() {
    let limits = |cores, slow| BatchLimits::for_cores(cores, slow, 7);
    assert_eq!([1, 2, 3, 8, 64].map(|cores| limits(cores, 16).max_in_flight), [1, 1, 1, 4, 16]);
    assert_eq!((limits(8, 0).max_in_flight, limits(8, 0).max_queue), (1, 7));
    let here = std::thread::available_parallelism().unwrap().get();
    assert_eq!(BatchLimits::for_this_machine(16, 7), limits(here, 16));
}

#[tokio::test]
async fn batch_size_is_limited() {
    let (double, batcher) = batcher(BatchLimits { max_batch: 20, ..LIMITS });
    let calls = calls(&batcher, 100..150);
    double.allow(3);
    assert_doubled(calls).await;
    assert_eq!(double.batches().iter().map(Vec::len).collect::<Vec<_>>(), [20, 20, 10]);
}

/// The cancelled requests sit between others of the same batch, so matching responses by index would misroute them.
#[tokio::test]
async fn batches_exclude_cancelled_requests() {
    let (double, batcher) = batcher(LIMITS);
    let first = calls(&batcher, 1..2);
    double.until_started(1).await;
    let (cancelled, kept): (Vec<_>, Vec<_>) =
        calls(&batcher, 100..150).into_iter().partition(|(request, _)| request % 3 == 0);
    until_queued(&batcher, 50).await;
    for (_, call) in cancelled {
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
    }
    double.allow(2);
    assert_doubled(first).await;
    assert_doubled(kept).await;
    let expected: Vec<u64> = (100..150).filter(|request| request % 3 != 0).collect();
    assert_eq!(double.batches(), [vec![1], expected]);
}

#[tokio::test]
async fn cancelling_running_requests_does_not_affect_others() {
    let (double, batcher) = batcher(LIMITS);
    let (cancelled, kept): (Vec<_>, Vec<_>) =
        calls(&batcher, 100..150).into_iter().partition(|(request, _)| request % 2 == 0);
    double.until_started(1).await;
    for (_, call) in cancelled {
        call.abort();
    }
    double.allow(2);
    assert_doubled(kept).await;
    // The first batch has freed its slot.
    assert_eq!(batcher.call(7).await, Ok(14));
}

#[tokio::test]
async fn panicking_batches_fail_only_their_callers() {
    let (double, batcher) = batcher(BatchLimits { max_batch: 1, ..LIMITS });
    let first = call(&batcher, 1);
    double.until_started(1).await;
    let unlucky = call(&batcher, 13);
    until_queued(&batcher, 1).await;
    let last = call(&batcher, 3);
    until_queued(&batcher, 2).await;
    double.allow(3);
    assert_eq!(first.await.unwrap(), Ok(2));
    assert_eq!(unlucky.await.unwrap(), Err(BatchError::Closed));
    assert_eq!(last.await.unwrap(), Ok(6));
}

#[tokio::test]
async fn slow_batches_delay_only_their_callers() {
    let (double, batcher) = batcher(BatchLimits { slow_after: Duration::from_millis(1), ..LIMITS });
    let slow = call(&batcher, 1);
    double.until_started(1).await;
    let second = call(&batcher, 2);
    double.until_started(2).await;
    double.allow(2);
    assert_eq!((slow.await.unwrap(), second.await.unwrap()), (Ok(2), Ok(4)));
}

#[tokio::test]
async fn requests_start_once_running_batch_is_slow() {
    let slow_after = Duration::from_millis(100);
    let (double, batcher) = batcher(BatchLimits { slow_after, ..LIMITS });
    let start = Instant::now();
    let slow = calls(&batcher, 1..2);
    double.until_started(1).await;
    let waiting = calls(&batcher, 2..10);
    // On a busy machine, the first batch may become slow before all requests are queued.
    let length = batcher.queue_length();
    until(|| length() == Some(8) || double.batches().len() == 2).await;
    double.until_started(2).await;
    assert!(start.elapsed() >= slow_after, "the first batch was not slow yet");
    double.allow(2);
    assert_doubled(slow).await;
    assert_doubled(waiting).await;
}

#[tokio::test]
async fn concurrent_slow_batches_are_limited() {
    let (double, batcher) = batcher(BatchLimits { slow_after: Duration::from_millis(1), ..LIMITS });
    let slow = call(&batcher, 1);
    double.until_started(1).await;
    let second = call(&batcher, 2);
    double.until_started(2).await;
    let third = call(&batcher, 3);
    until_queued(&batcher, 1).await;
    // Much longer than `slow_after`.
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(double.batches().len(), 2);
    double.allow(3);
    assert_eq!((slow.await.unwrap(), second.await.unwrap(), third.await.unwrap()), (Ok(2), Ok(4), Ok(6)));
}

#[tokio::test]
async fn full_queue_rejects_requests_immediately() {
    let (double, batcher) = batcher(BatchLimits { max_queue: 1, ..LIMITS });
    let first = call(&batcher, 1);
    double.until_started(1).await;
    let second = call(&batcher, 2);
    until_queued(&batcher, 1).await;
    assert_eq!(batcher.call(3).await, Err(BatchError::QueueFull));
    double.allow(2);
    assert_eq!((first.await.unwrap(), second.await.unwrap()), (Ok(2), Ok(4)));
}

#[test]
fn runtime_shutdown_closes_batcher() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (batcher, waiting) = runtime.block_on(async {
        let (double, batcher) = batcher(LIMITS);
        let waiting = calls(&batcher, 1..100);
        double.until_started(1).await;
        (batcher, waiting)
    });
    drop(runtime);
    let other = tokio::runtime::Builder::new_current_thread().build().unwrap();
    other.block_on(async {
        for (_, call) in waiting {
            assert!(call.await.unwrap_err().is_cancelled());
        }
        assert_eq!(batcher.call(1).await, Err(BatchError::Closed));
    });
}
