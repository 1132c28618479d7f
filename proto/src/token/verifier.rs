//! Verification of tokens, with a bounded cache of valid ones.

use std::{
    collections::HashSet,
    ops::Deref,
    sync::{Arc, PoisonError, RwLock},
};

use jsonwebtoken::{Validation, decode, decode_header, errors::ErrorKind};
use quick_cache::sync::Cache;
use sha2::{Digest as _, Sha256};

use super::{
    bearer::bearer,
    claims::{AUDIENCE, Claims},
    keys::{Key, KeyError, KeySource},
};
use crate::error::{Error, Reason};

/// Valid tokens in the cache; one takes some 300 bytes.
const MAX_CACHED: usize = 10_000;
/// How far the clock of a token's issuer may be ahead of ours, in seconds.
const SKEW: i64 = 60;
/// A longer token is invalid, without a look at its content.
const MAX_BYTES: usize = 8192;

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

/// The claims of a token that a [`Verifier`] has accepted; nothing else makes one. Clones share them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedToken(Arc<Claims>);

impl Deref for VerifiedToken {
    type Target = Claims;

    fn deref(&self) -> &Claims {
        &self.0
    }
}

/// Verifies tokens. A valid token is cached by its digest until it expires, so that a signature is verified once a token
/// rather than once a request.
pub struct Verifier {
    source: KeySource,
    issuer: Option<String>,
    keys: RwLock<Arc<Vec<Key>>>,
    valid: Cache<[u8; 32], VerifiedToken>,
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Verifier").field("source", &self.source).field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

impl Verifier {
    /// Loads the keys. With an `issuer`, tokens must name it.
    pub async fn new(source: KeySource, issuer: Option<String>) -> Result<Self, KeyError> {
        let keys = source.load().await?;
        let valid = Cache::new(MAX_CACHED);
        Ok(Self { source, issuer, keys: RwLock::new(Arc::new(keys)), valid })
    }

    /// Whether the keys may change while the service runs.
    pub fn can_refresh(&self) -> bool {
        self.source.jwks_url.is_some() || self.source.jwks_file.is_some()
    }

    /// Loads the keys again and clears the cache. On failure the old keys stay.
    pub async fn refresh(&self) -> Result<(), KeyError> {
        let keys = Arc::new(self.source.load().await?);
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
        self.valid.clear();
        Ok(())
    }

    /// The claims of the token in an `Authorization` header's value at `now` (seconds since 1970).
    pub fn authorize(&self, header: Option<&[u8]>, now: i64) -> Result<VerifiedToken, TokenError> {
        let value = header.ok_or(TokenError::Missing)?;
        let value = std::str::from_utf8(value).map_err(|_| TokenError::Invalid)?;
        if value.trim().is_empty() {
            return Err(TokenError::Missing);
        }
        self.verify(bearer(value).ok_or(TokenError::Invalid)?, now)
    }

    /// The claims of a token at `now` (seconds since 1970).
    pub fn verify(&self, token: &str, now: i64) -> Result<VerifiedToken, TokenError> {
        if token.len() > MAX_BYTES {
            return Err(TokenError::Invalid);
        }
        let digest: [u8; 32] = Sha256::digest(token).into();
        if let Some(valid) = self.valid.get(&digest) {
            return if valid.exp > now { Ok(valid) } else { Err(TokenError::Expired) };
        }
        let claims = self.verify_signature(token)?;
        self.check_claims(&claims, now)?;
        let valid = VerifiedToken(Arc::new(claims));
        self.valid.insert(digest, valid.clone());
        Ok(valid)
    }

