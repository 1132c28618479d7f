//! Connections that report TLS failures after the handshake.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::failure::{Failure, PeerSpeaksTls};

/// First bytes of a handshake record and an alert record: the type and the major version.
const TLS_RECORDS: [[u8; 2]; 2] = [[0x16, 3], [0x15, 3]];

/// Returns whether a connection begins with a TLS record.
pub fn begins_with_tls(bytes: &[u8]) -> bool {
    TLS_RECORDS.iter().any(|record| bytes.starts_with(record))
}

/// A connection that reports its first TLS failure.
///
/// In TLS 1.3, a client finishes its handshake before the server checks the client's certificate. So the failure appears in a later read.
pub struct Reporting<S, R> {
    stream: S,
    report: Option<R>,
    /// Whether the next bytes are the first of a connection without TLS.
    is_plain_start: bool,
}

impl<S, R: FnOnce(Failure, &io::Error)> Reporting<S, R> {
    /// Wraps a connection after its handshake.
    pub fn secure(stream: S, report: R) -> Self {
        Self { stream, report: Some(report), is_plain_start: false }
    }

    /// Wraps a new connection without TLS. Reading fails if the peer speaks TLS.
    pub fn plain(stream: S, report: R) -> Self {
        Self { stream, report: Some(report), is_plain_start: true }
    }
}

impl<S: AsyncRead + Unpin, R: FnOnce(Failure, &io::Error) + Unpin> AsyncRead for Reporting<S, R> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let mut result = ready!(Pin::new(&mut this.stream).poll_read(context, buffer));
        let read = &buffer.filled()[before..];
        if this.is_plain_start && begins_with_tls(read) {
            result = Err(io::Error::new(io::ErrorKind::InvalidData, PeerSpeaksTls));
        }
        this.is_plain_start &= read.is_empty();
        if let Err(error) = &result
            && let Some(failure) = Failure::of(error)
            && let Some(report) = this.report.take()
        {
            report(failure, error);
        }
        Poll::Ready(result)
    }
}

impl<S: AsyncWrite + Unpin, R: Unpin> AsyncWrite for Reporting<S, R> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
