//! Tests keys that change while the service runs.

use serde_json::json;

use super::signers::{KeyFile, NOW, Signer};
use crate::token::{KeyError, TokenError, Verifier};

#[tokio::test]
async fn removed_keys_stop_verifying_after_refresh() {
    let (before, after) = (Signer::p256(), Signer::p256());
    let file = KeyFile::new(&json!([before.jwk(json!({}))]));
    let verifier = Verifier::new(file.source(), None).await.unwrap();
    let (revoked, new) = (before.good_token(None), after.good_token(None));
    assert!(verifier.verify(&revoked, NOW).is_ok());
    assert_eq!(verifier.verify(&new, NOW), Err(TokenError::Invalid));
    file.write(&json!([after.jwk(json!({}))]));
    verifier.refresh().await.unwrap();
    assert_eq!(verifier.verify(&revoked, NOW), Err(TokenError::Invalid));
    assert!(verifier.verify(&new, NOW).is_ok());
}

/// A verification with the previous keys finishes after the refresh, and caches its token.
#[tokio::test]
async fn late_verification_does_not_revive_revoked_tokens() {
    let (before, after) = (Signer::p256(), Signer::p256());
    let file = KeyFile::new(&json!([before.jwk(json!({}))]));
    let verifier = Verifier::new(file.source(), None).await.unwrap();
    let revoked = before.good_token(None);
    let keys_at_its_beginning = verifier.current_keys();
    file.write(&json!([after.jwk(json!({}))]));
    verifier.refresh().await.unwrap();
    assert!(verifier.verify_and_cache(&keys_at_its_beginning, &revoked, NOW).is_ok());
    assert_eq!(verifier.verify(&revoked, NOW), Err(TokenError::Invalid));
}

#[tokio::test]
async fn failed_refresh_keeps_previous_keys() {
    let signer = Signer::p256();
    let file = KeyFile::new(&json!([signer.jwk(json!({}))]));
    let verifier = Verifier::new(file.source(), None).await.unwrap();
    for _ in 0..2 {
        file.write(&json!([]));
        assert!(matches!(verifier.refresh().await, Err(KeyError::Empty { .. })));
        assert!(verifier.verify(&signer.good_token(None), NOW).is_ok());
    }
}
