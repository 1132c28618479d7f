//! Verification of tokens, with a bounded cache of valid ones.

use std::{
    ops::Deref,
    sync::{Arc, PoisonError, RwLock},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, crypto};
use quick_cache::sync::Cache;
use sha2::{Digest as _, Sha256};

use super::{
    claims::Claims,
    demand::Demand,
    error::TokenError,
    few::Few,
    header::Header,
    keys::{Key, KeyError, KeySource},
    rules::ClaimRules,
    unique::UniqueObject,
};

/// Valid tokens in the cache; one takes some 300 bytes.
const MAX_CACHED: usize = 10_000;
/// A longer token is invalid, without a look at its content.
const MAX_BYTES: usize = 8192;

/// Bytes of a subject in a log.
const MAX_SHOWN_SUBJECT: usize = 128;

/// The claims of a token that a [`Verifier`] has accepted; nothing else makes one. Clones share them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedToken(Arc<Claims>);

impl VerifiedToken {
    /// The subject, for logs: the first characters of a long one.
    pub fn shown_subject(&self) -> Option<&str> {
        let subject = self.sub.as_deref()?;
        Some(&subject[..subject.floor_char_boundary(MAX_SHOWN_SUBJECT)])
    }
}

impl Deref for VerifiedToken {
    type Target = Claims;

    fn deref(&self) -> &Claims {
        &self.0
    }
}

/// Verifies tokens. A valid one is cached by its digest, so that a signature is verified once a token, not once a request.
pub struct Verifier {
    source: KeySource,
    pub(super) rules: ClaimRules,
    keys: RwLock<Arc<KeySet>>,
    demand: Demand,
    /// Which refused tokens are explained in a log.
    pub(super) explained: Few,
}

/// Keys that were loaded together, and valid tokens. These do not count for other keys: a verification that began before a
/// refresh may end after it.
pub(super) struct KeySet {
    pub(super) keys: Vec<Key>,
    valid: Cache<[u8; 32], VerifiedToken>,
}

impl KeySet {
    async fn load(source: &KeySource) -> Result<Arc<Self>, KeyError> {
        Ok(Arc::new(Self { keys: source.load().await?, valid: Cache::new(MAX_CACHED) }))
    }
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Verifier").field("source", &self.source).field("rules", &self.rules).finish_non_exhaustive()
    }
}

impl Verifier {
    /// Loads the keys. With an `issuer`, tokens must name it.
    pub async fn new(source: KeySource, issuer: Option<String>) -> Result<Self, KeyError> {
        Self::with_rules(source, ClaimRules { issuer, ..ClaimRules::default() }).await
    }

    /// Loads the keys of tokens whose claims follow these rules.
    pub async fn with_rules(source: KeySource, rules: ClaimRules) -> Result<Self, KeyError> {
        let keys = RwLock::new(KeySet::load(&source).await?);
        Ok(Self { source, rules, keys, demand: Demand::new(), explained: Few::default() })
    }

    /// The claim with the company, as it is configured.
    pub fn company_claim(&self) -> &str {
        &self.rules.company
    }

    /// Whether the keys may change while the service runs.
    pub fn can_refresh(&self) -> bool {
        self.source.jwks_url.is_some() || self.source.jwks_file.is_some()
    }

    /// Loads the keys again, with which all tokens are verified anew. On failure the previous keys stay.
    pub async fn refresh(&self) -> Result<(), KeyError> {
        let loaded = KeySet::load(&self.source).await?;
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = loaded;
        Ok(())
    }

    /// Returns when a token of an unknown key asks for the key sets: load them with [`Self::refresh`], and call [`Self::answered`].
    pub async fn asked(&self) {
        self.demand.wanted().await;
    }

    /// Ends the wait of tokens that asked for the key sets, whether they could be loaded or not.
    pub fn answered(&self) {
        self.demand.met();
    }

    /// Waits until the key sets are loaded again, if the token in an `Authorization` header's value is of an unknown key. Returns
    /// whether it may be known now. Tokens ask for the key sets at most every 10 s, and wait for 5 s.
    pub async fn learn_key(&self, header: Option<&[u8]>) -> bool {
        self.has_unknown_key(header) && self.demand.load().await
    }

