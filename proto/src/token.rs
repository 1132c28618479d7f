//! Bearer tokens: their claims, how they are verified, how they are made.

mod claims;
mod demand;
mod error;
mod explain;
mod few;
mod header;
mod keys;
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
pub use rules::{COMPANY_CLAIM, ClaimRules};
pub use verifier::{VerifiedToken, Verifier};

/// Makes a token that [`Verifier`]s with the same secret accept (HS256).
pub fn issue(secret: &Secret, claims: &Claims) -> Result<String, jsonwebtoken::errors::Error> {
    issue_for(secret, claims, COMPANY_CLAIM)
}

/// Makes a token with the company in another claim.
pub fn issue_for(secret: &Secret, claims: &Claims, company: &str) -> Result<String, jsonwebtoken::errors::Error> {
    let mut claims = serde_json::to_value(claims)?;
    if let Some(id) = claims.as_object_mut().and_then(|claims| claims.remove(COMPANY_CLAIM)) {
        claims[company] = id;
    }
    jsonwebtoken::encode(&jsonwebtoken::Header::default(), &claims, &jsonwebtoken::EncodingKey::from_secret(&secret.0))
}
