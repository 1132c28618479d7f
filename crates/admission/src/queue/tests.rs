use std::{
    future::poll_fn,
    pin::pin,
    sync::{Arc, Mutex},
    task::Poll,
    time::Duration,
};

use futures::FutureExt as _;
use tokio::{
    task::JoinHandle,
    time::{advance, sleep, timeout},
};

use super::{QueueLimits, WorkPermit, WorkQueue};
use crate::{Callers, LimitReached};

const LIMITS: QueueLimits = QueueLimits {
    running: 2,
    running_per_company: 2,
    running_with_others: 2,
    slow_after: Duration::from_secs(2),
    waiting: 100,
    waiting_per_company: 50,
};

/// Several companies call.
fn several() -> Callers {
    let callers = Callers::default();
    callers.called(1);
    callers.called(2);
    callers
}

/// Enters the queue in a task, which reports the company once it runs, and runs for a second.
fn spawn(queue: &WorkQueue, company: i64, order: &Arc<Mutex<Vec<i64>>>) {
    let (queue, order) = (queue.clone(), Arc::clone(order));
    tokio::spawn(async move {
        let permit = queue.enter(company).await.unwrap();
        order.lock().unwrap().push(company);
        sleep(Duration::from_secs(1)).await;
        drop(permit);
    });
}

/// A company's work, if it runs within a second.
async fn runs(queue: &WorkQueue, company: i64) -> Option<WorkPermit> {
    timeout(Duration::from_secs(1), queue.enter(company)).await.ok().map(Result::unwrap)
}

#[tokio::test]
async fn work_that_may_run_does_not_wait() {
    let queue = WorkQueue::new(LIMITS, Callers::default());
    let mut first = pin!(queue.enter(1));
    // The first poll is enough.
    let permit = poll_fn(|context| Poll::Ready(first.as_mut().poll(context))).await;
    assert!(permit.is_ready());
    assert_eq!((queue.running(), queue.waiting()), (1, 0));
    let second = queue.enter(2).await.unwrap();
    drop(permit);
    assert_eq!(queue.running(), 1);
    drop(second);
    assert_eq!(queue.running(), 0);
}

#[tokio::test(start_paused = true)]
async fn slow_work_makes_room_for_other_work() {
    let queue = WorkQueue::new(LIMITS, Callers::default());
    let slow = runs(&queue, 1).await.unwrap();
    advance(LIMITS.slow_after).await;
    let recent = [runs(&queue, 2).await.unwrap(), runs(&queue, 3).await.unwrap()];
    assert!(runs(&queue, 4).await.is_none(), "more than the limit runs, and is not slow");
    drop((slow, recent));
    // As much is slow as may wait.
    let queue = WorkQueue::new(QueueLimits { waiting: 6, ..LIMITS }, Callers::default());
    let mut permits = Vec::new();
    for company in 0..8 {
        permits.push(runs(&queue, company).await.unwrap_or_else(|| panic!("{company} waits")));
        advance(LIMITS.slow_after).await;
    }
    assert!(runs(&queue, 8).await.is_none());
    assert_eq!(queue.running(), 8);
}

#[tokio::test(start_paused = true)]
async fn work_that_waits_for_something_makes_room_at_once() {
    let queue = WorkQueue::new(LIMITS, Callers::default());
    let _waiting = (queue.enter(1).await.unwrap(), queue.enter(2).await.unwrap());
    let order = Arc::default();
    spawn(&queue, 3, &order);
    spawn(&queue, 4, &order);
    sleep(Duration::from_millis(10)).await;
    queue.waits(2);
    queue.waits(2);
    queue.waits(5);
    sleep(Duration::from_millis(10)).await;
    assert_eq!(*order.lock().unwrap(), [3]);
}

#[tokio::test(start_paused = true)]
async fn work_that_waits_runs_as_soon_as_other_work_has_become_slow() {
    let queue = WorkQueue::new(LIMITS, Callers::default());
    let _hanging = (queue.enter(1).await.unwrap(), queue.enter(2).await.unwrap());
    let order = Arc::default();
    spawn(&queue, 3, &order);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(*order.lock().unwrap(), [0; 0]);
    sleep(Duration::from_millis(1500)).await;
    assert_eq!(*order.lock().unwrap(), [3]);
}

