//! A socket that reports its reads and writes, with or without TLS.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tls::begins_with_tls;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;

use crate::{activity::Activity, traffic::Traffic};

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
