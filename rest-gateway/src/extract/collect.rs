//! Reads body bytes within size and memory limits.

use std::io;

use admission::{MEMORY_WAIT, Reservation, SMALL};
use async_compression::tokio::bufread::GzipDecoder;
use axum::body::Body;
use bytes::{BufMut as _, Bytes};
use compliance_api::{error::Error, rules::Violations};
use futures::TryStreamExt as _;
use http_body::Body as _;
use http_body_util::{BodyDataStream, LengthLimitError, Limited};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    task::yield_now,
};
use tokio_util::io::StreamReader;

use crate::limits::{LARGE_REQUEST, READ_AT_ONCE};

/// Reads a whole body of at most `limit` bytes, both compressed and decompressed. Reserves `memory` for it first.
pub(super) async fn read(
    body: &mut Body,
    is_gzip: bool,
    limit: usize,
    memory: &mut Reservation,
) -> Result<Bytes, Error> {
    let announced = usize::try_from(body.size_hint().lower()).ok().filter(|announced| *announced <= limit);
    let announced = announced.ok_or_else(Error::body_too_large)?;
    let stream = BodyDataStream::new(Limited::new(body, limit)).map_err(io::Error::other);
    let arriving = StreamReader::new(stream);
    if !is_gzip {
        return collect(arriving, announced, limit, memory).await;
    }
    let mut decoder = GzipDecoder::new(arriving);
    decoder.multiple_members(true);
    collect(decoder, announced, limit, memory).await
}

/// Collects a body's bytes. `expected` is its likely size.
async fn collect(
    mut reader: impl AsyncRead + Unpin,
    expected: usize,
    limit: usize,
    memory: &mut Reservation,
) -> Result<Bytes, Error> {
    let mut bytes = Vec::new();
    let mut capacity = if expected == 0 { SMALL } else { expected }.min(limit);
    if capacity > SMALL {
        reserve(memory, capacity)?;
    }
    let most = limit.min(memory.most());
    loop {
        if bytes.len() > capacity {
            if capacity >= most {
                return Err(Error::body_too_large());
            }
            // The allocator keeps freed memory for a while, so bodies that were rejected after many small steps would use much more
            // memory than they reserved.
            let larger = [LARGE_REQUEST, 16 * LARGE_REQUEST].into_iter().find(|step| *step > capacity);
            capacity = larger.unwrap_or(most).min(most);
            wait_to_reserve(memory, capacity).await?;
        }
        // One extra byte shows whether the body has ended.
        let missing = capacity + 1 - bytes.len();
        // The system allocates pages only when they are written.
        bytes.reserve_exact(missing);
        let part = missing.min(READ_AT_ONCE);
        match reader.read_buf(&mut (&mut bytes).limit(part)).await {
            Ok(0) => {
                memory.shrink_to(bytes.len().max(expected));
                return Ok(bytes.into());
            }
            Ok(_) if bytes.len() > limit => return Err(Error::body_too_large()),
            Ok(_) if bytes.len() >= READ_AT_ONCE => yield_now().await,
            Ok(_) => {}
            Err(error) if matches!(error.get_ref(), Some(cause) if cause.is::<LengthLimitError>()) => {
                return Err(Error::body_too_large());
            }
            // If a body is incomplete, its client has usually disconnected.
            Err(_) => return Err(not_readable()),
        }
    }
}

/// Reserves memory for a body. The error is permanent if the company can never reserve this much.
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

