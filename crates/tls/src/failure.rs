//! Why connections are not secure: a reason for metrics, and errors that come after the handshake.

use std::{
    error::Error,
    io::{self, IoSlice},
    iter::successors,
    pin::Pin,
    task::{Context, Poll, ready},
};

use rustls::{AlertDescription as Alert, CertificateError as Certificate, Error as TlsFailure};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Why a connection could not be made secure. "Peer" is the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the labels say it")]
pub enum Failure {
    CertificateMissing,
    CertificateExpired,
    CertificateNotYetValid,
    CertificateOfUnknownAuthority,
    CertificateOfOtherName,
    CertificateInvalid,
    PeerNeedsCertificate,
    PeerRefusesCertificate,
    NotTls,
    PeerSpeaksTls,
    Incompatible,
    Closed,
    Timeout,
    Other,
}

impl Failure {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::CertificateMissing,
        Self::CertificateExpired,
        Self::CertificateNotYetValid,
        Self::CertificateOfUnknownAuthority,
        Self::CertificateOfOtherName,
        Self::CertificateInvalid,
        Self::PeerNeedsCertificate,
        Self::PeerRefusesCertificate,
        Self::NotTls,
        Self::PeerSpeaksTls,
        Self::Incompatible,
        Self::Closed,
        Self::Timeout,
        Self::Other,
    ];

    /// What an error of a connection means. `None` if it has nothing to do with TLS.
    pub fn of(error: &(dyn Error + 'static)) -> Option<Self> {
        successors(Some(error), |error| (*error).source()).find_map(|error| {
            let error: &(dyn Error + 'static) = match error.downcast_ref::<io::Error>() {
                Some(error) => error.get_ref()?,
                None => error,
            };
            if error.is::<PeerSpeaksTls>() {
                return Some(Self::PeerSpeaksTls);
            }
            error.downcast_ref().map(Self::of_tls)
        })
    }

    /// What an error of a handshake means.
    pub fn of_handshake(error: &io::Error) -> Self {
        Self::of(error).unwrap_or(match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Self::Closed,
            io::ErrorKind::TimedOut => Self::Timeout,
            _ => Self::Other,
        })
    }

    fn of_tls(error: &TlsFailure) -> Self {
        match error {
            TlsFailure::NoCertificatesPresented => Self::CertificateMissing,
            TlsFailure::InvalidCertificate(error) => match error {
                Certificate::Expired | Certificate::ExpiredContext { .. } => Self::CertificateExpired,
                Certificate::NotValidYet | Certificate::NotValidYetContext { .. } => Self::CertificateNotYetValid,
                Certificate::UnknownIssuer => Self::CertificateOfUnknownAuthority,
                Certificate::NotValidForName | Certificate::NotValidForNameContext { .. } => {
                    Self::CertificateOfOtherName
                }
                _ => Self::CertificateInvalid,
            },
            TlsFailure::AlertReceived(Alert::CertificateRequired) => Self::PeerNeedsCertificate,
            TlsFailure::AlertReceived(
                Alert::BadCertificate
                | Alert::UnsupportedCertificate
                | Alert::CertificateRevoked
                | Alert::CertificateExpired
                | Alert::CertificateUnknown
                | Alert::UnknownCA
                | Alert::AccessDenied
                | Alert::DecryptError,
            ) => Self::PeerRefusesCertificate,
            TlsFailure::InvalidMessage(_) => Self::NotTls,
            TlsFailure::PeerIncompatible(_) | TlsFailure::NoApplicationProtocol | TlsFailure::AlertReceived(_) => {
                Self::Incompatible
            }
            _ => Self::Other,
        }
    }

    /// The label in metrics and logs.
    pub fn label(self) -> &'static str {
        match self {
            Self::CertificateMissing => "certificate_missing",
            Self::CertificateExpired => "certificate_expired",
            Self::CertificateNotYetValid => "certificate_not_yet_valid",
            Self::CertificateOfUnknownAuthority => "certificate_of_unknown_authority",
            Self::CertificateOfOtherName => "certificate_of_other_name",
            Self::CertificateInvalid => "certificate_invalid",
            Self::PeerNeedsCertificate => "peer_needs_certificate",
            Self::PeerRefusesCertificate => "peer_refuses_certificate",
            Self::NotTls => "not_tls",
            Self::PeerSpeaksTls => "peer_speaks_tls",
            Self::Incompatible => "incompatible",
            Self::Closed => "closed",
            Self::Timeout => "timeout",
            Self::Other => "other",
        }
    }

    /// Whether a client that only looks whether the port is open causes it, too.
    pub fn is_ordinary(self) -> bool {
        matches!(self, Self::Closed | Self::Timeout)
    }
}

