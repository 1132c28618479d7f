//! Tests which keys verify which tokens.

use serde_json::{Value, json};

use super::signers::{CLAIMS, HEADER, KeyFile, NOW, SECRET, Signer, base64};
use crate::token::{KeyError, Secret, TokenError, Verifier};

async fn verifier(keys: &Value) -> Result<Verifier, KeyError> {
    Verifier::new(KeyFile::new(keys).source(), None).await
}

#[tokio::test]
async fn keys_verify_only_their_own_algorithm() {
    let signers = [Signer::rsa(), Signer::p256(), Signer::ed25519()];
    for signer in &signers {
        let verifier = verifier(&json!([signer.jwk(json!({}))])).await.unwrap();
        assert!(verifier.verify(&signer.good_token(None), NOW).is_ok(), "{}", signer.algorithm());
        for other in &signers {
            if other.algorithm() != signer.algorithm() {
                // Signed with a different key, under its own and the expected algorithm name.
                let claimed = format!(r#"{{"alg":"{}"}}"#, signer.algorithm());
                for token in [other.good_token(None), other.token(&claimed, CLAIMS)] {
                    assert_eq!(verifier.verify(&token, NOW), Err(TokenError::Invalid), "{}", other.algorithm());
                }
            }
        }
    }
}

/// RFC 9864, 2.2: `EdDSA` with this curve is also called `Ed25519`.
#[tokio::test]
async fn ed25519_is_an_alias_for_eddsa() {
    let signer = Signer::ed25519();
    let (old, new) = (r#"{"alg":"EdDSA"}"#, r#"{"alg":"Ed25519"}"#);
    for key in [json!({}), json!({"alg": "EdDSA"}), json!({"alg": "Ed25519"})] {
        let verifier = verifier(&json!([signer.jwk(key.clone())])).await.unwrap();
        for header in [old, new] {
            assert!(verifier.verify(&signer.token(header, CLAIMS), NOW).is_ok(), "{key} {header}");
        }
        for wrong in [r#"{"alg":"ed25519"}"#, r#"{"alg":"Ed448"}"#, r#"{"alg":["Ed25519"]}"#] {
            assert_eq!(verifier.verify(&signer.token(wrong, CLAIMS), NOW), Err(TokenError::Invalid), "{wrong}");
        }
    }
    for (signer, alg) in [(Signer::rsa(), "Ed25519"), (Signer::p256(), "Ed25519"), (Signer::ed25519(), "Ed448")] {
        let keys = json!([signer.jwk(json!({ "alg": alg }))]);
        assert!(matches!(verifier(&keys).await, Err(KeyError::Empty { .. })), "{alg} {keys}");
    }
}

/// RFC 8725, 2.1: the verifier rejects tokens signed with a public key as the HMAC secret.
#[tokio::test]
async fn public_keys_are_not_hmac_secrets() {
    for signer in [Signer::rsa(), Signer::p256(), Signer::ed25519()] {
        let jwk = signer.jwk(json!({}));
        let verifier = verifier(&json!([jwk])).await.unwrap();
        let text = jwk.to_string().into_bytes();
        let members = ["n", "x", "y"].iter().filter_map(|member| Some(jwk[member].as_str()?.as_bytes().to_vec()));
        for bytes in members.chain([text, Vec::new()]) {
            let token = Signer::Secret(bytes).token(HEADER, CLAIMS);
            assert_eq!(verifier.verify(&token, NOW), Err(TokenError::Invalid), "{}", signer.algorithm());
        }
    }
}

/// Each row contains additional key members, and whether the key verifies tokens.
#[tokio::test]
async fn keys_for_unsupported_uses_are_skipped() {
    let members = [
        (json!({}), true),
        (json!({"use": "sig"}), true),
        (json!({"use": "enc"}), false),
        (json!({"use": "tls"}), false),
        (json!({"key_ops": ["verify"]}), true),
        (json!({"key_ops": ["sign", "verify"], "use": "sig"}), true),
        (json!({"key_ops": ["encrypt"]}), false),
        (json!({"key_ops": ["wrapKey", "deriveKey"]}), false),
        (json!({"key_ops": ["sign"]}), false),
        (json!({"key_ops": []}), false),
        (json!({"key_ops": ["verify"], "use": "enc"}), false),
        (json!({"key_ops": ["encrypt"], "use": "sig"}), false),
        (json!({"alg": "RSA-OAEP"}), false),
        (json!({"alg": "ECDH-ES"}), false),
        (json!({"alg": "HS256"}), false),
        (json!({"alg": "something new"}), false),
    ];
    for signer in [Signer::rsa(), Signer::p256(), Signer::ed25519()] {
        let named = [(json!({"alg": signer.algorithm()}), true)];
        for (members, verifies) in members.iter().chain(&named) {
            // A set without usable keys is an error, so add a second key.
            let keys = json!([signer.jwk(members.clone()), Signer::ed25519().jwk(json!({}))]);
            let verified = verifier(&keys).await.unwrap().verify(&signer.good_token(None), NOW);
            assert_eq!(verified.is_ok(), *verifies, "{} {members}", signer.algorithm());
            let alone = verifier(&json!([signer.jwk(members.clone())])).await;
            assert_eq!(alone.is_ok(), *verifies, "{} {members}", signer.algorithm());
        }
    }
}

#[tokio::test]
async fn weak_and_unusable_keys_are_skipped() {
    let rsa = Signer::rsa().jwk(json!({}));
    let modulus = |bits: usize| {
        let mut bytes = vec![0xff; bits.div_ceil(8)];
        bytes[0] >>= bytes.len() * 8 - bits;
        base64(bytes)
    };
    let zeros = base64([vec![0; 200], vec![0xff; 128]].concat());
    let with = |member: &str, value: String| {
        let mut key = rsa.clone();
        key[member] = json!(value);
        key
    };
    let unusable = [
        with("n", modulus(512)),
        with("n", modulus(1024)),
        with("n", modulus(2047)),
        with("n", modulus(8193)),
        with("n", zeros),
        with("n", String::new()),
        with("n", "not base64!".to_owned()),
        with("e", base64([1])),
        with("e", base64([0, 0, 1])),
        with("e", base64([1, 0, 2])),
        with("e", String::new()),
        json!({"kty": "RSA"}),
        json!({"kty": "oct", "k": base64(SECRET)}),
        json!({"kty": "OKP", "crv": "X25519", "x": base64([9; 32])}),
        json!({"kty": "OKP", "crv": "Ed448", "x": base64([9; 57])}),
        json!({"kty": "OKP", "crv": "Ed25519", "x": base64([9; 31])}),
        json!({"kty": "OKP", "crv": "P-256", "x": base64([9; 32])}),
        json!({"kty": "EC", "crv": "secp256k1", "x": base64([9; 32]), "y": base64([9; 32])}),
        json!({"kty": "EC", "crv": "P-384", "x": base64([9; 48]), "y": base64([9; 48])}),
        json!({"kty": "EC", "crv": "P-256", "x": base64([9; 31]), "y": base64([9; 32])}),
        json!({"kty": "something new"}),
        json!({}),
        json!("key"),
        json!(null),
    ];
    let good = Signer::p256();
    for key in &unusable {
        assert!(matches!(verifier(&json!([key])).await, Err(KeyError::Empty { .. })), "{key}");
        // Other keys remain usable.
        let verifier = verifier(&json!([key, good.jwk(json!({}))])).await.unwrap();
        assert!(verifier.verify(&good.good_token(None), NOW).is_ok(), "{key}");
    }
    // A point off the curve verifies nothing. Other keys remain usable.
    let no_point = json!({"kty": "EC", "crv": "P-256", "x": base64([9; 32]), "y": base64([9; 32])});
    let verifier = verifier(&json!([no_point, good.jwk(json!({}))])).await.unwrap();
    assert!(verifier.verify(&good.good_token(None), NOW).is_ok());
}

#[tokio::test]
async fn key_ids_must_match_when_present() {
    let [first, second] = [Signer::p256(), Signer::p256()];
    let keys = json!([first.jwk(json!({"kid": "first"})), second.jwk(json!({"kid": "second"}))]);
    let verifier = verifier(&keys).await.unwrap();
    let accepted = |signer: &Signer, kid| verifier.verify(&signer.good_token(kid), NOW).is_ok();
    assert!(accepted(&first, Some("first")) && accepted(&first, None) && accepted(&second, None));
    assert!(!accepted(&first, Some("second")) && !accepted(&first, Some("")) && !accepted(&first, Some("FIRST")));
}

#[tokio::test]
async fn oversized_key_sets_are_rejected() {
    let key = Signer::ed25519().jwk(json!({}));
    assert!(verifier(&json!(vec![key.clone(); 100])).await.is_ok());
    assert!(matches!(verifier(&json!(vec![key; 101])).await, Err(KeyError::TooMany { count: 101, .. })));
}

#[test]
fn secrets_need_32_bytes_and_stay_hidden() {
    assert!(Secret::new([1; 31]).is_err());
    assert_eq!(format!("{:?}", Secret::new([65; 32]).unwrap()), "Secret(…)");
}
