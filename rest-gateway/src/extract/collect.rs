//! Collects the bytes of a body in one piece.

use admission::{MEMORY_WAIT, Reservation, SMALL};
use axum::body::Body;
use bytes::Bytes;
use compliance_api::{error::Error, rules::Violations};
use either::Either;
use http_body::Body as _;
use http_body_util::BodyExt as _;
use memmap2::MmapMut;

use crate::limits::BODY_IN_HEAP;

/// The received part of a body. Its memory is reserved before it is used.
pub(super) struct Collected {
    bytes: Store,
    length: usize,
    memory: Reservation,
    limit: usize,
}

/// A short body is on the heap, and a long one in mapped pages.
type Store = Either<Vec<u8>, MmapMut>;

fn store(capacity: usize) -> Result<Store, Error> {
    if capacity <= BODY_IN_HEAP {
        return Ok(Either::Left(vec![0; capacity]));
    }
    // Pages use memory when they are written, but the system may refuse to promise more than it has.
    MmapMut::map_anon(capacity).map(Either::Right).map_err(|_| Error::overloaded())
}

impl Collected {
    /// An empty body of at most `limit` bytes.
    pub(super) fn new(memory: Reservation, limit: usize) -> Self {
        Self { bytes: Either::Left(Vec::new()), length: 0, memory, limit }
    }

    /// Reads a body to its end.
    pub(super) async fn read(&mut self, body: &mut Body) -> Result<(), Error> {
        // A body without an announced size is counted as it grows.
        self.expect(body.size_hint().lower())?;
        while let Some(frame) = body.frame().await {
            // The client of an incomplete body is usually gone.
            if let Ok(data) = frame.map_err(|_| not_readable())?.into_data() {
                self.push(&data)?;
            }
        }
        Ok(())
    }

    /// Reserves memory for a body of this size, before its first byte.
    fn expect(&mut self, bytes: u64) -> Result<(), Error> {
        match usize::try_from(bytes) {
            Ok(bytes) if bytes <= self.limit => {
                self.hold(bytes)?;
                self.move_to(bytes)
            }
            _ => Err(Error::body_too_large()),
        }
    }

    pub(super) fn push(&mut self, data: &[u8]) -> Result<(), Error> {
        let (start, length) = (self.length, self.length + data.len());
        if length > self.limit {
            return Err(Error::body_too_large());
        }
        if length > self.bytes.len() {
            let steps = [SMALL, BODY_IN_HEAP, self.limit].map(|step| step.min(self.limit));
            self.move_to(steps.into_iter().find(|step| length <= *step).unwrap_or(self.limit))?;
        }
        self.hold(length)?;
        self.bytes[start..length].copy_from_slice(data);
        self.length = length;
        Ok(())
    }

    /// Moves the received part, which is short, to a store of this capacity.
    fn move_to(&mut self, capacity: usize) -> Result<(), Error> {
        if capacity <= BODY_IN_HEAP {
            self.hold(capacity)?;
        }
        let mut moved = store(capacity)?;
        moved[..self.length].copy_from_slice(self.bytes());
        self.bytes = moved;
        Ok(())
    }

    fn hold(&mut self, bytes: usize) -> Result<(), Error> {
        if bytes > SMALL { reserve(&mut self.memory, bytes) } else { Ok(()) }
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Returns the whole body and its reservation.
    pub(super) fn finish(self) -> (Bytes, Reservation) {
        (Bytes::from_owner(self.bytes).slice(..self.length), self.memory)
    }
}

/// Reserves memory for a body, unless the company can never have so much: then a retry never succeeds.
pub(super) fn reserve(memory: &mut Reservation, bytes: usize) -> Result<(), Error> {
    if memory.can_reach(bytes) { Ok(memory.grow_to(bytes)?) } else { Err(Error::body_too_large()) }
}

/// Like [`reserve`], but waits for memory that other requests hold.
pub(super) async fn wait_to_reserve(memory: &mut Reservation, bytes: usize) -> Result<(), Error> {
    if memory.can_reach(bytes) {
        Ok(memory.wait_to_grow(bytes, MEMORY_WAIT).await?)
    } else {
        Err(Error::body_too_large())
    }
}

/// The error of a body that ends too early or does not match its encoding.
pub(super) fn not_readable() -> Error {
    Error::invalid(Violations::one("body", "The body must be complete and match its Content-Encoding."))
}

#[cfg(test)]
mod tests {
    use std::iter::once;