/// The first bytes of TLS records: of a handshake, and of an alert, each with the major version.
const TLS_RECORDS: [[u8; 2]; 2] = [[0x16, 3], [0x15, 3]];

/// Whether a connection begins with a TLS record.
pub fn begins_with_tls(bytes: &[u8]) -> bool {
    TLS_RECORDS.iter().any(|record| bytes.starts_with(record))
}

/// The peer of a connection without TLS speaks TLS.
#[derive(Debug, thiserror::Error)]
#[error("the other side speaks TLS, and this side does not")]
struct PeerSpeaksTls;

/// A connection without TLS that fails if its peer speaks TLS.
pub struct Plain<S> {
    stream: S,
    has_read: bool,
}

impl<S> Plain<S> {
    /// Nothing was read from the stream yet.
    pub fn new(stream: S) -> Self {
        Self { stream, has_read: false }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Plain<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
        let read = &buffer.filled()[before..];
        if !this.has_read && begins_with_tls(read) {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, PeerSpeaksTls)));
        }
        this.has_read |= !read.is_empty();
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Plain<S> {
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

/// A connection that reports why its peer ends it. In TLS 1.3, a client has finished its handshake before the server looks at the
/// client's certificate.
pub struct Reporting<S, R> {
    stream: S,
    report: Option<R>,
}

impl<S, R: FnOnce(Failure, &io::Error)> Reporting<S, R> {
    /// Reports the first failure of the connection, if there is one.
    pub fn new(stream: S, report: R) -> Self {
        Self { stream, report: Some(report) }
    }

    fn look_at<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && let Some(failure) = Failure::of(error)
            && let Some(report) = self.report.take()
        {
            report(failure, error);
        }
        result
    }
}

impl<S: AsyncRead + Unpin, R: FnOnce(Failure, &io::Error) + Unpin> AsyncRead for Reporting<S, R> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let result = ready!(Pin::new(&mut this.stream).poll_read(context, buffer));
        Poll::Ready(this.look_at(result))
    }
}

impl<S: AsyncWrite + Unpin, R: FnOnce(Failure, &io::Error) + Unpin> AsyncWrite for Reporting<S, R> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let result = ready!(Pin::new(&mut this.stream).poll_write(context, bytes));
        Poll::Ready(this.look_at(result))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let result = ready!(Pin::new(&mut this.stream).poll_write_vectored(context, bytes));
        Poll::Ready(this.look_at(result))
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

#[cfg(test)]
mod tests {
    use std::io;

    use rustls::{AlertDescription, CertificateError, Error as TlsFailure, InvalidMessage};

    use super::Failure;

    #[test]
    fn an_error_has_the_reason_that_an_operator_can_act_on() {
        for (error, expected) in [
            (TlsFailure::NoCertificatesPresented, "certificate_missing"),
            (TlsFailure::InvalidCertificate(CertificateError::Expired), "certificate_expired"),
            (TlsFailure::InvalidCertificate(CertificateError::UnknownIssuer), "certificate_of_unknown_authority"),
            (TlsFailure::InvalidCertificate(CertificateError::NotValidForName), "certificate_of_other_name"),
            (TlsFailure::AlertReceived(AlertDescription::CertificateRequired), "peer_needs_certificate"),
            (TlsFailure::AlertReceived(AlertDescription::UnknownCA), "peer_refuses_certificate"),
            (TlsFailure::InvalidMessage(InvalidMessage::InvalidContentType), "not_tls"),
        ] {
            let error = io::Error::new(io::ErrorKind::InvalidData, error);
            assert_eq!(Failure::of_handshake(&error).label(), expected, "{error}");
        }
        let closed = io::Error::from(io::ErrorKind::UnexpectedEof);
        assert_eq!((Failure::of(&closed), Failure::of_handshake(&closed)), (None, Failure::Closed));
    }

    #[test]
    fn labels_differ() {
        let labels: std::collections::BTreeSet<_> = Failure::ALL.map(Failure::label).into();
        assert_eq!(labels.len(), Failure::ALL.len());
    }
}
