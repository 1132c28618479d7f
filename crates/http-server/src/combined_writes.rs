//! Coalesces responses to concurrent requests into fewer writes.

use std::{
    io::{self, IoSlice},
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    task::yield_now,
};

use crate::requests::Requests;

/// A stream whose first write after a read waits for other ready tasks, which may also write responses.
pub(crate) struct Coalesced<T> {
    stream: T,
    requests: Arc<Requests>,
    round: Round,
}

/// Phase of a round. A connection reads until no data is left, and then writes.
enum Round {
    Read,
    Waiting,
    Written,
}

impl<T> Coalesced<T> {
    pub(crate) fn new(stream: T, requests: Arc<Requests>) -> Self {
        Self { stream, requests, round: Round::Read }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Coalesced<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_read(context, buffer);
        if result.is_pending() && matches!(self.round, Round::Written) {
            self.round = Round::Read;
        }
        result
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Coalesced<T> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if matches!(self.round, Round::Read) && self.requests.in_flight.len() > 1 {
            self.round = Round::Waiting;
            // Tokio wakes this task once no other task on its thread is ready, or after a limited number of tasks.
            let _ = pin!(yield_now()).poll(context);
            return Poll::Pending;
        }
        self.round = Round::Written;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    /// Without vectored writes, `h2` copies messages of up to 1 KiB into its buffer and sends many together.
    fn is_write_vectored(&self) -> bool {
        false
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = parts.iter().find(|part| !part.is_empty()).map_or(&[][..], |part| part);
        self.poll_write(context, first)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::pin,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering::Relaxed},
        },
        task::Poll,
    };

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::{Coalesced, Requests};

    /// Returns whether a future is ready on its first poll.
    async fn is_ready(future: impl Future) -> bool {
        let mut future = pin!(future);
        std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_ready())).await
    }

    #[tokio::test]
    async fn first_write_waits_for_concurrent_requests() {
        for (count, expected) in [(2, 8), (1, 0), (0, 0)] {
            let requests = Arc::new(Requests::default());
            let _in_flight: Vec<_> = (0..count).map(|_| requests.in_flight.token()).collect();
            let ran = Arc::new(AtomicUsize::new(0));
            for _ in 0..8 {
                let ran = Arc::clone(&ran);
                tokio::spawn(async move { ran.fetch_add(1, Relaxed) });
            }
            Coalesced::new(duplex(16).0, requests).write_all(b"a").await.unwrap();
            assert_eq!(ran.load(Relaxed), expected, "{count}");
        }
    }

    #[tokio::test]
    async fn writes_wait_once_per_round() {
        let requests = Arc::new(Requests::default());
        let _in_flight = [requests.in_flight.token(), requests.in_flight.token()];
        let (stream, _peer) = duplex(64);
        let mut stream = Coalesced::new(stream, requests);
        for _ in 0..3 {
            stream.write_all(b"a").await.unwrap();
            assert!(is_ready(stream.write_all(b"b")).await);
            // Starts the next round.
            assert!(!is_ready(stream.read_u8()).await);
            assert!(!is_ready(stream.write_all(b"a")).await);
        }
    }
}
