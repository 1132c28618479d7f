//! Reasons of TLS failures, for metrics and logs.

use std::{error::Error, io, iter::successors};

use rustls::{AlertDescription as Alert, CertificateError as Certificate, Error as TlsFailure};

/// Error of a connection without TLS whose peer speaks TLS.
#[derive(Debug, thiserror::Error)]
#[error("the other side speaks TLS, and this side does not")]
pub(crate) struct PeerSpeaksTls;

/// Reason of a failed TLS connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
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
    /// All reasons.
    pub const ALL: &[Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Returns the TLS failure that caused a connection error, if any.
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

    /// Returns the reason of a handshake error.
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

    /// Label in metrics and logs: the name in `snake_case`.
    pub fn label(self) -> &'static str {
        self.into()
    }

    /// Returns whether a mere port check can cause it.
    pub fn is_ordinary(self) -> bool {
        matches!(self, Self::Closed | Self::Timeout)
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use rustls::{AlertDescription, CertificateError, Error as TlsFailure, InvalidMessage};

    use super::Failure;

    #[test]
    fn an_error_has_a_reason_that_an_operator_can_act_on() {
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
}
