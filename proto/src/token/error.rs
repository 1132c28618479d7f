//! Token errors, for callers and for operators.

use crate::error::{Error, Reason};

/// Why a token is rejected, as shown to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// No token was presented.
    #[error("A bearer token is required.")]
    Missing,
    /// The header has a scheme other than `Bearer`, or none.
    #[error("The Authorization header must have the form: Bearer TOKEN.")]
    NotBearer,
    /// The token is malformed, meant for another service, or not signed by a trusted issuer.
    #[error("The bearer token is invalid.")]
    Invalid,
    /// The token has expired.
    #[error("The bearer token has expired.")]
    Expired,
}

impl From<TokenError> for Error {
    fn from(error: TokenError) -> Self {
        let reason = match error {
            TokenError::Missing => Reason::TokenMissing,
            TokenError::NotBearer | TokenError::Invalid => Reason::TokenInvalid,
            TokenError::Expired => Reason::TokenExpired,
        };
        Self::new(reason, error.to_string())
    }
}

/// Why a token is rejected, as shown to operators. Callers are not trusted, so they never see the explanation.
#[derive(Debug)]
pub(super) struct Rejection {
    pub(super) error: TokenError,
    /// The invalid part of the token, and what is expected.
    pub(super) explanation: String,
}

impl Rejection {
    pub(super) fn invalid(explanation: impl Into<String>) -> Self {
        Self { error: TokenError::Invalid, explanation: explanation.into() }
    }

    pub(super) fn expired(seconds: i64) -> Self {
        Self { error: TokenError::Expired, explanation: format!("exp: expired {seconds} s ago") }
    }
}
