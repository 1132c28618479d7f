//! The header of a token (RFC 7515, 4): only what decides whether and with which key the token is verified.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::Algorithm;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, IntoDeserializer as _},
};

use super::unique::UniqueObject;

/// The name of `EdDSA` with the curve Ed25519 (RFC 9864, 2.2).
pub(super) const ED25519: &str = "Ed25519";

/// The types of tokens that grant access (RFC 7519, 5.1; RFC 9068, 2.1). Tokens made for other purposes, such as
/// `logout+jwt`, have types of their own and grant nothing (RFC 8725, 3.11).
const TYPES: [&str; 2] = ["jwt", "at+jwt"];

/// A header. Members that are not listed, such as `jku`, `jwk` and `x5c`, are ignored: a token cannot bring its own key.
/// A member that is given twice makes the header invalid.
#[derive(Debug, Deserialize)]
pub(super) struct Header {
    /// How the token says it is signed. The key decides whether that is so.
    #[serde(deserialize_with = "algorithm")]
    pub(super) alg: Algorithm,
    /// Which key the token says it is signed with.
    #[serde(default)]
    pub(super) kid: Option<String>,
    #[serde(default)]
    typ: Option<String>,
    #[serde(default, deserialize_with = "present")]
    crit: bool,
    #[serde(default)]
    b64: Option<bool>,
}

impl Header {
    /// Reads the header of a token in the compact form. `None` if it is malformed, or demands what this service does not do.
    pub(super) fn of(token: &str) -> Option<Self> {
        let (header, rest) = token.split_once('.')?;
        let (claims, signature) = rest.split_once('.')?;
        if signature.contains('.') {
            // Five parts: an encrypted token.
            return None;
        }
        // The parser does not look into members that nobody reads.
        text(claims)?;
        let UniqueObject(members) = serde_json::from_str(&text(header)?).ok()?;
        let header: Self = serde_json::from_value(members.into()).ok()?;
        // `crit` lists extensions without which the token must not be accepted (RFC 7515, 4.1.11). None is implemented, and
        // `crit` itself must not be empty. `b64` is such an extension, which JSON Web Tokens must not use (RFC 7797, 7).
        let is_understood = !header.crit && header.b64 != Some(false);
        (is_understood && header.typ.as_deref().is_none_or(is_access_token)).then_some(header)
    }
}

/// A decoded part of a token, which must be UTF-8 (RFC 7519, 7.2).
fn text(part: &str) -> Option<String> {
    String::from_utf8(URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

/// `EdDSA` has two names: RFC 9864 calls it `Ed25519`.
fn algorithm<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Algorithm, D::Error> {
    let name = Cow::<str>::deserialize(deserializer)?;
    if name == ED25519 { Ok(Algorithm::EdDSA) } else { Algorithm::deserialize(name.into_deserializer()) }
}

/// Media types are compared without regard to case, with or without `application/` (RFC 7515, 4.1.9).
fn is_access_token(typ: &str) -> bool {
    let typ = typ.to_ascii_lowercase();
    TYPES.contains(&typ.strip_prefix("application/").unwrap_or(&typ))
}

/// Whether a member is given, with any value, null included.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| true)
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

    use super::Header;

    #[test]
    fn every_part_is_utf8() {
        let of = |header: &[u8], claims: &[u8]| {
            Header::of(&format!("{}.{}.c2ln", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims))).is_some()
        };
        assert!(of(br#"{"alg":"HS256"}"#, "{\"x\":\"\u{e9}\"}".as_bytes()));
        assert!(!of(br#"{"alg":"HS256"}"#, b"{\"x\":\"\xe9\"}"));
        assert!(!of(b"{\"alg\":\"HS256\",\"x\":\"\xe9\"}", b"{}"));
    }
}
