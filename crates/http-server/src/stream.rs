//! The streams of a connection: the socket, with or without TLS, and what HTTP writes to it.

use std::{
    io::{self, IoSlice},
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{Buf as _, Bytes};
use http::StatusCode;
use tls::begins_with_tls;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    task::yield_now,
};
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;

use crate::{activity::Activity, traffic::Traffic};

/// The first bytes of hyper's own responses.
const BEGINNING: &[u8] = b"HTTP/1.1 4";
/// Only hyper's own responses have the first part, and only a service's responses have the second.
const EMPTY: &[u8] = b"\r\ncontent-length: 0\r\n";
const FROM_SERVICE: &[u8] = b"\r\nx-request-id:";

/// A socket that counts its bytes and reports stalled writes.
pub(crate) struct Watched {
    pub(crate) stream: TcpStream,
    pub(crate) activity: Arc<Activity>,
    pub(crate) traffic: Traffic,
    /// Reports a client that speaks TLS on a plain port.
    pub(crate) on_tls: Option<Box<dyn FnOnce() + Send>>,
}

impl Watched {
    fn written(&self, result: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = result {
            self.traffic.sent.increment(bytes as u64);
        }
        self.activity.written(result.is_ready());
        result
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.stream).poll_read(context, buffer);
        let read = buffer.filled().len() - before;
        self.traffic.received.increment(read as u64);
        if read > 0
            && let Some(on_tls) = self.on_tls.take()
            && begins_with_tls(&buffer.filled()[before..])
        {
            on_tls();
        }
        if read > 0 && self.activity.has_read_too_much(read as u64) {
            return Poll::Ready(Err(io::Error::other("the peer sends too many bytes without a request")));
        }
        result
    }
}

impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.written(result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A socket, secure if its port has a certificate.
pub(crate) type MaybeTls = Either<Watched, Box<TlsStream<Watched>>>;

/// Returns the whole response, head and body, with this status.
pub type Refuse = fn(StatusCode) -> Vec<u8>;

/// A stream that changes what HTTP writes to it, by the kind of port.
pub(crate) struct Outgoing<T> {
    stream: T,
    change: Change,
}

enum Change {
    /// On a port for HTTP/2 only, writes wait once for other ready tasks.
    ///
    /// The responses of a batch become ready together. The first response wakes the connection, which would send it alone: a system call, a
    /// packet and a wake-up of the client for every response. So a write waits once for tasks that are ready, and their frames are sent with
    /// it. With at most one request in flight, writes do not wait.
    ///
    /// The stream's user must read until nothing is left before it writes, as an HTTP/2 connection does. That read begins the next round.
    Coalesce(Round, Arc<Activity>),
    /// On a port with HTTP/1, hyper's own responses are replaced, to requests whose head is malformed or too long.
    ///
    /// hyper writes these responses without a body, and no service sees the request. They are replaced on their way to the socket, so that
    /// clients get the body of every other error. `pending` is the unwritten rest of a replacement.
    Refuse { refuse: Option<Refuse>, pending: Bytes },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    /// The next write waits, if several requests are in flight.
    Waits,
    /// A write waits for other tasks.
    Waiting,
    /// The writes of this round do not wait.
    Writes,
}

impl<T> Outgoing<T> {
    /// Coalesces writes to a stream for HTTP/2.
    pub(crate) fn coalesced(stream: T, activity: Arc<Activity>) -> Self {
        Self { stream, change: Change::Coalesce(Round::Waits, activity) }
    }

    /// Replaces hyper's own responses, unless `refuse` is `None`.
    pub(crate) fn with_rejections(stream: T, refuse: Option<Refuse>) -> Self {
        Self { stream, change: Change::Refuse { refuse, pending: Bytes::new() } }
    }
}

/// Returns the replacement if `written` is a response of hyper's own.
fn replacement(written: &[u8], refuse: Option<Refuse>) -> Option<Vec<u8>> {
    if !written.starts_with(BEGINNING) {
        return None;
    }
    let head = written.to_ascii_lowercase();
    let has = |part: &[u8]| head.windows(part.len()).any(|window| window == part);
    if !head.ends_with(b"\r\n\r\n") || !has(EMPTY) || has(FROM_SERVICE) {
        return None;
    }
    let status = StatusCode::from_bytes(written.get(9..12)?).ok()?;
    Some(refuse?(status))
}

impl<T: AsyncWrite + Unpin> Outgoing<T> {
    fn write_pending(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Change::Refuse { pending, .. } = &mut self.change else { return Poll::Ready(Ok(())) };
        while !pending.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(context, pending))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            pending.advance(written);
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Outgoing<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_read(context, buffer);
        if let Change::Coalesce(round @ Round::Writes, _) = &mut self.change
            && result.is_pending()
        {
            *round = Round::Waits;
        }
        result
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Outgoing<T> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.write_pending(context))?;
        match &mut self.change {
            Change::Coalesce(round @ Round::Waits, activity) if activity.has_several() => {
                *round = Round::Waiting;
                // Wakes this task when no other task of its thread is ready, or after a limited number of tasks.
                let _ = pin!(yield_now()).poll(context);
                return Poll::Pending;
            }
            Change::Coalesce(round, _) => *round = Round::Writes,
            Change::Refuse { refuse, pending } => {
                if let Some(replacement) = replacement(bytes, *refuse) {
                    *pending = replacement.into();
                    // A flush writes the rest.
                    if let Poll::Ready(Err(error)) = self.write_pending(context) {
                        return Poll::Ready(Err(error));
                    }
                    return Poll::Ready(Ok(bytes.len()));
                }
            }
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match (&self.change, parts) {
            (Change::Coalesce(..), _) => {
                let first = parts.iter().find(|part| !part.is_empty()).map_or(&[][..], |part| part);
                self.poll_write(context, first)
            }
            // A response without a body has one part.
            (Change::Refuse { .. }, [head]) if head.starts_with(BEGINNING) => self.poll_write(context, head),
            _ => {
                ready!(self.write_pending(context))?;
                Pin::new(&mut self.stream).poll_write_vectored(context, parts)
            }
        }
    }

    /// Without vectored writes, `h2` copies messages of up to 1 KiB into its buffer and sends many together. With vectored writes, it sends
    /// each message of 256 bytes or more separately.
    fn is_write_vectored(&self) -> bool {
        matches!(self.change, Change::Refuse { .. }) && self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.write_pending(context))?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.write_pending(context))?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
