use std::time::Duration;

use futures::FutureExt as _;
use tokio::time::Instant;

use super::{LimitReached, Memory, Reservation, ResponseMemory};

const SECOND: Duration = Duration::from_secs(1);

fn reserve(memory: &Memory, company: i64, bytes: usize) -> Reservation {
    let mut reservation = memory.reservation(Some(company));
    reservation.grow(bytes).unwrap();
    reservation
}

#[test]
fn reservations_enforce_company_quota_and_total() {
    let memory = Memory::new(100, 60);
    let (one, mut again, mut two) = (reserve(&memory, 1, 50), reserve(&memory, 1, 0), reserve(&memory, 2, 0));
    assert_eq!((again.grow(11), again.grow(10)), (Err(LimitReached::Company), Ok(())));
    assert_eq!((two.grow(41), two.grow(40)), (Err(LimitReached::Process), Ok(())));
    // Failed reservations hold no bytes.
    assert_eq!(memory.reserved(), 100);
    drop((one, again));
    assert_eq!((two.grow_to(60), two.grow_to(61), two.grow_to(1)), (Ok(()), Err(LimitReached::Company), Ok(())));
    two.shrink_to(5);
    two.shrink_to(7);
    assert_eq!((memory.reserved(), two.bytes(), two.empty().bytes()), (5, 5, 0));
    drop(two);
    assert_eq!(memory.reserved(), 0);
    assert_eq!([60, 61].map(|bytes| memory.reservation(Some(1)).can_reach(bytes)), [true, false]);
    assert!(!Memory::new(50, 60).reservation(Some(1)).can_reach(51));
}

#[test]
fn oversized_reservations_are_rejected() {
    let memory = Memory::new(usize::MAX, usize::MAX);
    assert_eq!(memory.reservation(Some(1)).grow(u32::MAX as usize + 1), Err(LimitReached::Company));
}

#[tokio::test(start_paused = true)]
async fn requests_wait_for_released_memory() {
    let memory = Memory::new(100, 60);
    let (one, mut two) = (reserve(&memory, 1, 50), reserve(&memory, 1, 0));
    assert_eq!(two.wait_to_grow(20, SECOND).await, Err(LimitReached::Company));
    let start = Instant::now();
    assert_eq!(two.wait_to_grow(61, SECOND).await, Err(LimitReached::Company));
    assert_eq!(start.elapsed(), Duration::ZERO, "a request above the quota fails immediately");
    let mut other = reserve(&memory, 2, 40);
    assert_eq!(other.wait_to_grow(60, SECOND).await, Err(LimitReached::Process));
    let waiting = async { two.wait_to_grow(60, SECOND).await };
    let (waited, ()) = tokio::join!(waiting, async { drop(one) });
    assert_eq!((waited, two.bytes()), (Ok(()), 60));
}

#[tokio::test(start_paused = true)]
async fn waiting_companies_do_not_block_others() {
    let memory = Memory::new(100, 60);
    let (_one, mut waits) = (reserve(&memory, 1, 60), reserve(&memory, 1, 0));
    let mut waiting = Box::pin(waits.wait_to_grow(30, SECOND));
    assert!((&mut waiting).now_or_never().is_none());
    assert_eq!(reserve(&memory, 2, 40).bytes(), 40);
}

#[tokio::test(start_paused = true)]
async fn requests_without_company_share_a_sixteenth_of_memory() {
    let memory = Memory::new(160, 80);
    let (mut unknown, mut another) = (memory.reservation(None), memory.reservation(None));
    assert_eq!((unknown.grow(8), another.grow(3), another.grow(2)), (Ok(()), Err(LimitReached::Process), Ok(())));
    let (waits, returns) = (another.wait_to_grow(10, SECOND), async { unknown.shrink_to(0) });
    assert_eq!(tokio::join!(waits, returns).0, Ok(()));
    drop(another);
    assert_eq!((memory.reserved(), ResponseMemory::new(unknown).bytes()), (0, 0));
}
