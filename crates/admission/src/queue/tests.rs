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

use super::{FairQueue, QueueLimits, WAITS_AFTER, waiting, with_slot_of};
use crate::{Callers, Full};

const LIMITS: QueueLimits = QueueLimits {
    running: 2,
    running_per_company: 2,
    running_with_others: 2,
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
    assert!(queue.0.state.lock().companies.is_empty());
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

#[tokio::test]
async fn a_slot_that_is_handed_over_is_kept_for_what_follows() {
    let queue = FairQueue::new(LIMITS, Callers::default());
    let work = async || queue.enter(1, 1).await.unwrap().hand_over();
    let ((), slot) = with_slot_of(work()).await;
    assert!(slot.is_some() && queue.running() == 1);
    drop(slot);
    assert_eq!(queue.running(), 0);
    // Nobody has called for it.
    work().await;
    assert_eq!(queue.running(), 0);
    assert!(with_slot_of(async {}).await.1.is_none());
}

/// Whether a company's work runs within a second.
async fn runs(queue: &FairQueue, company: i64) -> Option<super::Slot> {
    timeout(Duration::from_secs(1), queue.enter(company, 1)).await.ok().map(Result::unwrap)
}

#[tokio::test(start_paused = true)]
async fn work_that_waits_makes_room_for_other_companies() {
    let queue = FairQueue::new(LIMITS, Callers::default());
    let mut waits = Vec::new();
    // More than may be slow.
    for company in 0..16 {
        let mut slot = runs(&queue, company).await.unwrap_or_else(|| panic!("{company} waits"));
        let mut work = Box::pin(async move {
            slot.run(waiting(async {
                waiting(sleep(Duration::from_secs(1))).await;
                sleep(Duration::from_mins(1)).await;
            }))
            .await;
        });
        assert!(futures::poll!(work.as_mut()).is_pending());
        waits.push(work);
    }
    // The first wait within the other has ended.
    advance(Duration::from_secs(1)).await;
    for work in &mut waits {
        assert!(futures::poll!(work.as_mut()).is_pending());
    }
    // Its company has another slot, and no third one.
    let slots = [runs(&queue, 1).await.unwrap(), runs(&queue, 99).await.unwrap()];
    assert!(runs(&queue, 100).await.is_none() && runs(&queue, 1).await.is_none());
    drop(slots);
    waits.truncate(2);
    for work in waits {
        work.await;
    }
    assert_eq!(queue.running(), 0);
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
    let queue =
        FairQueue::new(QueueLimits { running: 1, slow_after: Duration::from_mins(1), ..LIMITS }, Callers::default());
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
        callers.iter().for_each(JoinHandle::abort);
        let order = order.lock().unwrap().clone();
        let served = |company: i64| order.iter().filter(|served| **served == company).count();
        let least = (0..16).map(served).min().unwrap();
        // The heaviest work weighs 3 of 31 for 16 callers.
        assert!(least >= 5 * running, "{running} at a time: {:?}", (0..16).map(served).collect::<Vec<_>>());
    }
}

/// So many calls of a company, one after each interval, whose work takes this time. Each caller leaves after two seconds, and
/// reports whether its work was done.
fn impatient(queue: &FairQueue, count: u32, interval: Duration, work: Duration) -> Vec<JoinHandle<bool>> {
    let call = |number| {
        let queue = queue.clone();
        tokio::spawn(async move {
            sleep(interval * number).await;
            let call = async { queue.enter(1, 1).await.unwrap().run(sleep(work)).await };
            timeout(Duration::from_millis(2_050), call).await.is_ok()
        })
    };
    (0..count).map(call).collect()
}

#[tokio::test(start_paused = true)]
async fn callers_that_do_not_wait_for_long_leave_no_work_in_vain() {
    let queue = FairQueue::new(QueueLimits { running: 1, ..LIMITS }, Callers::default());
    // Of ten calls a second, each of which takes 0.2 s, five can be served. Callers wait for two seconds.
    let calls = impatient(&queue, 500, Duration::from_millis(100), Duration::from_millis(200));
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
    let others = impatient(&queue, 400, Duration::from_millis(250), Duration::from_secs(1));
    sleep(Duration::from_secs(10)).await;
    let patient = timeout(Duration::from_secs(30), queue.enter(1, 1)).await;
    assert!(patient.is_ok(), "it is not served");
    others.iter().for_each(JoinHandle::abort);
}

#[tokio::test(start_paused = true)]
async fn a_company_that_comes_again_has_its_place_and_a_new_one_is_behind_those_that_wait() {
    let limits = QueueLimits { slow_after: Duration::from_mins(1), ..LIMITS };
    let queue = FairQueue::new(limits, Callers::default());
    let _held = queue.enter(8, 1).await.unwrap();
    drop(queue.enter(1, 100).await.unwrap());
    let slot = queue.enter(9, 10).await.unwrap();
    let order = Arc::default();
    // The first company is ahead of the others. Of these, the one is served next that has waited longest.
    for company in [1, 7, 6, 5, 4, 3, 2] {
        spawn(&queue, company, 10, &order);
        tokio::task::yield_now().await;
    }
    drop(slot);
    sleep(Duration::from_millis(6500)).await;
    assert_eq!(*order.lock().unwrap(), [7, 6, 5, 4, 3, 2, 1]);
    // One that was served before has waited for longer than one that comes for the first time.
    let slot = queue.enter(9, 10).await.unwrap();
    for company in [7, 10] {
        spawn(&queue, company, 10, &order);
        tokio::task::yield_now().await;
    }
    drop(slot);
    sleep(Duration::from_millis(1500)).await;
    assert_eq!(order.lock().unwrap()[7..], [7, 10]);
}

