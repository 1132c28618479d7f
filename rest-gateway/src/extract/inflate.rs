//! Bodies in gzip, inflated in small steps, because a few bytes can become very many.
//!
//! Each long step needs a permit of the company and runs on a separate thread. Nothing is inflated beyond the body limit.

use std::io::{self, Write as _};

use admission::{WorkPermit, off_thread};
use compliance_api::error::Error;
use flate2::write::MultiGzDecoder;
use tokio::task::yield_now;

use super::collect::{Collected, not_readable};
use crate::limits::{INFLATE_STEP, INFLATED_AT_ONCE};

/// Inflates a whole body. `enter` waits for a permit of the company.
pub(super) async fn inflate<W: Future<Output = Result<WorkPermit, Error>>>(
    mut arrived: &[u8],
    body: &mut Collected,
    enter: impl Fn() -> W,
) -> Result<(), Error> {
    let whole = arrived.len();
    // Holds the bytes that were just inflated.
    let mut decoder = MultiGzDecoder::new(Vec::new());
    while !arrived.is_empty() {
        if body.len().max(whole - arrived.len()) < INFLATED_AT_ONCE {
            step(&mut decoder, &mut arrived, INFLATED_AT_ONCE, body)?;
            continue;
        }
        let permit = enter().await?;
        off_thread(|| step(&mut decoder, &mut arrived, INFLATE_STEP, body))?;
        drop(permit);
        // Lets other tasks run, and the request's deadline end this one.
        yield_now().await;
    }
    decoder.try_finish().map_err(|_| not_readable())?;
    body.push(decoder.get_ref())
}

/// Inflates `enough` more bytes, or one part of the input: gzip members without content add no bytes.
fn step(
    decoder: &mut MultiGzDecoder<Vec<u8>>,
    arrived: &mut &[u8],
    enough: usize,
    body: &mut Collected,
) -> Result<(), Error> {
    let (mut part, rest) = arrived.split_at(arrived.len().min(INFLATED_AT_ONCE));
    let end = body.len() + enough;
    while !part.is_empty() && body.len() < end {
        // Inflates at most 32 KiB.
        let taken = decoder.write(part).and_then(some).map_err(|_| not_readable())?;
        part = &part[taken..];
        body.push(decoder.get_ref())?;
        decoder.get_mut().clear();
    }
    *arrived = &arrived[arrived.len() - rest.len() - part.len()..];
    Ok(())
}

