//! The keys of a JSON Web Key Set (RFC 7517) that verify tokens.

use jsonwebtoken::{
    Algorithm, DecodingKey, DecodingKeyKind,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations, PublicKeyUse},
};
use serde::Deserialize;

use super::keys::Key;

/// The shortest RSA key that counts, in bits (RFC 7518, 3.3).
const MIN_RSA_BITS: usize = 2048;
/// The longest RSA key that signatures are verified with, in bits.
const MAX_RSA_BITS: usize = 8192;

#[derive(Deserialize)]
struct KeySet {
    /// Keys that cannot be read are skipped like keys for other purposes (RFC 7517, 5).
    keys: Vec<serde_json::Value>,
}

/// The keys of a set that may verify tokens. Keys for other purposes, for other algorithms, and weak keys are left out.
pub(super) fn parse(text: &[u8]) -> Result<Vec<Key>, serde_json::Error> {
    let set: KeySet = serde_json::from_slice(text)?;
    Ok(set.keys.into_iter().filter_map(|key| usable(&serde_json::from_value(key).ok()?)).collect())
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

/// Whether the set's owner lets the key verify signatures (RFC 7517, 4.2 and 4.3).
fn may_verify(jwk: &Jwk) -> bool {
    let is_for_signatures = jwk.common.public_key_use.as_ref().is_none_or(|usage| *usage == PublicKeyUse::Signature);
    let operations = jwk.common.key_operations.as_ref();
    is_for_signatures && operations.is_none_or(|operations| operations.contains(&KeyOperations::Verify))
}

/// Whether the key has the size that its algorithm needs (RFC 8725, 3.5).
fn is_strong(algorithm: Algorithm, key: &DecodingKeyKind) -> bool {
    match key {
        DecodingKeyKind::RsaModulusExponent { n, e } => {
            let modulus = n.iter().position(|byte| *byte != 0).map_or(&[][..], |start| &n[start..]);
            let bits = modulus.first().map_or(0, |first| modulus.len() * 8 - first.leading_zeros() as usize);
            let exponent = e.iter().position(|byte| *byte != 0).map_or(&[][..], |start| &e[start..]);
            // With the exponent 1 everybody can sign.
            let is_odd = exponent.last().is_some_and(|last| last % 2 == 1);
            (MIN_RSA_BITS..=MAX_RSA_BITS).contains(&bits) && is_odd && exponent != [1]
        }
        // An uncompressed point of P-256: 4, x and y.
        DecodingKeyKind::SecretOrDer(point) if algorithm == Algorithm::ES256 => point.len() == 65,
        DecodingKeyKind::SecretOrDer(point) => point.len() == 32,
    }
}
