//! The tokens of a message that has none of its own: anybody can send one, with many tokens that are not valid.
//!
//! To verify a signature takes about as long as a read. So a message may fail once, as a call does; from then on the
//! signatures of all such messages are verified in turns, a few in each, with a pause. Tokens that were verified before wait
//! for nothing. Every token gets its own result: a gateway with other keys than the core sends valid tokens next to others.

use std::collections::HashMap;

use admission::{compute, off_thread};
use tokio::{sync::Semaphore, time::sleep};

use crate::{
    access::Verified,
    limits::{FEW_SIGNATURES, TOKEN_FAILURES, TOKEN_FAILURES_OF_A_TURN, TOKEN_PAUSE},
};

pub(super) trait Verify {
    /// What is known without verifying a signature.
    fn cached(&self, authorization: &str) -> Option<Verified>;
    /// Verifies a signature.
    fn verify(&self, authorization: &str) -> Verified;
    /// Whether a token that is not valid has a key that may be known once the key sets are loaded again.
    fn has_unknown_key(&self, authorization: &str) -> bool;
    /// Waits until the key sets are loaded again.
    fn learn_key(&self, authorization: &str) -> impl Future<Output = ()> + Send;
}

/// The turns of messages. Those with a valid token wait for each other alone: however many others there are, they pass them.
pub(super) struct Turns {
    proven: Semaphore,
    unproven: Semaphore,
}

impl Turns {
    pub(super) fn new() -> Self {
        Self { proven: Semaphore::new(1), unproven: Semaphore::new(1) }
    }
}

/// Tokens of a message, each of which is verified once.
pub(super) struct Tokens<V> {
    verifier: V,
    known: HashMap<String, Verified>,
    /// Those that wait for their turn, in reverse order.
    left: Vec<String>,
    /// Those that wait until the key sets are loaded again.
    of_unknown_keys: Vec<String>,
    /// Whether the key sets were loaded for them.
    has_learned: bool,
}

impl<V: Verify> Tokens<V> {
    /// Verifies tokens up to the first ones that are not valid.
    pub(super) fn verify(verifier: V, authorizations: Vec<String>) -> Self {
        let bytes = authorizations.iter().map(String::len).sum();
        // To look for tokens that were verified before takes a hash of each.
        let mut tokens = compute(bytes, || Self::cached(verifier, authorizations));
        if tokens.left.len() > FEW_SIGNATURES {
            off_thread(|| tokens.verify_until(TOKEN_FAILURES));
        } else {
            tokens.verify_until(TOKEN_FAILURES);
        }
        tokens
    }

    fn cached(verifier: V, authorizations: Vec<String>) -> Self {
        let known = HashMap::with_capacity(authorizations.len());
        let mut tokens = Self { verifier, known, left: Vec::new(), of_unknown_keys: Vec::new(), has_learned: false };
        for token in authorizations {
            match tokens.verifier.cached(&token) {
                Some(known) => {
                    tokens.known.insert(token, known);
                }
                None => tokens.left.push(token),
            }
        }
        // What is taken next is at the end.
        tokens.left.sort_unstable();
        tokens.left.dedup();
        tokens
    }

    /// Verifies the tokens that are left, in turns with other messages.
    pub(super) async fn verify_rest(&mut self, turns: &Turns) {
        while self.has_left() {
            let turns = if self.has_valid() { &turns.proven } else { &turns.unproven };
            let Ok(_turn) = turns.acquire().await else { return };
            off_thread(|| self.verify_until(TOKEN_FAILURES_OF_A_TURN));
            sleep(TOKEN_PAUSE).await;
        }
    }

    /// Waits until the key sets are loaded again, and verifies the tokens that wait for it.
    pub(super) async fn learn_keys(&mut self, turns: &Turns) {
        if let Some(first) = self.of_unknown_keys.first() {
            // One load has the keys of all.
            self.verifier.learn_key(first).await;
            self.has_learned = true;
            self.left.append(&mut self.of_unknown_keys);
            self.verify_rest(turns).await;
        }
    }

    /// Whether tokens wait for their turn.
    pub(super) fn has_left(&self) -> bool {
        !self.left.is_empty()
    }