/// Returns the error for a body that ends too early or does not match its encoding.
fn not_readable() -> Error {
    Error::invalid(Violations::one("body", "The body must be complete and match its Content-Encoding."))
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write as _};

    use admission::Memory;
    use axum::body::Body;
    use bytes::Bytes;
    use compliance_api::error::{Error, Reason};
    use flate2::{Compression, write::GzEncoder};
    use futures::stream;

    use super::SMALL;

    const LIMIT: usize = 1 << 20;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// Reads a body, and returns it with the size of its memory reservation.
    async fn read(memory: &Memory, mut body: Body, is_gzip: bool) -> Result<(Bytes, usize), Error> {
        let mut reservation = memory.reservation(Some(1));
        let bytes = super::read(&mut body, is_gzip, LIMIT, &mut reservation).await?;
        Ok((bytes, reservation.bytes()))
    }

    fn memory() -> Memory {
        Memory::new(8 * LIMIT, 4 * LIMIT)
    }

    fn in_parts(bytes: &[u8], size: usize) -> Body {
        let parts: Vec<_> = bytes.chunks(size).map(|part| Ok::<_, io::Error>(Bytes::copy_from_slice(part))).collect();
        Body::from_stream(stream::iter(parts))
    }

    #[tokio::test]
    async fn bodies_up_to_the_limit_are_accepted() {
        let memory = memory();
        for size in [0, 1, SMALL, SMALL + 1, LIMIT / 3, LIMIT] {
            let sent: Vec<u8> = (0..size).map(|at| at as u8).collect();
            let bodies =
                [(Body::from(sent.clone()), false), (in_parts(&sent, 999), false), (in_parts(&gzip(&sent), 999), true)];
            for (body, is_gzip) in bodies {
                let (bytes, reserved) = read(&memory, body, is_gzip).await.unwrap();
                assert!(bytes == sent, "{size}");
                assert!(size <= SMALL || reserved >= size, "{reserved} for {size}");
            }
        }
        assert_eq!(memory.reserved(), 0);
    }

    #[tokio::test]
    async fn sized_bodies_reserve_only_their_length() {
        let memory = memory();
        let (bytes, reserved) = read(&memory, Body::from(vec![b' '; LIMIT / 2]), false).await.unwrap();
        assert_eq!((bytes.len(), reserved), (LIMIT / 2, LIMIT / 2));
    }

    #[tokio::test]
    async fn small_limits_are_enforced() {
        let read = async |bytes: &'static [u8]| {
            super::read(&mut Body::from(bytes), false, 10, &mut memory().reservation(Some(1))).await
        };
        assert_eq!(read(b"0123456789").await.unwrap(), "0123456789");
        assert_eq!(read(b"0123456789x").await.unwrap_err().reason, Reason::BodyTooLarge);
    }

    #[tokio::test]
    async fn bodies_above_the_limit_are_rejected() {
        let memory = memory();
        let large = vec![b' '; LIMIT + 1];
        let bomb = gzip(&vec![b' '; 16 * LIMIT]);
        // Empty gzip members decompress to nothing.
        let empty = gzip(b"").repeat(LIMIT / 20 + 1);
        let bodies = [
            (Body::from(large.clone()), false),
            (in_parts(&large, 999), false),
            (Body::from(gzip(&large)), true),
            (in_parts(&bomb, 999), true),
            (in_parts(&empty, 999), true),
        ];
        for (body, is_gzip) in bodies {
            assert_eq!(read(&memory, body, is_gzip).await.unwrap_err().reason, Reason::BodyTooLarge);
        }
        assert_eq!(memory.reserved(), 0);
    }

    #[tokio::test]
    async fn bodies_exceeding_available_memory_are_rejected() {
        let memory = Memory::new(LIMIT, LIMIT / 2);
        let mut other = memory.reservation(Some(1));
        other.grow(LIMIT / 4).unwrap();
        for (size, reason) in [(LIMIT / 2, Reason::RateLimited), (LIMIT, Reason::BodyTooLarge)] {
            let body = Body::from(vec![b' '; size]);
            assert_eq!(read(&memory, body, false).await.unwrap_err().reason, reason, "{size}");
        }
    }

    #[tokio::test]
    async fn bodies_without_length_can_use_the_whole_quota() {
        let memory = Memory::new(LIMIT, LIMIT / 2);
        let sent = vec![b' '; LIMIT / 2];
        for (body, is_gzip) in [(in_parts(&sent, 999), false), (in_parts(&gzip(&sent), 999), true)] {
            assert_eq!(read(&memory, body, is_gzip).await.unwrap().0.len(), sent.len());
        }
        let larger = in_parts(&vec![b' '; LIMIT / 2 + 1], 999);
        assert_eq!(read(&memory, larger, false).await.unwrap_err().reason, Reason::BodyTooLarge);
    }

    #[tokio::test]
    async fn gzip_members_are_concatenated() {
        let text: Vec<u8> =
            (0..200_000_u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        for members in [1, 3, 1000] {
            let all: Vec<u8> = text.chunks(text.len().div_ceil(members)).flat_map(gzip).collect();
            assert!(read(&memory(), in_parts(&all, 5000), true).await.unwrap().0 == text, "{members} members");
        }
    }

    #[tokio::test]
    async fn incomplete_and_invalid_gzip_is_rejected() {
        let whole = gzip(&vec![b'x'; 100_000]);
        let with = |rest: &[u8]| [&whole[..], rest].concat();
        let mut flipped = whole.clone();
        let crc = flipped.len() - 6;
        flipped[crc] ^= 1;
        for bad in [
            b"{}".to_vec(),
            whole[..whole.len() - 1].to_vec(),
            whole[..whole.len() / 2].to_vec(),
            whole[..5].to_vec(),
            flipped,
            with(b"{}"),
            with(&whole[..10]),
        ] {
            let length = bad.len();
            let read = read(&memory(), Body::from(bad), true).await;
            assert_eq!(read.unwrap_err().reason, Reason::InvalidFields, "{length} bytes");
        }
    }
}
