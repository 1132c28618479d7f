//! The keys that tokens are verified with: a shared secret, or a JSON Web Key Set from a file or a URL.

use std::{fmt, path::PathBuf, time::Duration};

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey};

use super::key_set;
use crate::PrivateUrl;

/// A key set is small. A longer response is refused.
const MAX_JWKS_BYTES: usize = 1 << 20;
/// A token that names no key is tried with every key of its algorithm, so their number is bounded.
const MAX_KEYS: usize = 100;
/// What HS256 needs (RFC 7518, 3.2).
const MIN_SECRET_BYTES: usize = 32;
/// How long the download of a key set may take.
const JWKS_TIMEOUT: Duration = Duration::from_secs(10);

/// A shared secret for HS256, of at least 32 bytes (RFC 7518, 3.2). It does not show itself in debug output.
#[derive(Clone)]
pub struct Secret(Vec<u8>);

/// The secret is too short to be one.
#[derive(Debug, thiserror::Error)]
#[error("the JWT secret has {0} bytes; HS256 needs at least {MIN_SECRET_BYTES} (RFC 7518, 3.2)")]
pub struct SecretError(usize);

impl Secret {
    /// Takes a secret's bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, SecretError> {
        let bytes = bytes.into();
        if bytes.len() < MIN_SECRET_BYTES { Err(SecretError(bytes.len())) } else { Ok(Self(bytes)) }
    }

    pub(super) fn encoding_key(&self) -> EncodingKey {
        EncodingKey::from_secret(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Where keys come from.
#[derive(Clone, Debug, Default)]
pub struct KeySource {
    /// A shared secret (HS256).
    pub secret: Option<Secret>,
    /// A file that holds a JSON Web Key Set (RS256, ES256, EdDSA).
    pub jwks_file: Option<PathBuf>,
    /// An address that serves a JSON Web Key Set.
    pub jwks_url: Option<PrivateUrl>,
}

/// Why there are no keys to verify tokens with.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum KeyError {
    #[error("no key to verify tokens with: set COMPLIANCE_JWT_SECRET, COMPLIANCE_JWKS_FILE or COMPLIANCE_JWKS_URL")]
    None,
    #[error("cannot read the key set {path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
    #[error("cannot fetch the key set {url}: {reason}")]
    Fetch { url: String, reason: String },
    #[error("{origin} is no JSON Web Key Set: {source}")]
    Json { origin: String, source: serde_json::Error },
    #[error("{origin} holds no key that may verify RS256, ES256 or EdDSA, or only weak ones")]
    Empty { origin: String },
    #[error("{origin} holds {count} keys; at most {MAX_KEYS} are allowed")]
    TooMany { origin: String, count: usize },
}

/// A key with its one algorithm, which a token cannot choose.
pub(super) struct Key {
    pub(super) id: Option<String>,
    pub(super) algorithm: Algorithm,
    pub(super) decoding: DecodingKey,
}

impl KeySource {
    /// Reads every key. The set at a URL is fetched at each call.
    pub(super) async fn load(&self) -> Result<Vec<Key>, KeyError> {
        let mut keys = Vec::new();
        if let Some(secret) = &self.secret {
            keys.push(Key { id: None, algorithm: Algorithm::HS256, decoding: DecodingKey::from_secret(&secret.0) });
        }
        if let Some(path) = &self.jwks_file {
            let text = std::fs::read(path).map_err(|source| KeyError::File { path: path.clone(), source })?;
            keys.extend(parse(&text, path.display().to_string())?);
        }
        if let Some(url) = &self.jwks_url {
            let text = fetch(url).await.map_err(|reason| KeyError::Fetch { url: url.to_string(), reason })?;
            keys.extend(parse(&text, url.to_string())?);
        }
        if keys.is_empty() { Err(KeyError::None) } else { Ok(keys) }
    }
}

async fn fetch(url: &PrivateUrl) -> Result<Vec<u8>, String> {
    let url = url::Url::parse(url.reveal()).map_err(|error| error.to_string())?;
    // A redirect must not lead from TLS to plain text, where anybody on the way could give other keys.
    let client = reqwest::Client::builder().timeout(JWKS_TIMEOUT).https_only(url.scheme() == "https").build();
    let answer =
        client.map_err(|error| error.to_string())?.get(url).send().await.and_then(reqwest::Response::error_for_status);
    let mut answer = answer.map_err(|error| error.without_url().to_string())?;
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| error.without_url().to_string())? {
        if body.len() + chunk.len() > MAX_JWKS_BYTES {
            return Err(format!("the response is longer than {MAX_JWKS_BYTES} bytes"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The keys in a text from `origin`. A set without a usable key is an error, so that it does not lock everybody out
/// unnoticed.
fn parse(text: &[u8], origin: String) -> Result<Vec<Key>, KeyError> {
    match key_set::parse(text) {
        Err(source) => Err(KeyError::Json { origin, source }),
        Ok(keys) if keys.is_empty() => Err(KeyError::Empty { origin }),
        Ok(keys) if keys.len() > MAX_KEYS => Err(KeyError::TooMany { origin, count: keys.len() }),
        Ok(keys) => Ok(keys),
    }
}
