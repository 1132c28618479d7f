//! Verifies tokens, and caches a limited number of valid ones.

use std::{
    ops::Deref,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, crypto};
use quick_cache::sync::Cache;
use sha2::{Digest as _, Sha256};

use super::{
    claims::Claims,
    error::{Rejection, TokenError},
    header::Header,
    keys::{Key, KeyError, KeySource},
    reloads::Reloads,
    rules::ClaimRules,
    unique::UniqueObject,
};

/// Maximum number of cached tokens. Each uses about 300 bytes.
const MAX_CACHED: usize = 10_000;
/// Maximum length of a token, in bytes.
const MAX_BYTES: usize = 8192;

/// Maximum length of a subject in logs, in bytes.
const MAX_SHOWN_SUBJECT: usize = 128;
/// Maximum length of an explanation in logs, in characters.
const MAX_LOGGED: usize = 300;
/// Maximum number of explained tokens per second, because anyone can send any number of tokens.
const MAX_EXPLAINED: u32 = 5;

/// The claims of a token that a [`Verifier`] has accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedToken(Arc<Claims>);

impl VerifiedToken {
    /// Returns the subject, truncated for logs.
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

/// Verifies tokens.
///
/// Caches valid tokens by digest, so each signature is verified once per token, not once per request.
pub struct Verifier {
    source: KeySource,
    rules: ClaimRules,
    keys: RwLock<Arc<KeySet>>,
    reloads: Reloads,
    /// The current second, and the number of tokens explained in it.
    explained: Mutex<(i64, u32)>,
}

/// Keys that were loaded together, with a cache of the tokens that they verified.
///
/// Each key set has its own cache, because a verification can begin before a refresh and end after it.
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
    /// Loads the keys. If `issuer` is set, tokens must name it.
    pub async fn new(source: KeySource, issuer: Option<String>) -> Result<Self, KeyError> {
        Self::with_rules(source, ClaimRules { issuer, ..ClaimRules::default() }).await
    }

    /// Loads the keys. Token claims must follow these rules.
    pub async fn with_rules(source: KeySource, rules: ClaimRules) -> Result<Self, KeyError> {
        let keys = RwLock::new(KeySet::load(&source).await?);
        Ok(Self { source, rules, keys, reloads: Reloads::new(), explained: Mutex::default() })
    }

    /// Returns the name of the company claim.
    pub fn company_claim(&self) -> &str {
        &self.rules.company
    }

    /// Returns the name of the person claim.
    pub fn person_claim(&self) -> &str {
        &self.rules.person
    }

    /// Returns whether the keys can change while the service runs.
    pub fn can_refresh(&self) -> bool {
        self.source.jwks_url.is_some() || self.source.jwks_file.is_some()
    }

    /// Reloads the keys and clears the cache. On failure, keeps the previous keys.
    pub async fn refresh(&self) -> Result<(), KeyError> {
        let loaded = KeySet::load(&self.source).await?;
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = loaded;
        Ok(())
    }

    /// Waits until a token with an unknown key requests a reload.
    ///
    /// The caller then calls [`Self::refresh`] and [`Self::answered`].
    pub async fn asked(&self) {
        self.reloads.requested().await;
    }

    /// Wakes the tokens that wait for a reload, whether it succeeded or failed.
    pub fn answered(&self) {
        self.reloads.finished();
    }

    /// Waits for a reload if the token in an `Authorization` header has an unknown key.
    ///
    /// Returns whether a reload finished. Tokens request a reload at most every 10 s, and wait for up to 5 s.
    pub async fn learn_key(&self, header: Option<&[u8]>) -> bool {
        self.has_unknown_key(header) && self.reloads.request().await
    }

    /// Returns whether the token's key could be newer than the last load.
    pub fn has_unknown_key(&self, header: Option<&[u8]>) -> bool {
        let Ok(token) = presented(header) else { return false };
        if !self.can_refresh() || token.len() > MAX_BYTES || self.current_keys().valid.get(&digest(token)).is_some() {
            return false;
        }
        let Ok(header) = Header::of(token) else { return false };
        if header.alg == Algorithm::HS256 {
            return false;
        }
        let keys = self.current_keys();
        let mut candidates = candidates(&header, &keys.keys);
        let is_named = header.kid.is_some() && candidates.any(|key| key.id.is_some());
        !is_named && signed(token, &keys.keys).is_err()
    }

    /// Verifies an `Authorization` header, and returns the token's claims.
    ///
    /// `now` is in seconds since 1970.
    pub fn authorize(&self, header: Option<&[u8]>, now: i64) -> Result<VerifiedToken, TokenError> {
        self.verify(presented(header)?, now)
    }

    /// Returns the claims of a cached token in an `Authorization` header.
    ///
    /// Returns `None` if the token is not cached.
    pub fn authorize_cached(&self, header: Option<&[u8]>, now: i64) -> Option<Result<VerifiedToken, TokenError>> {
        let cached = |token| self.cached(token, now).map_err(|rejection| rejection.error);
        presented(header).and_then(cached).transpose()
    }

    /// Returns the claims of a token at `now` (seconds since 1970).
    pub fn verify(&self, token: &str, now: i64) -> Result<VerifiedToken, TokenError> {
        self.check(token, now).map_err(|rejection| rejection.error)
    }

    /// Explains to operators why [`Verifier::verify`] rejects a token at `now`.
    ///
    /// Returns `None` if the token is valid.
    pub fn explain(&self, token: &str, now: i64) -> Option<String> {
        self.check(token, now).err().map(|rejection| rejection.explanation)
    }

