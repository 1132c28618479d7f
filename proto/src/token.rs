//! Bearer tokens: their claims, how they are verified, how they are made.

mod claims;
mod demand;
mod explain;
mod header;
mod keys;
#[cfg(test)]
mod tests;
mod verifier;

pub use claims::{AUDIENCE, Claims, SCOPE_AUDIT, SCOPE_MONITOR};
pub use keys::{Fetch, KeyError, KeySource, Secret, SecretError};
pub use verifier::{TokenError, VerifiedToken, Verifier};

/// Makes a token that [`Verifier`]s with the same secret accept (HS256).
pub fn issue(secret: &Secret, claims: &Claims) -> Result<String, jsonwebtoken::errors::Error> {
    jsonwebtoken::encode(&jsonwebtoken::Header::default(), claims, &jsonwebtoken::EncodingKey::from_secret(&secret.0))
}
