//! Bearer tokens: their claims, how they are verified, how they are made.

mod bearer;
mod claims;
mod header;
mod key_set;
mod keys;
#[cfg(test)]
mod tests;
mod verifier;

pub use bearer::bearer;
pub use claims::{AUDIENCE, Claims, SCOPE_MONITOR};
pub use keys::{KeyError, KeySource, Secret, SecretError};
pub use verifier::{TokenError, VerifiedToken, Verifier};

/// Makes a token that [`Verifier`]s with the same secret accept (HS256).
pub fn issue(secret: &Secret, claims: &Claims) -> Result<String, jsonwebtoken::errors::Error> {
    jsonwebtoken::encode(&jsonwebtoken::Header::default(), claims, &secret.encoding_key())
}