#[tokio::test]
async fn work_of_a_company_counts_after_others_have_ended() {
    let queue = FairQueue::new(QueueLimits { running: 8, ..LIMITS }, Callers::default());
    let [first, _second] = [queue.enter(1, 1).await.unwrap(), queue.enter(1, 1).await.unwrap()];
    // The other one has more work than these.
    drop([queue.enter(2, 100).await.unwrap(), queue.enter(2, 1).await.unwrap()]);
    assert!(queue.enter(1, 1).now_or_never().is_none(), "another company's work has ended");
    drop(first);
    let third = queue.enter(1, 1).now_or_never().unwrap().unwrap();
    assert!(queue.enter(1, 1).now_or_never().is_none(), "one of its own has ended");
    drop(third);
}

#[tokio::test(start_paused = true)]
async fn work_is_slow_as_soon_as_its_time_is_over() {
    let limits = QueueLimits { running: 1, running_per_company: 2, running_with_others: 1, ..LIMITS };
    let callers = Callers::default();
    let queue = FairQueue::new(limits, callers.clone());
    let _slow = queue.enter(1, 1).await.unwrap();
    advance(LIMITS.slow_after).await;
    assert!(queue.enter(2, 1).now_or_never().is_some());
    let queue = FairQueue::new(QueueLimits { running: 8, ..limits }, callers.clone());
    callers.called(1);
    callers.called(2);
    let _waits = queue.enter(1, 1).await.unwrap();
    advance(WAITS_AFTER).await;
    assert!(queue.enter(1, 1).now_or_never().is_some());
}

#[tokio::test(start_paused = true)]
async fn companies_that_left_are_not_remembered_for_ever() {
    let queue = FairQueue::new(QueueLimits { running: 100, running_per_company: 100, ..LIMITS }, Callers::default());
    let held = (queue.enter(-1, 1).await.unwrap(), queue.enter(-2, 1).await.unwrap());
    drop(queue.enter(-3, 1_000_000).await.unwrap());
    for company in 0..10_000 {
        drop(queue.enter(company, 5).await.unwrap());
        // Others go on meanwhile, but not at once: so all of the first ones are ahead.
        if company >= 300 {
            drop(queue.enter(-1, 5).await.unwrap());
        }
    }
    let remembered = queue.0.state.lock().companies.len();
    assert!(remembered < 1_000, "{remembered}");
    // Those with work that runs, and one that is ahead.
    assert!([-1, -2, -3].iter().all(|company| queue.0.state.lock().companies.contains_key(company)));
    drop(held);
    assert!(queue.0.state.lock().companies.is_empty());
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
    let limits = QueueLimits { running: 8, running_per_company: 4, running_with_others: 1, ..LIMITS };
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
    let queue =
        FairQueue::new(QueueLimits { running: 1, waiting: 3, waiting_per_company: 2, ..LIMITS }, Callers::default());
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
    waiting.iter().for_each(JoinHandle::abort);
    tokio::task::yield_now().await;
    spawn(&queue, 1, 1, &order);
    tokio::task::yield_now().await;
    assert_eq!(queue.waiting(), 2);
    drop(slot);
    advance(Duration::from_secs(5)).await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!((queue.running(), queue.waiting(), order.lock().unwrap().len()), (0, 0, 2));
    assert!(queue.0.state.lock().companies.is_empty());
}

#[tokio::test]
async fn a_slot_is_needed_while_another_company_waits_that_may_have_it() {
    let limits = QueueLimits { running_per_company: 1, running_with_others: 1, ..LIMITS };
    let queue = FairQueue::new(limits, Callers::default());
    let (one, two) = (queue.enter(1, 1).await.unwrap(), queue.enter(2, 1).await.unwrap());
    let mut own = Box::pin(queue.enter(2, 1));
    assert!(own.as_mut().now_or_never().is_none());
    // It has as many as it may have.
    assert!(!one.is_needed() && !two.is_needed());
    let mut other = Box::pin(queue.enter(3, 1));
    assert!(other.as_mut().now_or_never().is_none());
    assert!(one.is_needed() && two.is_needed());
    drop(other);
    assert!(!one.is_needed() && !two.is_needed());
    // What waits leaves its slot to another company, and to its own no other.
    let waits = two.waits();
    assert!(own.as_mut().now_or_never().is_none());
    let _other = queue.enter(3, 1).now_or_never().unwrap().unwrap();
    drop(waits);
    assert!(queue.enter(4, 1).now_or_never().is_none());
}
