//! TLS failure reasons for metrics and logs, and connections that report them.

use std::{
    error::Error,
    io::{self, IoSlice},
    iter::successors,
    pin::Pin,
    task::{Context, Poll, ready},
};

use rustls::{AlertDescription as Alert, CertificateError as Certificate, Error as TlsFailure};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Error for a plaintext connection whose peer speaks TLS.
#[derive(Debug, thiserror::Error)]
#[error("the peer speaks TLS, but this side does not")]
struct PeerSpeaksTls;

/// Reason for a failed TLS connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
#[expect(missing_docs, reason = "the names are self-explanatory")]
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
    /// All reasons.
    pub const ALL: &[Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Returns the TLS failure that caused a connection error, if any.
    pub fn of(error: &(dyn Error + 'static)) -> Option<Self> {
        successors(Some(error), |error| (*error).source()).find_map(|error| {
            let mut error: &(dyn Error + 'static) = error;
            // HTTP clients wrap the error in several layers.
            while let Some(wrapper) = error.downcast_ref::<io::Error>() {
                error = wrapper.get_ref()?;
            }
            if error.is::<PeerSpeaksTls>() {
                return Some(Self::PeerSpeaksTls);
            }
            error.downcast_ref().map(Self::of_tls)
        })
    }

    /// Returns the reason for a failed handshake.
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

    /// Returns the label for metrics and logs: the name in `snake_case`.
    pub fn label(self) -> &'static str {
        self.into()
    }

    /// Returns whether a simple port check can cause this failure.
    pub fn is_ordinary(self) -> bool {
        matches!(self, Self::Closed | Self::Timeout)
    }
}

/// Reasons that rustls formats as Rust values, in plain words.
const PLAIN: [(&str, &str); 9] = [
    (
        "Other(OtherError(CaUsedAsEndEntity))",
        "it is an authority's own certificate: issue a certificate for this server or client with the authority",
    ),
    ("certificate: UnknownIssuer", "certificate: no trusted authority issued it"),
    ("received corrupt message of type InvalidContentType", "the peer does not use TLS"),
    ("received fatal alert: NoApplicationProtocol", "the peer requires another protocol"),
    ("received fatal alert: CertificateRequired", "the peer requires a certificate"),
    ("received fatal alert: UnknownCA", "the peer does not trust the certificate's authority"),
    ("received fatal alert: CertificateExpired", "the peer reports that the certificate has expired"),
    ("received fatal alert: ProtocolVersion", "the peer requires another version of TLS"),
    ("received fatal alert: ", "the peer refuses the connection: "),
];

/// Replaces reasons that rustls formats as Rust values with plain words.
pub fn plain(text: &str) -> String {
    PLAIN.iter().fold(text.to_owned(), |text, (value, words)| text.replace(value, words))
}

/// Formats an error with its causes in plain words, without causes that the text already contains.
pub fn describe(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    for cause in successors(error.source(), |error| (*error).source()).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    plain(&text)
}

/// First bytes of a handshake record and an alert record: type and major version.
const TLS_RECORDS: [[u8; 2]; 2] = [[0x16, 3], [0x15, 3]];

/// Returns whether a connection's first bytes begin a TLS record.
pub fn begins_with_tls(bytes: &[u8]) -> bool {
    TLS_RECORDS.iter().any(|record| bytes.starts_with(record))
}

/// A connection that reports its first TLS failure.
///
/// In TLS 1.3, a client finishes its handshake before the server checks the client's certificate, so the failure appears in a later read.
pub struct Reporting<S, R> {
    stream: S,
    report: Option<R>,
    /// Whether the connection is plaintext and has not read any bytes yet.
    is_plain_start: bool,
}

impl<S, R: FnOnce(Failure, &io::Error)> Reporting<S, R> {
    /// Wraps a connection after its handshake.
    pub fn secure(stream: S, report: R) -> Self {
        Self { stream, report: Some(report), is_plain_start: false }
    }

    /// Wraps a new plaintext connection. Reading fails if the peer speaks TLS.
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

#[cfg(test)]
mod tests {
    use std::io;

    use rustls::{AlertDescription, CertificateError, Error as TlsFailure, InvalidMessage};

    use super::{Failure, describe};

    #[test]
    fn handshake_errors_map_to_failure_reasons() {
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
            assert_eq!(Failure::of(&io::Error::other(error)).map(Failure::label), Some(expected));
        }
        let unknown = TlsFailure::InvalidCertificate(CertificateError::UnknownIssuer);
        let text = describe(&io::Error::other(io::Error::other(unknown)));
        assert_eq!(text, "invalid peer certificate: no trusted authority issued it");
        let alert = TlsFailure::AlertReceived(AlertDescription::NoApplicationProtocol);
        assert_eq!(describe(&alert), "the peer requires another protocol");
        let closed = io::Error::from(io::ErrorKind::UnexpectedEof);
        assert_eq!((Failure::of(&closed), Failure::of_handshake(&closed)), (None, Failure::Closed));
    }
}
