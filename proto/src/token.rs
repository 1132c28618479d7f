//! Issues and verifies bearer tokens.

mod claims;
mod error;
mod header;
mod keys;
mod reloads;
mod rules;
#[cfg(test)]
mod tests;
mod unique;
mod verifier;

pub use claims::{
    AUDIENCE, Audience, Claims, SCOPE_AUDIT, SCOPE_CASES, SCOPE_ERASE, SCOPE_MONITOR, SCOPE_WEBHOOKS, SCOPES,
};
pub use error::TokenError;
pub use keys::{Fetch, KeyError, KeySource, Secret, SecretError};
pub use rules::{COMPANY_CLAIM, ClaimRules, PERSON_CLAIM};
pub use verifier::{VerifiedToken, Verifier};

/// Issues an HS256 token that a [`Verifier`] with the same secret accepts.
pub fn issue(secret: &Secret, claims: &Claims) -> Result<String, jsonwebtoken::errors::Error> {
    issue_for(secret, claims, COMPANY_CLAIM)
}

/// Issues a token with the company ID in the `company` claim.
pub fn issue_for(secret: &Secret, claims: &Claims, company: &str) -> Result<String, jsonwebtoken::errors::Error> {
    let mut claims = serde_json::to_value(claims)?;
    if let Some(id) = claims.as_object_mut().and_then(|claims| claims.remove(COMPANY_CLAIM)) {
        claims[company] = id;
    }
    jsonwebtoken::encode(&jsonwebtoken::Header::default(), &claims, &jsonwebtoken::EncodingKey::from_secret(&secret.0))
}
