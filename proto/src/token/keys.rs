//! Token verification keys: a shared secret, or a JSON Web Key Set from a file or a URL.

use std::{fmt, path::PathBuf, pin::Pin};

use jsonwebtoken::{
    Algorithm, DecodingKey, DecodingKeyKind,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations, PublicKeyUse},
};
use serde::Deserialize;

use super::header::ED25519;
use crate::secrets::PrivateUrl;

/// Maximum number of keys. For a token without a key ID, the verifier tries every key for the algorithm.
const MAX_KEYS: usize = 100;
/// Minimum length of an HS256 secret (RFC 7518, 3.2).
const MIN_SECRET_BYTES: usize = 32;
/// Minimum length of an RSA key, in bits (RFC 7518, 3.3).
const MIN_RSA_BITS: usize = 2048;
/// Maximum length of an RSA key, in bits.
const MAX_RSA_BITS: usize = 8192;

/// A shared secret for HS256, at least 32 bytes long.
///
/// RFC 7518, 3.2 requires this length. `Debug` omits the secret.
#[derive(Clone)]
pub struct Secret(pub(super) Vec<u8>);

/// The secret is too short.
#[derive(Debug, thiserror::Error)]
#[error("the JWT secret is {0} bytes long; HS256 requires at least {MIN_SECRET_BYTES} (RFC 7518, 3.2)")]
pub struct SecretError(usize);

impl Secret {
    /// Creates a secret from its bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, SecretError> {
        let bytes = bytes.into();
        if bytes.len() < MIN_SECRET_BYTES { Err(SecretError(bytes.len())) } else { Ok(Self(bytes)) }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Sources of token verification keys.
#[derive(Clone, Debug, Default)]
pub struct KeySource {
    /// A shared secret (HS256).
    pub secret: Option<Secret>,
    /// A second shared secret, for secret rotation.
    pub second_secret: Option<Secret>,
    /// A file with a JSON Web Key Set (RS256, ES256, EdDSA).
    pub jwks_file: Option<PathBuf>,
    /// URL of a JSON Web Key Set, and how to fetch it.
    pub jwks_url: Option<(PrivateUrl, Fetch)>,
    /// A PEM file with certificate authorities for the URL. Defaults to the system's authorities.
    pub jwks_ca: Option<PathBuf>,
}

/// Fetches the contents of a URL, or returns the reason for the failure.
///
/// The path is an optional file of certificate authorities.
pub type Fetch = fn(PrivateUrl, Option<PathBuf>) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, String>> + Send>>;

/// Why the keys could not be loaded.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum KeyError {
    #[error("no key to verify tokens: set COMPLIANCE_JWT_SECRET, COMPLIANCE_JWKS_FILE or COMPLIANCE_JWKS_URL")]
    None,
    #[error("cannot read the key set {path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
    #[error("cannot fetch the key set {url}: {reason}")]
    Fetch { url: String, reason: String },
    #[error("{origin} is not a JSON Web Key Set: {source}")]
    Json { origin: String, source: serde_json::Error },
    #[error("{origin} contains no usable key: add a strong RS256, ES256 or EdDSA key that can verify signatures")]
    Empty { origin: String },
    #[error("{origin} contains {count} keys; at most {MAX_KEYS} are allowed")]
    TooMany { origin: String, count: usize },
}

/// A key with its algorithm. Tokens cannot choose a different algorithm.
pub(super) struct Key {
    pub(super) id: Option<String>,
    pub(super) algorithm: Algorithm,
    pub(super) decoding: DecodingKey,
}

impl KeySource {
    /// Loads all keys. Each call fetches the set at the URL.
    pub(super) async fn load(&self) -> Result<Vec<Key>, KeyError> {
        let mut keys = Vec::new();
        for secret in self.secret.iter().chain(&self.second_secret) {
            keys.push(Key { id: None, algorithm: Algorithm::HS256, decoding: DecodingKey::from_secret(&secret.0) });
        }
        if let Some(path) = &self.jwks_file {
            let text = std::fs::read(path).map_err(|source| KeyError::File { path: path.clone(), source })?;
            keys.extend(parse(&text, path.display().to_string())?);
        }
        if let Some((url, fetch)) = &self.jwks_url {
            let fetched = fetch(url.clone(), self.jwks_ca.clone()).await;
            let text = fetched.map_err(|reason| KeyError::Fetch { url: url.to_string(), reason })?;
            keys.extend(parse(&text, url.to_string())?);
        }
        if keys.is_empty() { Err(KeyError::None) } else { Ok(keys) }
    }
}

