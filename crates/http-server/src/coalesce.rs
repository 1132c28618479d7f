//! Coalesces writes of an HTTP/2 connection.
//!
//! The responses of a batch become ready together. The first response wakes the connection, which would send it alone: a system call, a
//! packet and a wake-up of the client for every response. So a write waits once for tasks that are ready, and their frames are sent with it.
//! With at most one request in flight, writes do not wait.

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

use crate::activity::Activity;

/// A stream whose writes wait once for other ready tasks.
///
/// Its user must read until nothing is left before it writes, as an HTTP/2 connection does. That read begins the next round.
pub(crate) struct Coalesced<T> {
    stream: T,
    state: State,
    activity: Arc<Activity>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Writes never wait.
    Off,
    /// The next write waits, if several requests are in flight.
    Waits,
    /// A write waits for other tasks.
    Waiting,
    /// The writes of this round do not wait.
    Writes,
}

impl<T> Coalesced<T> {
    /// Coalesces writes if the stream is for HTTP/2. On HTTP/1, a connection has one response at a time.
    pub(crate) fn new(stream: T, is_http2: bool, activity: Arc<Activity>) -> Self {
        Self { stream, state: if is_http2 { State::Waits } else { State::Off }, activity }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Coalesced<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_read(context, buffer);
        if result.is_pending() && self.state == State::Writes {
            self.state = State::Waits;
        }
        result
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Coalesced<T> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.state == State::Waits && self.activity.has_several() {
            self.state = State::Waiting;
            // Wakes this task when no other task of its thread is ready, or after a limited number of tasks.
            let _ = pin!(yield_now()).poll(context);
            return Poll::Pending;
        }
        if self.state != State::Off {
            self.state = State::Writes;
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.state == State::Off {
            return Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        }
        let first = bytes.iter().find(|bytes| !bytes.is_empty()).map_or(&[][..], |bytes| bytes);
        self.poll_write(context, first)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    /// Without vectored writes, `h2` copies messages of up to 1 KiB into its buffer and sends many together. With vectored writes, it sends
    /// each message of 256 bytes or more separately.
    fn is_write_vectored(&self) -> bool {
        self.state == State::Off && self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        pin::{Pin, pin},
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering::Relaxed},
        },
        task::{Context, Poll},
    };

    use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};

    use super::Coalesced;
    use crate::{
        ConnectionLimits,
        activity::{Activity, InFlight},
    };

    /// A connection with so many requests in flight.
    fn with_requests(count: usize) -> (Arc<Activity>, Vec<InFlight>) {
        let activity = Activity::new(&ConnectionLimits::default(), None);
        let requests = (0..count).map(|_| activity.start(true)).collect();
        (activity, requests)
    }

    /// A stream to which nothing arrives, and which counts the writes.
    #[derive(Clone, Default)]
    struct Counted(Arc<AtomicUsize>);

    impl AsyncRead for Counted {
        fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    impl AsyncWrite for Counted {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            self.0.fetch_add(1, Relaxed);
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    /// Whether a future is ready when it is first polled.
    async fn is_ready(future: impl Future) -> bool {
        let mut future = pin!(future);
        std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_ready())).await
    }

    #[tokio::test]
    async fn a_write_waits_for_tasks_that_are_ready_on_http_2() {
        for (is_http2, requests, expected) in [(true, 2, 8), (true, 1, 0), (true, 0, 0), (false, 2, 0)] {
            let (activity, _requests) = with_requests(requests);
            let ran = Arc::new(AtomicUsize::new(0));
            for _ in 0..8 {
                let ran = Arc::clone(&ran);
                tokio::spawn(async move { ran.fetch_add(1, Relaxed) });
            }
            Coalesced::new(Counted::default(), is_http2, activity).write_all(b"a").await.unwrap();
            assert_eq!(ran.load(Relaxed), expected);
        }
    }

    #[tokio::test]
    async fn a_write_waits_once_a_round() {
        let counted = Counted::default();
        let (activity, _requests) = with_requests(2);
        let mut stream = Coalesced::new(counted.clone(), true, activity);
        for round in 1..=3 {
            stream.write_all(b"a").await.unwrap();
            assert!(is_ready(stream.write_all(b"b")).await);
            assert_eq!(counted.0.load(Relaxed), round * 2);
            // The next round.
            assert!(!is_ready(stream.read_u8()).await);
            assert!(!is_ready(stream.write_all(b"a")).await);
        }
    }
}
