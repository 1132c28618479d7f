//! The keys that tokens are verified with: a shared secret, or a JSON Web Key Set from a file or a URL.

use std::{fmt, path::PathBuf, time::Duration};

use jsonwebtoken::{
    Algorithm, DecodingKey, EncodingKey,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet, KeyAlgorithm, PublicKeyUse},
};

/// A key set is small. A longer response is refused.
const MAX_JWKS_BYTES: usize = 1 << 20;
/// How long the download of a key set may take.
const JWKS_TIMEOUT: Duration = Duration::from_secs(10);

/// A shared secret for HS256, of at least 32 bytes (RFC 7518, 3.2). It does not show itself in debug output.
#[derive(Clone)]
pub struct Secret(Vec<u8>);

/// The secret is too short to be one.
#[derive(Debug, thiserror::Error)]
#[error("the JWT secret has {0} bytes; HS256 needs at least 32 (RFC 7518, 3.2)")]
pub struct SecretError(usize);

impl Secret {
    /// Takes a secret's bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, SecretError> {
        let bytes = bytes.into();
        if bytes.len() < 32 { Err(SecretError(bytes.len())) } else { Ok(Self(bytes)) }
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
    pub jwks_url: Option<String>,
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
    #[error("{origin} holds no key for RS256, ES256 or EdDSA")]
    Empty { origin: String },
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
            let text = fetch(url).await.map_err(|reason| KeyError::Fetch { url: url.clone(), reason })?;
            keys.extend(parse(&text, url.clone())?);
        }
        if keys.is_empty() { Err(KeyError::None) } else { Ok(keys) }
    }
}

async fn fetch(url: &str) -> Result<Vec<u8>, String> {
    let client = reqwest::Client::builder().timeout(JWKS_TIMEOUT).build().map_err(|error| error.to_string())?;
    let answer = client.get(url).send().await.and_then(reqwest::Response::error_for_status);
    let mut answer = answer.map_err(|error| error.without_url().to_string())?;
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| error.without_url().to_string())? {
        if body.len() + chunk.len() > MAX_JWKS_BYTES {
            return Err(format!("the answer is longer than {MAX_JWKS_BYTES} bytes"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn parse(text: &[u8], origin: String) -> Result<Vec<Key>, KeyError> {
    let set: JwkSet = match serde_json::from_slice(text) {
        Ok(set) => set,
        Err(source) => return Err(KeyError::Json { origin, source }),
    };
    // A set may hold keys for other purposes, which are skipped.
    let keys: Vec<Key> = set.keys.iter().filter_map(usable).collect();
    if keys.is_empty() { Err(KeyError::Empty { origin }) } else { Ok(keys) }
}

fn usable(jwk: &Jwk) -> Option<Key> {
    if jwk.common.public_key_use.as_ref().is_some_and(|usage| *usage != PublicKeyUse::Signature) {
        return None;
    }
    let (algorithm, named) = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => (Algorithm::RS256, KeyAlgorithm::RS256),
        AlgorithmParameters::EllipticCurve(curve) if curve.curve == EllipticCurve::P256 => {
            (Algorithm::ES256, KeyAlgorithm::ES256)
        }
        AlgorithmParameters::OctetKeyPair(_) => (Algorithm::EdDSA, KeyAlgorithm::EdDSA),
        _ => return None,
    };
    if jwk.common.key_algorithm.is_some_and(|algorithm| algorithm != named) {
        return None;
    }
    Some(Key { id: jwk.common.key_id.clone(), algorithm, decoding: DecodingKey::from_jwk(jwk).ok()? })
}
