//! Why a token is refused, in the words for its caller.

use crate::error::{Error, Reason};

/// Why a token was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// No token was presented.
    #[error("A bearer token is required.")]
    Missing,
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
            TokenError::Invalid => Reason::TokenInvalid,
            TokenError::Expired => Reason::TokenExpired,
        };
        Self::new(reason, error.to_string())
    }
}