    /// Explains, for logs, why the token in an `Authorization` header is rejected.
    ///
    /// Returns `None` if the token is absent, the token is valid, or the limit for this second is reached.
    pub fn explain_some(&self, header: Option<&[u8]>, now: i64) -> Option<String> {
        let token = presented(header).ok()?;
        let mut explained = self.explained.lock().unwrap_or_else(PoisonError::into_inner);
        if explained.0 != now {
            *explained = (now, 0);
        }
        explained.1 = explained.1.saturating_add(1);
        let is_logged = explained.1 <= MAX_EXPLAINED;
        drop(explained);
        let explanation = is_logged.then(|| self.explain(token, now))??;
        // Parts of the explanation can come from an untrusted token.
        let safe = |char: char| if char.is_control() { ' ' } else { char };
        Some(explanation.chars().take(MAX_LOGGED).map(safe).collect())
    }

    fn check(&self, token: &str, now: i64) -> Result<VerifiedToken, Rejection> {
        match self.cached(token, now)? {
            Some(valid) => Ok(valid),
            None => self.verify_and_cache(&self.current_keys(), token, now),
        }
    }

    /// Returns the claims of a cached token.
    fn cached(&self, token: &str, now: i64) -> Result<Option<VerifiedToken>, Rejection> {
        if token.len() > MAX_BYTES {
            return Err(Rejection::invalid(format!("the token exceeds {MAX_BYTES} bytes")));
        }
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        match keys.valid.get(&digest(token)) {
            Some(token) if token.exp > now => Ok(Some(token)),
            Some(token) => Err(Rejection::expired(now - token.exp)),
            None => Ok(None),
        }
    }

    pub(super) fn current_keys(&self) -> Arc<KeySet> {
        Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Verifies a token with these keys, and adds it to their cache.
    pub(super) fn verify_and_cache(&self, keys: &KeySet, token: &str, now: i64) -> Result<VerifiedToken, Rejection> {
        let claims = self.rules.read(&signed(token, &keys.keys)?.0, now)?;
        let valid = VerifiedToken(Arc::new(claims));
        keys.valid.insert(digest(token), valid.clone());
        Ok(valid)
    }
}

/// Returns the token in an `Authorization` header.
fn presented(header: Option<&[u8]>) -> Result<&str, TokenError> {
    let value = header.ok_or(TokenError::Missing)?;
    let value = std::str::from_utf8(value).map_err(|_| TokenError::Invalid)?;
    if value.trim().is_empty() {
        return Err(TokenError::Missing);
    }
    bearer(value)
}

/// Returns the claims of a token signed by one of the keys.
fn signed(token: &str, keys: &[Key]) -> Result<UniqueObject, Rejection> {
    let header = Header::of(token)?;
    if !keys.iter().any(|key| key.algorithm == header.alg) {
        return Err(Rejection::invalid(format!("alg: no key for {:?}", header.alg)));
    }
    let candidates: Vec<&Key> = candidates(&header, keys).collect();
    if candidates.is_empty() {
        let known: Vec<&str> = keys.iter().filter_map(|key| key.id.as_deref()).collect();
        let kid = header.kid.unwrap_or_default();
        let explanation =
            format!("kid: no key for {:?} has the ID {kid:?}; known IDs: {}", header.alg, known.join(", "));
        return Err(Rejection::invalid(explanation));
    }
    signed_by(token, &candidates).ok_or_else(|| {
        Rejection::invalid(format!(
            "signature: matches none of the {} possible keys, or the claims are invalid JSON or repeat a name",
            candidates.len()
        ))
    })
}

/// Returns the claims if one of these keys signed the token and the claims are readable.
fn signed_by(token: &str, keys: &[&Key]) -> Option<UniqueObject> {
    let (message, signature) = token.rsplit_once('.')?;
    let (_, claims) = message.split_once('.')?;
    let has_signed = |key: &&Key| crypto::verify(signature, message.as_bytes(), &key.decoding, key.algorithm);
    // After an error, try the remaining keys.
    keys.iter().find(|key| matches!(has_signed(key), Ok(true)))?;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()
}

/// Returns the keys that could have signed a token.
///
/// A key without an ID matches every token. A key with an ID matches tokens with the same ID and tokens without an ID.
fn candidates<'k>(header: &Header, keys: &'k [Key]) -> impl Iterator<Item = &'k Key> {
    let of_algorithm = keys.iter().filter(|key| key.algorithm == header.alg);
    of_algorithm.filter(|key| key.id.is_none() || header.kid.is_none() || key.id == header.kid)
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

/// Returns the token in a header value with the scheme `Bearer`, ignoring case.
fn bearer(value: &str) -> Result<&str, TokenError> {
    let (scheme, token) = value.trim().split_once(' ').unwrap_or((value.trim(), ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(TokenError::NotBearer);
    }
    let token = token.trim_start();
    if token.is_empty() || token.contains(' ') { Err(TokenError::Invalid) } else { Ok(token) }
}

#[cfg(test)]
mod tests {
    use super::{TokenError, bearer};

    #[test]
    fn only_bearer_credentials_are_accepted() {
        assert_eq!(bearer("Bearer a.b.c"), Ok("a.b.c"));
        assert_eq!(bearer("bearer  a.b.c "), Ok("a.b.c"));
        for wrong in ["Bearer", "Bearer ", "Bearer a b"] {
            assert_eq!(bearer(wrong), Err(TokenError::Invalid), "{wrong}");
        }
        for other in ["a.b.c", "Basic a.b.c", "Token a.b.c", "Bearer:a.b.c"] {
            assert_eq!(bearer(other), Err(TokenError::NotBearer), "{other}");
        }
    }
}
