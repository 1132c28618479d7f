//! Verification of tokens, with a bounded memory of those that were good.

use std::{
    collections::HashSet,
    sync::{Arc, PoisonError, RwLock},
};

use jsonwebtoken::{Validation, decode, decode_header, errors::ErrorKind};
use quick_cache::sync::Cache;
use sha2::{Digest as _, Sha256};

use super::{
    AUDIENCE, Claims,
    keys::{Key, KeyError, KeySource},
};
use crate::error::{Error, Reason};

/// Tokens that are remembered as good; one takes some 300 bytes.
const MOST_REMEMBERED: usize = 10_000;
/// How far the clock of who made a token may be ahead of ours, in seconds.
const SKEW: i64 = 60;
/// No token of ours is longer; a longer one is not worth hashing.
const MOST_BYTES: usize = 8192;

/// Why a token was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// No token was presented.
    #[error("A bearer token is required.")]
    Missing,
    /// The token was not made for this service, or by nobody it trusts, or it is no token.
    #[error("The bearer token is invalid.")]
    Invalid,
    /// The token was good once.
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

/// Verifies tokens. A token that was good is remembered by its digest until it expires, so that a signature is
/// computed once a token rather than once a request.
pub struct Verifier {
    source: KeySource,
    issuer: Option<String>,
    keys: RwLock<Arc<Vec<Key>>>,
    good: Cache<[u8; 32], Arc<Claims>>,
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
        let good = Cache::new(MOST_REMEMBERED);
        Ok(Self { source, issuer, keys: RwLock::new(Arc::new(keys)), good })
    }

    /// Whether the keys come from where they may change while the service runs.
    pub fn can_refresh(&self) -> bool {
        self.source.jwks_url.is_some() || self.source.jwks_file.is_some()
    }

    /// Loads the keys anew and forgets what was verified with the old ones. On failure the old ones stay.
    pub async fn refresh(&self) -> Result<(), KeyError> {
        let keys = Arc::new(self.source.load().await?);
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
        self.good.clear();
        Ok(())
    }

    /// The claims of the token in an `Authorization` header's value at `now` (seconds since 1970).
    pub fn authorize(&self, header: Option<&[u8]>, now: i64) -> Result<Arc<Claims>, TokenError> {
        let value = header.ok_or(TokenError::Missing)?;
        let value = std::str::from_utf8(value).map_err(|_| TokenError::Invalid)?;
        if value.trim().is_empty() {
            return Err(TokenError::Missing);
        }
        self.verify(super::bearer(value).ok_or(TokenError::Invalid)?, now)
    }

    /// The claims of a token at `now` (seconds since 1970).
    pub fn verify(&self, token: &str, now: i64) -> Result<Arc<Claims>, TokenError> {
        if token.len() > MOST_BYTES {
            return Err(TokenError::Invalid);
        }
        let digest: [u8; 32] = Sha256::digest(token).into();
        if let Some(claims) = self.good.get(&digest) {
            return if claims.exp > now { Ok(claims) } else { Err(TokenError::Expired) };
        }
        let claims = Arc::new(self.verify_signature(token)?);
        self.check_claims(&claims, now)?;
        self.good.insert(digest, Arc::clone(&claims));
        Ok(claims)
    }

    fn verify_signature(&self, token: &str) -> Result<Claims, TokenError> {
        let kid = decode_header(token).map_err(|_| TokenError::Invalid)?.kid;
        let keys = Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner));
        // A key without an ID may have signed anything; a key with one signed what names it, or what names none.
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
        let in_future = |moment: Option<i64>| moment.is_some_and(|moment| moment > now.saturating_add(SKEW));
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
    async fn a_good_token_is_good_until_it_expires_and_no_longer() {
        let (secret, claims) = (secret(1), Claims::new(7, NOW, 60));
        let (verifier, token) = (verifier(&secret, None).await, issue(&secret, &claims).unwrap());
        // Twice: from the signature, then from memory.
        for _ in 0..2 {
            assert_eq!(*verifier.verify(&token, NOW).unwrap(), claims);
        }
        assert_eq!(verifier.verify(&token, NOW + 60), Err(TokenError::Expired));
    }

    #[tokio::test]
    async fn what_is_not_ours_is_refused() {
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