/// Parses the usable keys of a key set from `origin`.
///
/// Skips weak keys, and keys for other uses or algorithms. A set without usable keys is an error: it would silently lock out all callers.
fn parse(text: &[u8], origin: String) -> Result<Vec<Key>, KeyError> {
    match serde_json::from_slice::<KeySet>(text) {
        Err(source) => Err(KeyError::Json { origin, source }),
        Ok(KeySet { keys }) => {
            let keys: Vec<Key> =
                keys.into_iter().filter_map(|key| usable(&serde_json::from_value(known_name(key)).ok()?)).collect();
            match keys.len() {
                0 => Err(KeyError::Empty { origin }),
                1..=MAX_KEYS => Ok(keys),
                count => Err(KeyError::TooMany { origin, count }),
            }
        }
    }
}

#[derive(Deserialize)]
struct KeySet {
    /// Unreadable keys are skipped (RFC 7517, 5).
    keys: Vec<serde_json::Value>,
}

/// Replaces the new name of `EdDSA`, which [`Jwk`] does not know.
fn known_name(mut key: serde_json::Value) -> serde_json::Value {
    if let Some(alg) = key.get_mut("alg").filter(|alg| *alg == ED25519) {
        *alg = "EdDSA".into();
    }
    key
}

fn usable(jwk: &Jwk) -> Option<Key> {
    if !may_verify(jwk) {
        return None;
    }
    let (algorithm, named) = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => (Algorithm::RS256, KeyAlgorithm::RS256),
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => {
            (Algorithm::ES256, KeyAlgorithm::ES256)
        }
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
            (Algorithm::EdDSA, KeyAlgorithm::EdDSA)
        }
        _ => return None,
    };
    if jwk.common.key_algorithm.is_some_and(|algorithm| algorithm != named) {
        return None;
    }
    let decoding = DecodingKey::from_jwk(jwk).ok()?;
    is_strong(algorithm, decoding.kind()).then(|| Key { id: jwk.common.key_id.clone(), algorithm, decoding })
}

/// Returns whether the key is meant to verify signatures (RFC 7517, 4.2 and 4.3).
fn may_verify(jwk: &Jwk) -> bool {
    let is_for_signatures = jwk.common.public_key_use.as_ref().is_none_or(|usage| *usage == PublicKeyUse::Signature);
    let operations = jwk.common.key_operations.as_ref();
    is_for_signatures && operations.is_none_or(|operations| operations.contains(&KeyOperations::Verify))
}

/// Returns whether the key is strong enough for its algorithm (RFC 8725, 3.5).
fn is_strong(algorithm: Algorithm, key: &DecodingKeyKind) -> bool {
    match key {
        DecodingKeyKind::RsaModulusExponent { n, e } => {
            let modulus = n.iter().position(|byte| *byte != 0).map_or(&[][..], |start| &n[start..]);
            let bits = modulus.first().map_or(0, |first| modulus.len() * 8 - first.leading_zeros() as usize);
            let exponent = e.iter().position(|byte| *byte != 0).map_or(&[][..], |start| &e[start..]);
            // With the exponent 1, anyone can sign.
            let is_odd = exponent.last().is_some_and(|last| last % 2 == 1);
            (MIN_RSA_BITS..=MAX_RSA_BITS).contains(&bits) && is_odd && exponent != [1]
        }
        // An uncompressed point of P-256: 4, x and y.
        DecodingKeyKind::SecretOrDer(point) if algorithm == Algorithm::ES256 => point.len() == 65,
        DecodingKeyKind::SecretOrDer(point) => point.len() == 32,
    }
}
