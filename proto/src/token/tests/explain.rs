//! Explanations of rejected tokens for operators.

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
        (with("aud", json!("other")), "aud: it is \"other\""),
        (with("aud", json!(["a", "b"])), "aud: "),
        (with("aud", json!(null)), "aud: it is missing"),
        (with("iss", json!("stranger")), "iss: it is \"stranger\", and must be \"issuer\""),
        (with("exp", json!(NOW - 5)), "exp: it expired 5 s ago"),
        (with("nbf", json!(NOW + 3600)), "nbf: it is 3600 s in the future"),
        (with("iat", json!(NOW + 3600)), "iat: "),
        (with("company_id", json!(0)), "company_id: it is 0"),
        (with("company_id", json!("+7")), "company_id: it is \"+7\", and must be a whole number"),
        (with("company_id", json!(null)), "company_id: it is missing"),
        (with("exp", json!("soon")), "exp: it is \"soon\", which has the wrong type"),
        (with("nbf", json!("x")), "nbf: it is \"x\""),
        (with("nbf", json!(null)), "nbf: it is null"),
        (with("iat", json!([])), "iat: it is []"),
        (with("sub", json!(5)), "sub: it is 5"),
        (with("scope", json!(5)), "scope: it is 5"),
        (with("scp", json!(["audit", 5])), "scp: it is [\"audit\",5], and must be a string or a list of strings"),
        (with("aud", json!("a".repeat(500))), "aud: it is \"aaaa"),
        (Signer::secret().token(HEADER, CLAIMS), "iss: it is null"),
        (Signer::Secret(vec![9; 32]).token(HEADER, CLAIMS), "signature: "),
        (
            stranger.good_token(Some("other")),
            "kid: the service has no key for ES256 with the ID \"other\"; it has: known",
        ),
        (stranger.good_token(Some("known")), "signature: "),
        (Signer::ed25519().good_token(None), "alg: the service has no key for EdDSA"),
        (Signer::secret().token(r#"{"alg":"HS384"}"#, CLAIMS), "alg: the service has no key for HS384"),
        ("a.b".to_owned(), "it is not a signed"),
    ] {
        let explained = verifier.explain(&token, NOW).unwrap();
        assert!(explained.starts_with(expected), "{explained} is not {expected}");
    }
}
