//! Responses to requests that HTTP itself refuses: a malformed head, one that is too long.
//!
//! The HTTP/1 connection of hyper writes these by itself, without a body, and no service sees the request. Here such a response
//! is replaced on its way to the socket, so that clients find the body that every other refusal has.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf as _, Bytes};
use http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What a response of hyper's own begins with.
const BEGINNING: &[u8] = b"HTTP/1.1 4";
/// What it has, and responses of a service with a request ID do not.
const EMPTY: &[u8] = b"\r\ncontent-length: 0\r\n";
const OF_A_SERVICE: &[u8] = b"\r\nx-request-id:";

/// Makes the whole response, head and body, to a request that is refused with this status.
pub type Refuse = fn(StatusCode) -> Vec<u8>;

/// A stream on which hyper's own refusals are replaced.
pub(crate) struct RefusalWriter<T> {
    stream: T,
    refuse: Option<Refuse>,
    /// The rest of a response that is written in place of another one.
    pending: Bytes,
}

impl<T> RefusalWriter<T> {
    pub(crate) fn new(stream: T, refuse: Option<Refuse>) -> Self {
        Self { stream, refuse, pending: Bytes::new() }
    }

    /// The response to be written in place of `written`, if that is one of hyper's own.
    fn replacement(&self, written: &[u8]) -> Option<Vec<u8>> {
        if !written.starts_with(BEGINNING) {
            return None;
        }
        let head = written.to_ascii_lowercase();
        let has = |part: &[u8]| head.windows(part.len()).any(|window| window == part);
        if !head.ends_with(b"\r\n\r\n") || !has(EMPTY) || has(OF_A_SERVICE) {
            return None;
        }
        let status = StatusCode::from_bytes(written.get(9..12)?).ok()?;
        Some(self.refuse?(status))
    }
}

impl<T: AsyncWrite + Unpin> RefusalWriter<T> {
    fn write_pending(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.pending.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(context, &self.pending))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.pending.advance(written);
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for RefusalWriter<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for RefusalWriter<T> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.write_pending(context))?;
        if let Some(replacement) = self.replacement(bytes) {
            self.pending = replacement.into();
            // Flushing writes what is left.
            if let Poll::Ready(Err(error)) = self.write_pending(context) {
                return Poll::Ready(Err(error));
            }
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // A response without a body is one part.
        match parts {
            [head] if head.starts_with(BEGINNING) => self.poll_write(context, head),
            _ => {
                ready!(self.write_pending(context))?;
                Pin::new(&mut self.stream).poll_write_vectored(context, parts)
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
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