    /// Whether the token may be of a key that the issuer uses only since the key sets were loaded.
    pub fn has_unknown_key(&self, header: Option<&[u8]>) -> bool {
        let Ok(token) = presented(header) else { return false };
        if !self.can_refresh() || token.len() > MAX_BYTES || self.current_keys().valid.get(&digest(token)).is_some() {
            return false;
        }
        let Some(header) = Header::of(token).filter(|header| header.alg != Algorithm::HS256) else { return false };
        let keys = self.current_keys();
        let mut candidates = candidates(&header, &keys.keys);
        let is_named = header.kid.is_some() && candidates.any(|key| key.id.is_some());
        !is_named && signed(token, &keys.keys).is_none()
    }

    /// The claims of the token in an `Authorization` header's value at `now` (seconds since 1970).
    pub fn authorize(&self, header: Option<&[u8]>, now: i64) -> Result<VerifiedToken, TokenError> {
        self.verify(presented(header)?, now)
    }

    /// The same without verifying a signature. `None` if that is needed.
    pub fn authorize_cached(&self, header: Option<&[u8]>, now: i64) -> Option<Result<VerifiedToken, TokenError>> {
        presented(header).and_then(|token| self.cached(token, now)).transpose()
    }

    /// The claims of a token at `now` (seconds since 1970).
    pub fn verify(&self, token: &str, now: i64) -> Result<VerifiedToken, TokenError> {
        match self.cached(token, now)? {
            Some(valid) => Ok(valid),
            None => self.verify_and_cache(&self.current_keys(), token, now),
        }
    }

    /// The claims of a token that was verified before.
    fn cached(&self, token: &str, now: i64) -> Result<Option<VerifiedToken>, TokenError> {
        if token.len() > MAX_BYTES {
            return Err(TokenError::Invalid);
        }
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        match keys.valid.get(&digest(token)) {
            Some(token) if token.exp > now => Ok(Some(token)),
            Some(_) => Err(TokenError::Expired),
            None => Ok(None),
        }
    }

    pub(super) fn current_keys(&self) -> Arc<KeySet> {
        Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Verifies a token with these keys, and caches it as verified with them.
    pub(super) fn verify_and_cache(&self, keys: &KeySet, token: &str, now: i64) -> Result<VerifiedToken, TokenError> {
        let claims = signed(token, &keys.keys).ok_or(TokenError::Invalid)?;
        let claims = self.rules.read(&claims.0, now).map_err(|refused| refused.error)?;
        let valid = VerifiedToken(Arc::new(claims));
        keys.valid.insert(digest(token), valid.clone());
        Ok(valid)
    }
}

/// The token in an `Authorization` header's value.
pub(super) fn presented(header: Option<&[u8]>) -> Result<&str, TokenError> {
    let value = header.ok_or(TokenError::Missing)?;
    let value = std::str::from_utf8(value).map_err(|_| TokenError::Invalid)?;
    if value.trim().is_empty() {
        return Err(TokenError::Missing);
    }
    bearer(value).ok_or(TokenError::Invalid)
}

/// The claims of a token that one of the keys has signed. `None` if none has, or if the claims cannot be read.
pub(super) fn signed(token: &str, keys: &[Key]) -> Option<UniqueObject> {
    let header = Header::of(token)?;
    let (message, signature) = token.rsplit_once('.')?;
    let has_signed = |key: &Key| crypto::verify(signature, message.as_bytes(), &key.decoding, key.algorithm);
    // If one key did not sign the token, another may have.
    candidates(&header, keys).find(|key| matches!(has_signed(key), Ok(true)))?;
    let (_, claims) = message.split_once('.')?;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()
}

/// The keys that may have signed a token. A key without an ID may have signed any token. A key with an ID may have signed tokens that
/// name it or none.
pub(super) fn candidates<'k>(header: &Header, keys: &'k [Key]) -> impl Iterator<Item = &'k Key> {
    let of_algorithm = keys.iter().filter(|key| key.algorithm == header.alg);
    of_algorithm.filter(|key| key.id.is_none() || header.kid.is_none() || key.id == header.kid)
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

/// The token of an `Authorization` header's value; `None` unless the scheme is Bearer, in any case.
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.trim().split_once(' ')?;
    let token = token.trim_start();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && !token.contains(' ')).then_some(token)
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_bearer_credentials_hold_a_token() {
        assert_eq!(super::bearer("Bearer a.b.c"), Some("a.b.c"));
        assert_eq!(super::bearer("bearer  a.b.c "), Some("a.b.c"));
        for wrong in ["", "Bearer", "Bearer ", "Basic a.b.c", "a.b.c", "Bearer a b"] {
            assert_eq!(super::bearer(wrong), None, "{wrong}");
        }
    }
}