/// A decoder that consumes nothing would never end.
fn some(taken: usize) -> io::Result<usize> {
    if taken == 0 { Err(io::ErrorKind::WriteZero.into()) } else { Ok(taken) }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, io::Write as _, time::Duration};

    use admission::{Callers, Memory, QueueLimits, WorkQueue};
    use bytes::Bytes;
    use compliance_api::error::{Error, Reason};
    use flate2::{Compression, write::GzEncoder};
    use futures::poll;

    use super::{Collected, INFLATE_STEP, INFLATED_AT_ONCE};

    const LIMIT: usize = 2 << 20;
    /// What a step may make beyond its size.
    const SLACK: usize = 64 << 10;

    fn gzip(bytes: &[u8]) -> Bytes {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap().into()
    }

    fn body(memory: &Memory) -> Collected {
        Collected::new(memory.reservation(Some(1)), LIMIT)
    }

    fn queue() -> WorkQueue {
        let limits = QueueLimits {
            running: 1,
            running_per_company: 1,
            running_with_others: 1,
            slow_after: Duration::from_mins(1),
            waiting: 10,
            waiting_per_company: 10,
        };
        WorkQueue::new(limits, Callers::default())
    }

    /// Inflates a body, and returns the result with the steps that entered the queue.
    async fn inflate(arrived: &[u8], body: &mut Collected, queue: &WorkQueue) -> (Result<(), Error>, usize) {
        let steps = Cell::new(0);
        let enter = || {
            steps.set(steps.get() + 1);
            async { Ok(queue.enter(1).await?) }
        };
        (super::inflate(arrived, body, enter).await, steps.get())
    }

    #[tokio::test]
    async fn nothing_is_inflated_beyond_the_limit() {
        let (memory, queue) = (Memory::new(8 * LIMIT, 4 * LIMIT), queue());
        let bomb = gzip(&vec![b' '; 16 << 20]);
        assert!(bomb.len() < 20_000);
        let mut body = body(&memory);
        let (result, steps) = inflate(&bomb, &mut body, &queue).await;
        assert_eq!(result.unwrap_err().reason, Reason::BodyTooLarge);
        // Each step is work of the company. The last one was too much.
        assert!(steps.abs_diff(LIMIT / INFLATE_STEP) <= 1, "{steps}");
        assert!(body.len() + INFLATE_STEP + SLACK >= LIMIT, "{}", body.len());
        assert_eq!((memory.reserved(), queue.running()), (body.len(), 0));
        drop(body);
        assert_eq!(memory.reserved(), 0);
    }

    #[tokio::test]
    async fn a_long_body_waits_while_its_company_has_other_work() {
        let (memory, queue) = (Memory::new(8 * LIMIT, 4 * LIMIT), queue());
        let text = vec![b' '; LIMIT];
        let other = queue.enter(1).await.unwrap();
        let mut body = body(&memory);
        let arrived = gzip(&text);
        let mut inflated = Box::pin(inflate(&arrived, &mut body, &queue));
        assert!(poll!(inflated.as_mut()).is_pending());
        assert!(memory.reserved() <= (INFLATED_AT_ONCE + SLACK) * 2, "{}", memory.reserved());
        assert_eq!(queue.waiting(), 1);
        drop(other);
        let (result, steps) = inflated.await;
        assert_eq!((result.is_ok(), steps > 5), (true, true));
        assert!(body.finish().0 == text);
    }

    #[tokio::test]
    async fn a_short_body_waits_for_nobody() {
        let (memory, queue) = (Memory::new(LIMIT, LIMIT), queue());
        let _other = queue.enter(1).await.unwrap();
        let text = vec![b' '; INFLATED_AT_ONCE];
        let mut body = body(&memory);
        let (result, steps) = inflate(&gzip(&text), &mut body, &queue).await;
        assert_eq!((result.is_ok(), steps), (true, 0));
        assert!(body.finish().0 == text);
    }

    #[tokio::test]
    async fn bodies_around_the_size_that_is_inflated_at_once() {
        let queue = queue();
        for size in INFLATED_AT_ONCE - 1..=INFLATED_AT_ONCE + 1 {
            let (memory, text) = (Memory::new(LIMIT, LIMIT), (0..size).map(|at| at as u8).collect::<Vec<_>>());
            let mut body = body(&memory);
            let (result, _) = inflate(&gzip(&text), &mut body, &queue).await;
            assert_eq!((result.is_ok(), body.finish().0 == text), (true, true), "{size}");
        }
    }

    #[tokio::test]
    async fn a_body_that_stands_for_nothing_is_work_as_well() {
        let (memory, queue) = (Memory::new(LIMIT, LIMIT), queue());
        let empty = gzip(b"").repeat(20_000);
        let length = empty.len();
        let mut body = body(&memory);
        let (result, steps) = inflate(&empty, &mut body, &queue).await;
        assert_eq!((result.is_ok(), body.len(), steps), (true, 0, length.div_ceil(INFLATED_AT_ONCE) - 1));
    }

    #[tokio::test]
    async fn members_of_any_size_are_one_body() {
        let queue = queue();
        let text: Vec<u8> =
            (0..300_000_u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        for members in [1, 3, 1000] {
            let all: Vec<u8> = text.chunks(text.len().div_ceil(members)).flat_map(gzip).collect();
            let memory = Memory::new(8 * LIMIT, 4 * LIMIT);
            let mut body = body(&memory);
            let (result, steps) = inflate(&all, &mut body, &queue).await;
            result.unwrap();
            assert!(steps <= all.len() / INFLATED_AT_ONCE + text.len() / INFLATE_STEP + 2, "{steps} steps");
            assert!(body.finish().0 == text, "{members} members");
        }
    }

    #[tokio::test]
    async fn what_is_no_gzip_or_incomplete_is_refused() {
        let (memory, queue) = (Memory::new(8 * LIMIT, 4 * LIMIT), queue());
        let whole = gzip(&vec![b'x'; 100_000]);
        let with = |rest: &[u8]| Bytes::from([&whole[..], rest].concat());
        let mut flipped = whole.to_vec();
        let crc = flipped.len() - 6;
        flipped[crc] ^= 1;
        for bad in [
            Bytes::new(),
            Bytes::from_static(b"{}"),
            whole.slice(..whole.len() - 1),
            whole.slice(..whole.len() / 2),
            whole.slice(..5),
            flipped.into(),
            with(b"{}"),
            with(&whole[..10]),
        ] {
            let mut body = body(&memory);
            let (result, _) = inflate(&bad, &mut body, &queue).await;
            assert_eq!(result.map_err(|error| error.reason), Err(Reason::InvalidFields), "{} bytes", bad.len());
        }
    }
}
