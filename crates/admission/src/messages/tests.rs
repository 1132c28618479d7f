use std::{
    sync::{Arc, mpsc},
    time::Duration,
};

use futures::{future::join_all, poll};
use tokio::{sync::Semaphore, time::sleep};

use super::{
    LONG_COMPUTATION, LimitReached, MAX_OFF_THREAD, Memory, Reservation, ResponseMemory, compute, off_thread, run,
    run_off_thread,
};

#[test]
fn a_company_has_a_share_and_all_have_the_total() {
    let memory = Memory::new(100, 60);
    let (mut one, mut again, mut two) =
        (memory.reservation(Some(1)), memory.reservation(Some(1)), memory.reservation(Some(2)));
    assert_eq!(one.grow(50), Ok(()));
    assert_eq!(again.grow(11), Err(LimitReached::Company));
    assert_eq!(again.grow(10), Ok(()));
    // 40 are left, of which it may have 60 %.
    assert_eq!(two.grow(25), Err(LimitReached::Process));
    assert_eq!(two.grow(24), Ok(()));
    assert_eq!(memory.0.reserved.lock().companies[&1], 60);
    drop(one);
    assert_eq!(memory.0.reserved.lock().companies[&1], 10);
    assert_eq!((memory.reserved(), two.grow_to(54), two.grow_to(55)), (34, Ok(()), Err(LimitReached::Company)));
    drop(again);
    assert_eq!((two.grow_to(60), two.grow_to(61)), (Ok(()), Err(LimitReached::Company)));
    two.shrink_to(5);
    assert_eq!(memory.reserved(), 5);
    drop(two);
    assert_eq!(memory.reserved(), 0);
    assert!(memory.0.reserved.lock().companies.is_empty());
    // A company that holds nothing is not remembered.
    let mut nothing = memory.reservation(Some(1));
    assert_eq!((nothing.grow(0), nothing.bytes()), (Ok(()), 0));
    assert!(memory.0.reserved.lock().companies.is_empty());
    assert_eq!([Memory::new(100, 60), Memory::new(50, 60)].map(|memory| memory.0.quota), [60, 50]);
}

#[tokio::test(start_paused = true)]
async fn a_company_with_a_limit_of_its_own_has_no_other() {
    let memory = Memory::with_companies(100, 50, [(1, 10), (2, 200)].into());
    let (mut one, mut two) = (memory.reservation(Some(1)), memory.reservation(Some(2)));
    assert_eq!((one.grow(11), one.grow(10)), (Err(LimitReached::Company), Ok(())));
    // More than its limit is not waited for.
    let start = tokio::time::Instant::now();
    assert_eq!(one.wait_to_grow(11, Duration::from_secs(1000)).await, Err(LimitReached::Company));
    assert_eq!(start.elapsed(), Duration::ZERO);
    // Never more than there is, and what others hold.
    assert_eq!((two.grow(91), two.grow(90)), (Err(LimitReached::Process), Ok(())));
    assert_eq!(memory.reservation(Some(3)).grow(1), Err(LimitReached::Process));
    drop(two);
    let three = take_all(&memory, 3);
    assert_eq!(three.bytes(), 45);
}

#[test]
fn above_an_equal_part_a_company_has_used_up_its_quota() {
    let memory = Memory::new(120, 60);
    let (mut one, mut two) = (memory.reservation(Some(1)), memory.reservation(Some(2)));
    assert_eq!((one.grow(60), two.grow(20)), (Ok(()), Ok(())));
    // It may have 30. An equal part is 40: for these two, and for one that is yet to come.
    assert_eq!((two.grow_to(40), two.grow_to(41)), (Err(LimitReached::Process), Err(LimitReached::Company)));
    // One that has nothing has not used up anything.
    assert_eq!(memory.reservation(Some(3)).grow(50), Err(LimitReached::Process));
}

#[tokio::test(start_paused = true)]
async fn what_a_company_waits_for_is_left_to_it_until_it_no_longer_waits() {
    let memory = Memory::new(300, 150);
    let [_one, _two, mut three] = [1, 2, 3].map(|company| take_all(&memory, company));
    let mut waits = memory.reservation(Some(4));
    waits.grow(10).unwrap();
    let mut waiting = Box::pin(waits.wait_to_grow(20, Duration::from_secs(1)));
    assert!(poll!(waiting.as_mut()).is_pending());
    three.shrink_to(0);
    // 65 are left. It waits for 10 of them, and of the others a company may have half.
    let mut five = memory.reservation(Some(5));
    assert_eq!((five.grow(28), five.grow(27)), (Err(LimitReached::Process), Ok(())));
    five.shrink_to(0);
    drop(waiting);
    assert_eq!((five.grow(33), five.grow(32)), (Err(LimitReached::Process), Ok(())));
}

#[tokio::test(start_paused = true)]
async fn one_that_waits_has_what_another_gives_back() {
    let second = Duration::from_secs(1);
    let memory = Memory::new(100, 60);
    let (mut one, mut two) = (memory.reservation(Some(1)), memory.reservation(Some(1)));
    one.grow(50).unwrap();
    assert_eq!(two.wait_to_grow(20, second).await, Err(LimitReached::Company));
    // More than the quota is not waited for.
    let start = tokio::time::Instant::now();
    assert_eq!(two.wait_to_grow(61, second * 1000).await, Err(LimitReached::Company));
    assert_eq!(start.elapsed(), Duration::ZERO);
    let waiting = tokio::spawn(async move {
        two.wait_to_grow(60, second).await.unwrap();
        two
    });
    tokio::task::yield_now().await;
    drop(one);
    assert_eq!(waiting.await.unwrap().bytes(), 60);
}