    /// Whether a token is valid. Otherwise nothing shows that the message is not from just anybody.
    pub(super) fn has_valid(&self) -> bool {
        self.known.values().any(Result::is_ok)
    }

    /// What became of a token. `None` if it waits for its turn or its key.
    pub(super) fn get(&self, authorization: &str) -> Option<&Verified> {
        self.known.get(authorization)
    }

    fn verify_until(&mut self, failures: usize) {
        let mut failed = 0;
        while failed < failures
            && let Some(token) = self.left.pop()
        {
            let verified = self.verifier.verify(&token);
            failed += usize::from(verified.is_err());
            if verified.is_err() && !self.has_learned && self.verifier.has_unknown_key(&token) {
                self.of_unknown_keys.push(token);
            } else {
                self.known.insert(token, verified);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering::Relaxed},
        time::Duration,
    };

    use compliance_api::token::{Claims, KeySource, Secret, TokenError, Verifier, issue};
    use futures::future::join_all;
    use tokio::time::{Instant, timeout};

    use super::{Tokens, Turns, Verify};
    use crate::access::Verified;

    /// Accepts the tokens that begin with `valid`; counts signatures.
    struct Counting<'c> {
        valid: Verified,
        cached: &'c str,
        signatures: &'c AtomicUsize,
    }

    impl Verify for &Counting<'_> {
        fn cached(&self, authorization: &str) -> Option<Verified> {
            (authorization == self.cached).then(|| self.valid.clone())
        }

        fn verify(&self, authorization: &str) -> Verified {
            self.signatures.fetch_add(1, Relaxed);
            if authorization.starts_with("valid") { self.valid.clone() } else { Err(TokenError::Invalid) }
        }

        fn has_unknown_key(&self, _: &str) -> bool {
            false
        }

        async fn learn_key(&self, _: &str) {}
    }

    async fn valid() -> Verified {
        let secret = || Secret::new([1; 32]).unwrap();
        let source = KeySource { secret: Some(secret()), ..KeySource::default() };
        let token = issue(&secret(), &Claims::new(7, 1000, 60)).unwrap();
        Verifier::new(source, None).await.unwrap().verify(&token, 1000)
    }

    fn invalid(count: usize) -> impl Iterator<Item = String> {
        (0..count).map(|number| format!("invalid {number}"))
    }

    #[tokio::test(start_paused = true)]
    async fn messages_of_invalid_tokens_verify_few_signatures() {
        let signatures = AtomicUsize::new(0);
        let verifier = &Counting { valid: valid().await, cached: "", signatures: &signatures };
        let turns = Turns::new();
        let message = async || {
            let mut tokens = Tokens::verify(verifier, invalid(1000).collect());
            assert!(tokens.has_left() && !tokens.has_valid());
            tokens.verify_rest(&turns).await;
        };
        drop(Tokens::verify(verifier, invalid(1000).collect()));
        assert_eq!(signatures.swap(0, Relaxed), 1, "a message whose caller leaves");
        // Four callers at once, for a second.
        let _ = timeout(Duration::from_secs(1), join_all((0..4).map(|_| message()))).await;
        assert!((700..=850).contains(&signatures.load(Relaxed)), "{} signatures", signatures.load(Relaxed));
    }

    #[tokio::test(start_paused = true)]
    async fn each_token_has_its_own_result_and_is_verified_once() {
        let signatures = AtomicUsize::new(0);
        let verifier = &Counting { valid: valid().await, cached: "cached", signatures: &signatures };
        let valid = (0..50).map(|number| format!("valid {number}"));
        let all: Vec<String> = invalid(50).chain(valid).chain(["cached".to_owned()]).collect();
        let mut tokens = Tokens::verify(verifier, [all.clone(), all.clone()].concat());
        assert!(tokens.get("cached").is_some_and(Result::is_ok), "it waits for nothing");
        let started = Instant::now();
        tokens.verify_rest(&Turns::new()).await;
        for token in &all {
            assert_eq!(tokens.get(token).unwrap().is_ok(), !token.starts_with("invalid"), "{token}");
        }
        assert_eq!(signatures.load(Relaxed), 100);
        assert!(started.elapsed() < Duration::from_millis(200), "{:?}", started.elapsed());
    }
}
