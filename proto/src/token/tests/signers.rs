//! Creates tokens with any header and claims, signed with any key.

use aws_lc_rs::{
    hmac,
    rand::SystemRandom,
    rsa::KeySize,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
    },
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::token::{KeySource, Secret, Verifier};

/// Time of all verifications, in seconds since 1970.
pub(super) const NOW: i64 = 1_800_000_000;
/// Valid claims for company 7.
pub(super) const CLAIMS: &str = r#"{"company_id":7,"exp":1800000060,"aud":"affiliate-compliance"}"#;
/// The header of an ordinary token signed with the shared secret.
pub(super) const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;
/// The shared secret.
pub(super) const SECRET: [u8; 32] = [1; 32];

pub(super) fn base64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A signing key with its public key.
pub(super) enum Signer {
    Rsa(RsaKeyPair),
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Secret(Vec<u8>),
}

impl Signer {
    pub(super) fn rsa() -> Self {
        Self::Rsa(RsaKeyPair::generate(KeySize::Rsa2048).unwrap())
    }

    pub(super) fn p256() -> Self {
        Self::P256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap())
    }

    pub(super) fn ed25519() -> Self {
        Self::Ed25519(Ed25519KeyPair::generate().unwrap())
    }

    pub(super) fn secret() -> Self {
        Self::Secret(SECRET.to_vec())
    }

    /// Returns the algorithm's name in tokens and keys.
    pub(super) fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa(_) => "RS256",
            Self::P256(_) => "ES256",
            Self::Ed25519(_) => "EdDSA",
            Self::Secret(_) => "HS256",
        }
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                signature
            }
            Self::P256(key) => key.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::Ed25519(key) => key.sign(message).as_ref().to_vec(),
            Self::Secret(secret) => hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message).as_ref().to_vec(),
        }
    }

    /// Returns a token with this header and these claims, unchanged.
    pub(super) fn token(&self, header: &str, claims: &str) -> String {
        let message = format!("{}.{}", base64(header), base64(claims));
        let signature = base64(self.sign(message.as_bytes()));
        format!("{message}.{signature}")
    }

    /// Returns a valid token for company 7, with this key ID, if any.
    pub(super) fn good_token(&self, kid: Option<&str>) -> String {
        let mut header = json!({"alg": self.algorithm(), "typ": "JWT"});
        if let Some(kid) = kid {
            header["kid"] = json!(kid);
        }
        self.token(&header.to_string(), CLAIMS)
    }

    /// Returns the public key as a JSON Web Key with these additional members.
    pub(super) fn jwk(&self, members: Value) -> Value {
        let mut jwk = match self {
            Self::Rsa(key) => {
                let public = key.public_key();
                let n = base64(public.modulus().big_endian_without_leading_zero());
                json!({"kty": "RSA", "n": n, "e": base64(public.exponent().big_endian_without_leading_zero())})
            }
            Self::P256(key) => {
                let point = key.public_key().as_ref();
                json!({"kty": "EC", "crv": "P-256", "x": base64(&point[1..33]), "y": base64(&point[33..])})
            }
            Self::Ed25519(key) => json!({"kty": "OKP", "crv": "Ed25519", "x": base64(key.public_key())}),
            Self::Secret(secret) => json!({"kty": "oct", "k": base64(secret)}),
        };
        for (name, value) in members.as_object().unwrap() {
            jwk[name] = value.clone();
        }
        jwk
    }
}

/// A key set in a temporary file.
pub(super) struct KeyFile(std::path::PathBuf);

impl KeyFile {
    pub(super) fn new(keys: &Value) -> Self {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("compliance-keys-{}-{}.json", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let file = Self(std::env::temp_dir().join(name));
        file.write(keys);
        file
    }

    /// Replaces the key set.
    pub(super) fn write(&self, keys: &Value) {
        std::fs::write(&self.0, json!({ "keys": keys }).to_string()).unwrap();
    }

    pub(super) fn source(&self) -> KeySource {
        KeySource { jwks_file: Some(self.0.clone()), ..KeySource::default() }
    }
}

impl Drop for KeyFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Returns a verifier with the shared secret.
pub(super) async fn verifier_of_secret(issuer: Option<&str>) -> Verifier {
    let source = KeySource { secret: Some(Secret::new(SECRET).unwrap()), ..KeySource::default() };
    Verifier::new(source, issuer.map(str::to_owned)).await.unwrap()
}