/// Takes as much as it may, byte by byte.
fn take_all(memory: &Memory, company: i64) -> Reservation {
    let mut reservation = memory.reservation(Some(company));
    while reservation.grow(1).is_ok() {}
    reservation
}

#[test]
fn each_company_that_comes_finds_half_of_what_is_left() {
    let memory = Memory::new(384, 192);
    let held = [1, 2, 3, 4].map(|company| take_all(&memory, company));
    assert_eq!(held.each_ref().map(Reservation::bytes), [192, 96, 48, 24]);
    // A fifth company is served, too.
    assert_eq!(memory.reservation(Some(5)).grow(12), Ok(()));
}

#[test]
fn companies_that_want_all_come_to_equal_parts() {
    let memory = Memory::new(4000, 2000);
    let mut held: Vec<_> = [1, 2, 3].map(|company| take_all(&memory, company)).into();
    for _ in 0..100 {
        // Requests end in turn, and others of the same company follow.
        for reservation in &mut held {
            reservation.shrink_to(reservation.bytes() - 50);
            while reservation.grow(1).is_ok() {}
        }
    }
    let parts: Vec<_> = held.iter().map(Reservation::bytes).collect();
    assert!(parts.iter().all(|part| (900..=1100).contains(part)), "{parts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_flood_leaves_an_equal_part_to_a_company_that_waits() {
    let memory = Memory::new(300, 150);
    let second = Duration::from_secs(1);
    // A company whose requests of 30 follow each other without end.
    let flood = tokio::spawn({
        let memory = memory.clone();
        async move {
            loop {
                let requests = (0..8).map(|_| async {
                    let mut request = memory.reservation(Some(1));
                    if request.wait_to_grow(30, second).await.is_ok() {
                        sleep(Duration::from_millis(10)).await;
                    }
                });
                join_all(requests).await;
            }
        }
    });
    sleep(Duration::from_millis(100)).await;
    // Half of what the flood leaves at its most would be 75.
    let mut other = memory.reservation(Some(2));
    assert_eq!(other.wait_to_grow(100, second).await, Ok(()));
    flood.abort();
}

#[tokio::test(start_paused = true)]
async fn what_belongs_to_no_company_takes_nothing_from_companies() {
    let memory = Memory::new(160, 80);
    let (mut unknown, mut another) = (memory.reservation(None), memory.reservation(None));
    assert_eq!((unknown.grow(8), another.grow(3), another.grow(2)), (Ok(()), Err(LimitReached::Process), Ok(())));
    // Companies find as much as before, and take nothing from it.
    let held = [1, 2].map(|company| take_all(&memory, company));
    assert_eq!(held.each_ref().map(Reservation::bytes), [80, 40]);
    assert_eq!(memory.reserved(), 130);
    another.shrink_to(0);
    assert_eq!((memory.reserved(), another.grow(2), another.grow(1)), (128, Ok(()), Err(LimitReached::Process)));
    // It waits for what is returned without a company.
    let (waits, returns) = (another.wait_to_grow(10, Duration::from_secs(1)), async { unknown.shrink_to(0) });
    assert_eq!(tokio::join!(waits, returns).0, Ok(()));
    drop((held, another));
    assert_eq!((memory.reserved(), ResponseMemory::new(unknown).bytes()), (0, 0));
}

#[tokio::test]
async fn a_runtime_of_one_thread_computes_as_well() {
    assert_eq!(off_thread(|| 5), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_short_and_what_is_too_many_runs_here() {
    // A computation that is left to other threads may wait for a task of this one, on a busy machine for long.
    fn task(is_left: bool) -> impl FnOnce() -> bool {
        let (sender, receiver) = mpsc::channel();
        tokio::spawn(async move { sender.send(7) });
        let patience = if is_left { Duration::from_mins(1) } else { Duration::from_millis(200) };
        move || receiver.recv_timeout(patience).is_ok()
    }
    for (bytes, is_left) in [(LONG_COMPUTATION, false), (LONG_COMPUTATION + 1, true)] {
        assert_eq!(tokio::spawn(async move { compute(bytes, task(is_left)) }).await.unwrap(), is_left, "{bytes} bytes");
    }
    for (others, is_left) in [(MAX_OFF_THREAD - 1, true), (MAX_OFF_THREAD, false), (0, true)] {
        let running = Arc::new(Semaphore::new(MAX_OFF_THREAD));
        // In a task of their own: they may have left the worker to another thread.
        let ended = Arc::clone(&running);
        tokio::spawn(async move { (0..MAX_OFF_THREAD).for_each(|_| run(&ended, || ())) }).await.unwrap();
        let computed = tokio::spawn(async move {
            let _others = running.try_acquire_many(others as u32).unwrap();
            run(&running, task(is_left))
        });
        assert_eq!(computed.await.unwrap(), is_left, "next to {others}");
    }
}

/// With one worker, the task that the computation waits for could otherwise never run.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn other_tasks_run_during_a_long_computation() {
    let computed = tokio::spawn(async {
        let (sender, receiver) = mpsc::channel();
        tokio::spawn(async move { sender.send(7) });
        run_off_thread(async move { receiver.recv() }, true).await
    });
    assert_eq!(computed.await.unwrap(), Ok(7));
}
