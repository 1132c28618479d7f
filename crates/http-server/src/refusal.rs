//! Responses to requests that hyper refuses because their head is malformed or too long.
//!
//! hyper's HTTP/1 connection writes these responses without a body, and no service sees the request. This stream replaces them on their way
//! to the socket, so that clients get the body of every other error.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf as _, Bytes};
use http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The first bytes of hyper's own responses.
const BEGINNING: &[u8] = b"HTTP/1.1 4";
/// Only hyper's own responses have the first part, and only a service's responses have the second.
const EMPTY: &[u8] = b"\r\ncontent-length: 0\r\n";
const FROM_SERVICE: &[u8] = b"\r\nx-request-id:";

/// Returns the whole response, head and body, with this status.
pub type Refuse = fn(StatusCode) -> Vec<u8>;

/// A stream that replaces hyper's own responses.
pub(crate) struct RefusalWriter<T> {
    stream: T,
    refuse: Option<Refuse>,
    /// The unwritten rest of a replacement.
    pending: Bytes,
}

impl<T> RefusalWriter<T> {
    pub(crate) fn new(stream: T, refuse: Option<Refuse>) -> Self {
        Self { stream, refuse, pending: Bytes::new() }
    }

    /// Returns the replacement if `written` is a response of hyper's own.
    fn replacement(&self, written: &[u8]) -> Option<Vec<u8>> {
        if !written.starts_with(BEGINNING) {
            return None;
        }
        let head = written.to_ascii_lowercase();
        let has = |part: &[u8]| head.windows(part.len()).any(|window| window == part);
        if !head.ends_with(b"\r\n\r\n") || !has(EMPTY) || has(FROM_SERVICE) {
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
            // A flush writes the rest.
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
        // A response without a body has one part.
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