    fn verify_signature(&self, token: &str) -> Result<Claims, TokenError> {
        let kid = decode_header(token).map_err(|_| TokenError::Invalid)?.kid;
        let keys = Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner));
        // A key without an ID may have signed any token. A key with an ID may have signed tokens that name it or none.
        let candidates = keys.iter().filter(|key| key.id.is_none() || kid.is_none() || key.id == kid);
        for Key { algorithm, decoding, .. } in candidates {
            let mut validation = Validation::new(*algorithm);
            validation.required_spec_claims = HashSet::from(["exp".to_owned(), "aud".to_owned()]);
            validation.set_audience(&[AUDIENCE]);
            // Against the clock that is passed in, below.
            validation.validate_exp = false;
            match decode::<Claims>(token, decoding, &validation) {
                Ok(token) => return Ok(token.claims),
                Err(error) => match error.kind() {
                    // Another key may fit.
                    ErrorKind::InvalidSignature | ErrorKind::InvalidAlgorithm => {}
                    _ => return Err(TokenError::Invalid),
                },
            }
        }
        Err(TokenError::Invalid)
    }

    fn check_claims(&self, claims: &Claims, now: i64) -> Result<(), TokenError> {
        let in_future =
            |timestamp: Option<i64>| timestamp.is_some_and(|timestamp| timestamp > now.saturating_add(SKEW));
        let issuer_differs = self.issuer.is_some() && claims.iss != self.issuer;
        if claims.company_id <= 0
            || claims.company_id > crate::MAX_ID
            || !claims.aud.contains(AUDIENCE)
            || issuer_differs
            || in_future(claims.nbf)
            || in_future(claims.iat)
        {
            return Err(TokenError::Invalid);
        }
        if claims.exp <= now { Err(TokenError::Expired) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Claims, TokenError, Verifier};
    use crate::token::{KeySource, Secret, claims::Audience, issue};

    const NOW: i64 = 1_800_000_000;

    async fn verifier(secret: &Secret, issuer: Option<&str>) -> Verifier {
        let source = KeySource { secret: Some(secret.clone()), ..KeySource::default() };
        Verifier::new(source, issuer.map(str::to_owned)).await.unwrap()
    }

    fn secret(byte: u8) -> Secret {
        Secret::new(vec![byte; 32]).unwrap()
    }

    #[tokio::test]
    async fn a_token_is_valid_until_it_expires() {
        let (secret, claims) = (secret(1), Claims::new(7, NOW, 60));
        let (verifier, token) = (verifier(&secret, None).await, issue(&secret, &claims).unwrap());
        // Twice: by its signature, then from the cache.
        for _ in 0..2 {
            assert_eq!(*verifier.verify(&token, NOW).unwrap(), claims);
        }
        assert_eq!(verifier.verify(&token, NOW + 60), Err(TokenError::Expired));
    }

    #[tokio::test]
    async fn invalid_tokens_are_refused() {
        let secret_here = secret(1);
        let verifier = verifier(&secret_here, Some("us")).await;
        let good = Claims { iss: Some("us".into()), ..Claims::new(7, NOW, 60) };
        let token = |claims: &Claims| issue(&secret_here, claims).unwrap();
        assert!(verifier.verify(&token(&good), NOW).is_ok());
        let forged = issue(&secret(2), &good).unwrap();
        let wrong = [
            forged,
            token(&Claims { company_id: 0, ..good.clone() }),
            token(&Claims { company_id: -7, ..good.clone() }),
            token(&Claims { aud: Audience::One("another".into()), ..good.clone() }),
            token(&Claims { aud: Audience::Many(vec![]), ..good.clone() }),
            token(&Claims { iss: None, ..good.clone() }),
            token(&Claims { nbf: Some(NOW + 3600), ..good.clone() }),
            token(&Claims { iat: Some(NOW + 3600), ..good.clone() }),
            "a.b.c".to_owned(),
            String::new(),
            // `alg: none`
            "eyJhbGciOiJub25lIn0.eyJjb21wYW55X2lkIjo3fQ.".to_owned(),
        ];
        for (number, token) in wrong.iter().enumerate() {
            assert_eq!(verifier.verify(token, NOW), Err(TokenError::Invalid), "{number}");
        }
    }

    #[tokio::test]
    async fn required_claims_are_required() {
        let secret = secret(1);
        let verifier = verifier(&secret, None).await;
        for claims in [
            serde_json::json!({"company_id": 7, "aud": "affiliate-compliance"}),
            serde_json::json!({"company_id": 7, "exp": NOW + 60}),
            serde_json::json!({"exp": NOW + 60, "aud": "affiliate-compliance"}),
            serde_json::json!({"company_id": "7", "exp": NOW + 60, "aud": "affiliate-compliance"}),
            serde_json::json!({"company_id": 7.5, "exp": NOW + 60, "aud": "affiliate-compliance"}),
        ] {
            let token =
                jsonwebtoken::encode(&jsonwebtoken::Header::default(), &claims, &secret.encoding_key()).unwrap();
            assert_eq!(verifier.verify(&token, NOW), Err(TokenError::Invalid), "{claims}");
        }
    }
}
