//! Token headers (RFC 7515, 4): the members that select the verification key.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, decode_header};
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, IntoDeserializer as _},
};

use super::{error::Rejection, unique::UniqueObject};

/// Name of `EdDSA` with the curve Ed25519 (RFC 9864, 2.2).
pub(super) const ED25519: &str = "Ed25519";

/// Access token types (RFC 7519, 5.1; RFC 9068, 2.1). Tokens of other types, such as `logout+jwt`, grant no access (RFC 8725, 3.11).
const TYPES: [&str; 2] = ["jwt", "at+jwt"];

/// The header of a token.
///
/// Other members, such as `jku`, `jwk` and `x5c`, are ignored: a token cannot supply its own key. Duplicate members make the header invalid.
#[derive(Debug, Deserialize)]
pub(super) struct Header {
    /// The claimed algorithm, which must match the key's.
    #[serde(deserialize_with = "algorithm")]
    pub(super) alg: Algorithm,
    /// The claimed key ID.
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
    /// Reads the header of a compact token.
    pub(super) fn of(token: &str) -> Result<Self, Rejection> {
        // Encrypted tokens have five parts.
        let parts: Vec<&str> = token.split('.').collect();
        let [header, claims, _signature] = parts[..] else {
            return Err(Rejection::invalid("not a signed JSON Web Token: expected three parts separated by dots"));
        };
        // The JSON parser skips unused members, so it would miss invalid UTF-8 in them.
        text(claims).and_then(|_| Self::parse(&text(header)?)).ok_or_else(|| {
            let found = decode_header(token).map(|header| format!("alg is {:?}", header.alg));
            let found = found.unwrap_or_else(|error| error.to_string());
            Rejection::invalid(format!(
                "header: unsupported alg, typ or crit ({found}): use RS256, ES256, EdDSA (Ed25519) or HS256, the type JWT or at+jwt, \
                 and no extensions"
            ))
        })
    }

    /// Parses a decoded header. Returns `None` if it is malformed or needs unsupported features.
    fn parse(text: &str) -> Option<Self> {
        let UniqueObject(members) = serde_json::from_str(text).ok()?;
        let header: Self = serde_json::from_value(members.into()).ok()?;
        // `crit` lists extensions that a service must support to accept the token (RFC 7515, 4.1.11). This service supports
        // none, and an empty `crit` is invalid. JSON Web Tokens must not use the extension `b64` (RFC 7797, 7).
        let is_supported = !header.crit && header.b64 != Some(false);
        (is_supported && header.typ.as_deref().is_none_or(is_access_token)).then_some(header)
    }
}

/// Decodes a part of a token. The result must be UTF-8 (RFC 7519, 7.2).
fn text(part: &str) -> Option<String> {
    String::from_utf8(URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

/// Reads an algorithm. RFC 9864 renamed `EdDSA` to `Ed25519`.
fn algorithm<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Algorithm, D::Error> {
    let name = Cow::<str>::deserialize(deserializer)?;
    if name == ED25519 { Ok(Algorithm::EdDSA) } else { Algorithm::deserialize(name.into_deserializer()) }
}

/// Returns whether `typ` is an access token type, ignoring case and the prefix `application/` (RFC 7515, 4.1.9).
fn is_access_token(typ: &str) -> bool {
    let typ = typ.to_ascii_lowercase();
    TYPES.contains(&typ.strip_prefix("application/").unwrap_or(&typ))
}

/// Accepts any value, including null, and returns `true`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| true)
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

    use super::Header;

    #[test]
    fn non_utf8_token_parts_are_rejected() {
        let of = |header: &[u8], claims: &[u8]| {
            Header::of(&format!("{}.{}.c2ln", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims))).is_ok()
        };
        assert!(of(br#"{"alg":"HS256"}"#, "{\"x\":\"\u{e9}\"}".as_bytes()));
        assert!(!of(br#"{"alg":"HS256"}"#, b"{\"x\":\"\xe9\"}"));
        assert!(!of(b"{\"alg\":\"HS256\",\"x\":\"\xe9\"}", b"{}"));
    }
}