    use admission::Memory;
    use compliance_api::error::Reason;

    use super::{BODY_IN_HEAP, Collected, SMALL};

    const LIMIT: usize = 1 << 20;

    #[test]
    fn a_body_takes_what_has_arrived_and_is_not_moved_when_it_is_long() {
        let memory = Memory::new(8 * LIMIT, 4 * LIMIT);
        let mut body = Collected::new(memory.reservation(Some(1)), LIMIT);
        let (mut sent, mut starts) = (Vec::new(), Vec::new());
        let rest = LIMIT % 1000;
        for (number, length) in std::iter::repeat_n(1000, LIMIT / 1000).chain(once(rest)).enumerate() {
            let piece = vec![number as u8; length];
            sent.extend_from_slice(&piece);
            body.push(&piece).unwrap();
            starts.push(body.bytes().as_ptr());
            let reserved = if sent.len() > SMALL { sent.len().max(BODY_IN_HEAP) } else { 0 };
            assert_eq!((memory.reserved(), body.len()), (reserved, sent.len()));
        }
        starts.dedup();
        assert!(starts.len() <= 3, "moved {} times", starts.len());
        assert_eq!(body.push(b"x").unwrap_err().reason, Reason::BodyTooLarge);
        let (bytes, reservation) = body.finish();
        assert!(bytes == sent);
        assert_eq!(reservation.bytes(), LIMIT);
        drop(reservation);
        assert_eq!(memory.reserved(), 0);
    }

    #[test]
    fn a_body_whose_size_is_known_has_its_memory_before_it_arrives() {
        let memory = Memory::new(8 * LIMIT, 4 * LIMIT);
        for size in [SMALL, SMALL + 1, BODY_IN_HEAP, BODY_IN_HEAP + 1, LIMIT] {
            let mut body = Collected::new(memory.reservation(Some(1)), LIMIT);
            body.expect(size as u64).unwrap();
            assert_eq!((memory.reserved(), body.bytes.len()), (if size > SMALL { size } else { 0 }, size));
            assert_eq!(body.bytes.is_right(), size > BODY_IN_HEAP);
            let start = body.bytes().as_ptr();
            for piece in vec![b'x'; size].chunks(999) {
                body.push(piece).unwrap();
            }
            assert_eq!(body.bytes().as_ptr(), start);
            assert!(body.finish().0 == vec![b'x'; size]);
        }
        assert_eq!(memory.reserved(), 0);
        for size in [LIMIT as u64 + 1, u64::MAX] {
            let mut body = Collected::new(memory.reservation(Some(1)), LIMIT);
            assert_eq!(body.expect(size).unwrap_err().reason, Reason::BodyTooLarge);
        }
    }

    #[test]
    fn a_body_for_which_there_is_no_memory_is_not_kept() {
        let memory = Memory::new(400 << 10, 200 << 10);
        let (mut other, mut body) = (memory.reservation(Some(1)), Collected::new(memory.reservation(Some(1)), LIMIT));
        other.grow(100 << 10).unwrap();
        body.push(&vec![b'x'; 100 << 10]).unwrap();
        assert_eq!(body.push(b"x").unwrap_err().reason, Reason::RateLimited);
        assert_eq!((memory.reserved(), body.len()), (200 << 10, 100 << 10));
        // The company never has memory for so many bytes.
        assert_eq!(body.push(&vec![b'x'; 101 << 10]).unwrap_err().reason, Reason::BodyTooLarge);
        drop((other, body));
        assert_eq!(memory.reserved(), 0);
    }

    #[test]
    fn a_limit_may_be_small() {
        let memory = Memory::new(LIMIT, LIMIT);
        let mut body = Collected::new(memory.reservation(Some(1)), 10);
        body.push(b"0123456789").unwrap();
        assert_eq!(body.push(b"x").unwrap_err().reason, Reason::BodyTooLarge);
        assert_eq!(body.finish().0, "0123456789");
    }
}
