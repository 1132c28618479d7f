//! Tests explanations of rejected tokens.

use serde_json::json;

use super::signers::{CLAIMS, HEADER, KeyFile, NOW, SECRET, Signer};
use crate::token::{KeySource, Secret, Verifier};

#[tokio::test]
async fn explanations_name_the_invalid_part() {
    let (signer, stranger) = (Signer::p256(), Signer::p256());
    let file = KeyFile::new(&json!([signer.jwk(json!({"kid": "known"}))]));
    let source = KeySource { secret: Some(Secret::new(SECRET).unwrap()), ..file.source() };
    let verifier = Verifier::new(source, Some("issuer".to_owned())).await.unwrap();
    let good = json!({"company_id": 7, "exp": NOW + 60, "aud": "affiliate-compliance", "iss": "issuer"});
    let with = |name: &str, value: serde_json::Value| {
        let mut claims = good.clone();
        claims[name] = value;
        Signer::secret().token(HEADER, &claims.to_string())
    };
    assert_eq!(verifier.explain(&with("sub", json!("anybody")), NOW), None);
    for (token, expected) in [
        (with("aud", json!("other")), "aud: must contain \"affiliate-compliance\", but is \"other\""),
        (with("aud", json!(["a", "b"])), "aud: "),
        (with("aud", json!(null)), "aud: missing"),
        (with("iss", json!("stranger")), "iss: must be \"issuer\", but is \"stranger\""),
        (with("exp", json!(NOW - 5)), "exp: expired 5 s ago"),
        (with("nbf", json!(NOW + 3600)), "nbf: 3600 s in the future"),
        (with("iat", json!(NOW + 3600)), "iat: "),
        (with("company_id", json!(0)), "company_id: must be a whole number from 1 to "),
        (with("company_id", json!("+7")), "company_id: must be a whole number from 1 to "),
        (with("company_id", json!(null)), "company_id: missing"),
        (with("exp", json!("soon")), "exp: \"soon\" has the wrong type"),
        (with("nbf", json!("x")), "nbf: \"x\" has the wrong type"),
        (with("nbf", json!(null)), "nbf: null has the wrong type"),
        (with("iat", json!([])), "iat: [] has the wrong type"),
        (with("sub", json!(5)), "sub: 5 has the wrong type"),
        (with("scope", json!(5)), "scope: must be a string or a list of strings, but is 5"),
        (with("scp", json!(["audit", 5])), "scp: must be a string or a list of strings, but is [\"audit\",5]"),
        (with("aud", json!("a".repeat(500))), "aud: must contain \"affiliate-compliance\", but is \"aaaa"),
        (Signer::secret().token(HEADER, CLAIMS), "iss: must be \"issuer\", but is null"),
        (Signer::Secret(vec![9; 32]).token(HEADER, CLAIMS), "signature: "),
        (stranger.good_token(Some("other")), "kid: no key for ES256 has the ID \"other\"; known IDs: known"),
        (stranger.good_token(Some("known")), "signature: "),
        (Signer::ed25519().good_token(None), "alg: no key for EdDSA"),
        (Signer::secret().token(r#"{"alg":"HS384"}"#, CLAIMS), "alg: no key for HS384"),
        ("a.b".to_owned(), "not a signed JSON Web Token"),
    ] {
        let explained = verifier.explain(&token, NOW).unwrap();
        assert!(explained.starts_with(expected), "{explained} is not {expected}");
    }
}
