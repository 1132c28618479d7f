//! Verifies tokens: arbitrary text, and arbitrary headers and claims with a valid signature.

use std::cell::OnceCell;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use compliance_api::token::{KeySource, Secret, TokenError, Verifier};
use jsonwebtoken::{Algorithm, EncodingKey};
use serde::Deserialize;
use serde_json::Value;

const SECRET: [u8; 32] = [1; 32];
const NOW: i64 = 1_800_000_000;

/// The header's checked members. A `Value` cannot represent all numbers in other members.
#[derive(Debug, Deserialize)]
struct Header {
    alg: String,
    crit: Option<Value>,
    b64: Option<bool>,
}

/// The checked claims.
#[derive(Debug, Deserialize)]
struct Claims {
    company_id: i64,
    exp: f64,
    aud: Value,
}

thread_local! {
    static VERIFIER: OnceCell<Verifier> = const { OnceCell::new() };
}

fn verify(header: &[u8]) -> Result<i64, TokenError> {
    VERIFIER.with(|verifier| {
        let verifier = verifier.get_or_init(|| {
            let source = KeySource { secret: Some(Secret::new(SECRET).unwrap()), ..KeySource::default() };
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(Verifier::new(source, None)).unwrap()
        });
        verifier.authorize(Some(header), NOW).map(|token| token.company_id)
    })
}

/// Verifies a token. The first byte selects a raw header value, or a header and claims to sign, separated by a zero byte.
pub fn token(data: &[u8]) {
    let Some((choice, text)) = data.split_first() else { return };
    if choice % 2 == 0 {
        // A valid signature cannot occur by chance.
        assert!(verify(text).is_err(), "accepted a token without a signature");
        return;
    }
    let mut parts = text.splitn(2, |byte| *byte == 0);
    let (Some(header), Some(claims)) = (parts.next(), parts.next()) else { return };
    let message = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let key = EncodingKey::from_secret(&SECRET);
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, Algorithm::HS256).unwrap();
    if let Ok(company) = verify(format!("Bearer {message}.{signature}").as_bytes()) {
        let header: Header = serde_json::from_slice(header).expect("an accepted token has an invalid header");
        let claims: Claims = serde_json::from_slice(claims).expect("an accepted token has invalid claims");
        assert_eq!(header.alg, "HS256");
        assert!(header.crit.is_none() && header.b64 != Some(false), "{header:?}");
        assert_eq!(claims.company_id, company);
        assert!(company > 0 && company <= compliance_api::MAX_ID);
        assert!(claims.exp > NOW as f64, "{claims:?}");
        let audience = &claims.aud;
        let is_ours = |audience: &Value| audience == "affiliate-compliance";
        assert!(is_ours(audience) || audience.as_array().is_some_and(|all| all.iter().any(is_ours)), "{claims:?}");
    }
}