#[tokio::test(start_paused = true)]
async fn a_company_with_one_call_is_served_before_the_rest_of_a_flood() {
    let queue = WorkQueue::new(QueueLimits { running: 1, running_with_others: 1, ..LIMITS }, several());
    let order = Arc::default();
    for _ in 0..40 {
        spawn(&queue, 1, &order);
    }
    tokio::task::yield_now().await;
    spawn(&queue, 2, &order);
    spawn(&queue, 3, &order);
    sleep(Duration::from_millis(3500)).await;
    assert_eq!(order.lock().unwrap()[..3], [1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn companies_with_one_caller_each_are_served_in_turn() {
    for running in [1, 2, 5] {
        let queue = WorkQueue::new(QueueLimits { running, ..LIMITS }, Callers::default());
        let order = Arc::new(Mutex::new(Vec::new()));
        let callers: Vec<_> = (0..16)
            .map(|company| {
                let (queue, order) = (queue.clone(), Arc::clone(&order));
                tokio::spawn(async move {
                    loop {
                        let permit = queue.enter(company).await.unwrap();
                        order.lock().unwrap().push(company);
                        sleep(Duration::from_secs(1)).await;
                        drop(permit);
                    }
                })
            })
            .collect();
        sleep(Duration::from_secs(160)).await;
        callers.iter().for_each(JoinHandle::abort);
        let order = order.lock().unwrap().clone();
        // Between two turns of a company all others have one, and only companies that begin at the same time have another.
        for company in 0..16 {
            let turns = (0..order.len()).filter(|turn| order[*turn] == company);
            let turns: Vec<_> = std::iter::once(0).chain(turns).chain([order.len()]).collect();
            let longest = turns.windows(2).map(|turns| turns[1] - turns[0]).max().unwrap();
            assert!(longest <= 16 + running, "{running} at a time, company {company}: {order:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn callers_of_a_company_are_served_in_their_order() {
    let queue = WorkQueue::new(QueueLimits { running: 1, ..LIMITS }, Callers::default());
    let order = Arc::new(Mutex::new(Vec::new()));
    for number in 0..20 {
        let (queue, order) = (queue.clone(), Arc::clone(&order));
        tokio::spawn(async move {
            sleep(Duration::from_millis(number)).await;
            let permit = queue.enter(1).await.unwrap();
            order.lock().unwrap().push(number);
            sleep(Duration::from_secs(1)).await;
            drop(permit);
        });
    }
    sleep(Duration::from_secs(30)).await;
    assert_eq!(*order.lock().unwrap(), (0..20).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_company_has_no_more_than_its_part_while_the_process_has_room() {
    let queue = WorkQueue::new(QueueLimits { running_per_company: 1, ..LIMITS }, Callers::default());
    let first = queue.enter(1).await.unwrap();
    let order = Arc::default();
    spawn(&queue, 1, &order);
    sleep(Duration::from_millis(10)).await;
    assert_eq!((queue.running(), queue.waiting()), (1, 1));
    let other = queue.enter(2).await.unwrap();
    drop(first);
    sleep(Duration::from_millis(10)).await;
    assert_eq!(*order.lock().unwrap(), [1]);
    drop(other);
}

#[tokio::test]
async fn a_company_has_less_while_others_call() {
    let callers = Callers::default();
    let limits = QueueLimits { running: 8, running_per_company: 4, running_with_others: 2, ..LIMITS };
    let queue = WorkQueue::new(limits, callers.clone());
    let at_once = |company| queue.enter(company).now_or_never().map(Result::unwrap);
    callers.called(1);
    let mut alone: Vec<_> = (0..3).map(|_| at_once(1).unwrap()).collect();
    callers.called(2);
    assert!(at_once(1).is_none(), "the company is no longer alone");
    let others = [at_once(2), at_once(2)];
    assert!(others.iter().all(Option::is_some) && at_once(2).is_none());
    alone.truncate(2);
    assert!(at_once(1).is_some());
}

#[tokio::test(start_paused = true)]
async fn work_that_waits_has_its_whole_part_when_the_others_have_gone() {
    let callers = Callers::default();
    let limits = QueueLimits { running: 4, running_with_others: 1, ..LIMITS };
    let queue = WorkQueue::new(limits, callers.clone());
    let first = queue.enter(1).await.unwrap();
    let order = Arc::default();
    callers.called(1);
    callers.called(2);
    spawn(&queue, 1, &order);
    sleep(Duration::from_millis(900)).await;
    assert_eq!(*order.lock().unwrap(), [0; 0], "another company calls");
    // The other company has left, and then the work looks again.
    sleep(Duration::from_millis(600)).await;
    assert_eq!(*order.lock().unwrap(), [1]);
    drop(first);
}

#[tokio::test(start_paused = true)]
async fn what_waits_is_bounded_and_callers_that_leave_make_room() {
    let limits = QueueLimits { running: 1, waiting: 3, waiting_per_company: 2, ..LIMITS };
    let queue = WorkQueue::new(limits, Callers::default());
    let permit = queue.enter(1).await.unwrap();
    let order = Arc::default();
    let waiting: Vec<_> = (0..2)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.enter(1).await.map(drop) })
        })
        .collect();
    tokio::task::yield_now().await;
    assert_eq!(queue.enter(1).await.unwrap_err(), LimitReached::Company);
    spawn(&queue, 2, &order);
    tokio::task::yield_now().await;
    assert_eq!(queue.enter(3).await.unwrap_err(), LimitReached::Process);
    assert_eq!(queue.waiting(), 3);
    waiting.iter().for_each(JoinHandle::abort);
    tokio::task::yield_now().await;
    spawn(&queue, 1, &order);
    tokio::task::yield_now().await;
    assert_eq!(queue.waiting(), 2);
    drop(permit);
    sleep(Duration::from_secs(5)).await;
    assert_eq!((queue.running(), queue.waiting(), order.lock().unwrap().len()), (0, 0, 2));
}

#[tokio::test]
async fn a_permit_is_needed_while_another_company_waits() {
    let queue = WorkQueue::new(QueueLimits { running_per_company: 1, ..LIMITS }, Callers::default());
    let (one, two) = (queue.enter(1).await.unwrap(), queue.enter(2).await.unwrap());
    let mut own = Box::pin(queue.enter(2));
    assert!(own.as_mut().now_or_never().is_none());
    assert!(one.is_needed() && !two.is_needed());
    drop(own);
    let mut other = Box::pin(queue.enter(3));
    assert!(other.as_mut().now_or_never().is_none());
    assert!(one.is_needed() && two.is_needed());
    drop(other);
    assert!(!one.is_needed() && !two.is_needed());
}
