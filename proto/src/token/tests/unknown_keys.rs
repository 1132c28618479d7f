//! Tests tokens with keys that the issuer added after the last load.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::future::join_all;
use serde_json::json;
use tokio::time::{Instant, advance, sleep};

use super::signers::{KeyFile, NOW, Signer};
use crate::token::{Secret, TokenError, Verifier};

/// Returns a verifier that reloads its keys on request, and its reload counter.
async fn loading(file: &KeyFile, takes: Duration) -> (Arc<Verifier>, Arc<AtomicUsize>) {
    let verifier = Arc::new(Verifier::new(file.source(), None).await.unwrap());
    let (loads, loading) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&verifier));
    let counted = Arc::clone(&loads);
    tokio::spawn(async move {
        loop {
            loading.asked().await;
            sleep(takes).await;
            counted.fetch_add(1, Ordering::Relaxed);
            let _ = loading.refresh().await;
            loading.answered();
        }
    });
    (verifier, loads)
}

fn header(token: &str) -> Vec<u8> {
    format!("Bearer {token}").into_bytes()
}

async fn accepts(verifier: &Verifier, token: &str) -> bool {
    verifier.learn_key(Some(&header(token))).await;
    verifier.verify(token, NOW).is_ok()
}

#[tokio::test(start_paused = true)]
async fn first_token_with_new_key_triggers_reload() {
    for (kid, second_kid) in [(Some("a"), Some("b")), (None, None), (None, Some("b")), (Some("a"), None)] {
        let (before, after) = (Signer::p256(), Signer::ed25519());
        let jwk = |signer: &Signer, kid: Option<&str>| match kid {
            Some(kid) => signer.jwk(json!({"kid": kid})),
            None => signer.jwk(json!({})),
        };
        let file = KeyFile::new(&json!([jwk(&before, kid)]));
        let (verifier, loads) = loading(&file, Duration::from_millis(100)).await;
        assert!(accepts(&verifier, &before.good_token(kid)).await);
        assert_eq!(loads.load(Ordering::Relaxed), 0, "known keys trigger no reload");
        file.write(&json!([jwk(&before, kid), jwk(&after, second_kid)]));
        assert!(accepts(&verifier, &after.good_token(second_kid)).await, "{kid:?} {second_kid:?}");
        assert_eq!(loads.load(Ordering::Relaxed), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn unknown_keys_reload_at_most_every_ten_seconds() {
    let (known, stranger) = (Signer::p256(), Signer::p256());
    let file = KeyFile::new(&json!([known.jwk(json!({"kid": "known"}))]));
    let (verifier, loads) = loading(&file, Duration::from_secs(2)).await;
    let good = known.good_token(Some("known"));
    let start = Instant::now();
    for round in 0..4 {
        let flood = (0..1000).map(|number| {
            let (verifier, token) = (&verifier, stranger.good_token(Some(&format!("{round}-{number}"))));
            async move {
                assert!(!accepts(verifier, &token).await);
                start.elapsed()
            }
        });
        let before = start.elapsed();
        let waited = join_all(flood).await.into_iter().filter(|end| *end > before).count();
        assert!(waited <= 256, "{waited} tokens waited");
        assert!(accepts(&verifier, &good).await && start.elapsed() <= before + Duration::from_secs(2));
        advance(Duration::from_secs(4)).await;
    }
    // One reload at 0 s, and one at 10 s or later.
    assert!(start.elapsed() < Duration::from_secs(30));
    assert_eq!(loads.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn failed_reload_keeps_known_keys() {
    let (known, stranger) = (Signer::p256(), Signer::p256());
    let file = KeyFile::new(&json!([known.jwk(json!({"kid": "known"}))]));
    let (verifier, loads) = loading(&file, Duration::from_mins(1)).await;
    file.write(&json!([]));
    let start = Instant::now();
    assert!(!accepts(&verifier, &stranger.good_token(Some("new"))).await);
    assert_eq!(start.elapsed().as_secs(), 5);
    sleep(Duration::from_mins(1)).await;
    assert_eq!(loads.load(Ordering::Relaxed), 1);
    assert!(verifier.verify(&known.good_token(Some("known")), NOW).is_ok());
}

#[tokio::test]
async fn forged_tokens_with_known_keys_trigger_no_reload() {
    let (known, stranger) = (Signer::p256(), Signer::p256());
    let file = KeyFile::new(&json!([known.jwk(json!({"kid": "known"}))]));
    let source = crate::token::KeySource { secret: Some(Secret::new([1; 32]).unwrap()), ..file.source() };
    let verifier = Verifier::new(source, None).await.unwrap();
    let forged = stranger.good_token(Some("known"));
    assert_eq!(verifier.verify(&forged, NOW), Err(TokenError::Invalid));
    let of_other_secret = Signer::Secret(vec![2; 32]).good_token(None);
    for token in [forged.as_str(), of_other_secret.as_str(), "a.b.c", ""] {
        assert!(!verifier.has_unknown_key(Some(&header(token))), "{token}");
    }
    assert!(!verifier.has_unknown_key(None));
    assert!(verifier.has_unknown_key(Some(&header(&stranger.good_token(Some("other"))))));
}
