//! Verifies the tokens in a batch of reads. Anyone can send a batch that contains many invalid tokens.
//!
//! Verifying a signature takes about as long as a read. A batch can therefore fail once, like any call. After that, its remaining
//! signatures wait for a permit that all such batches share: the holder verifies a few signatures, and then pauses. Previously
//! verified tokens never wait. Every token has its own result, because a gateway whose keys differ from the core's sends valid and
//! invalid tokens together.

use std::{collections::HashMap, sync::Arc, time::Duration};

use admission::{compute, off_thread};
use tokio::{sync::Semaphore, time::sleep};

use crate::access::{AccessPolicy, Verified};

/// Number of invalid tokens after which a batch's remaining tokens wait for a permit.
const FAILURES: usize = 1;
/// Number of invalid tokens per permit. With the pause, all batches without a valid token together verify at most 800 signatures per
/// second, as do all other batches.
const FAILURES_PER_PERMIT: usize = 16;
const PAUSE: Duration = Duration::from_millis(20);
/// Maximum number of signatures to verify on the current thread.
const FEW_SIGNATURES: usize = 8;

/// Permits to verify signatures. Batches with a valid token never wait for batches without one.
pub(super) struct SignaturePermits {
    proven: Semaphore,
    unproven: Semaphore,
}

impl SignaturePermits {
    pub(super) fn new() -> Self {
        Self { proven: Semaphore::new(1), unproven: Semaphore::new(1) }
    }
}

/// The tokens of a batch. Each is verified once.
pub(super) struct Tokens {
    policy: Arc<AccessPolicy>,
    known: HashMap<String, Verified>,
    /// Tokens still to be verified, from last to first.
    left: Vec<String>,
    /// Tokens whose keys are unknown until the key sets are reloaded.
    with_unknown_keys: Vec<String>,
    has_learned: bool,
}

impl Tokens {
    /// Verifies tokens up to the first invalid token.
    pub(super) fn verify(policy: Arc<AccessPolicy>, authorizations: Vec<String>) -> Self {
        let bytes = authorizations.iter().map(String::len).sum();
        // Looking up previously verified tokens requires a hash of each token.
        let mut tokens = compute(bytes, || Self::cached(policy, authorizations));
        if tokens.left.len() > FEW_SIGNATURES {
            off_thread(|| tokens.verify_until(FAILURES));
        } else {
            tokens.verify_until(FAILURES);
        }
        tokens
    }

    fn cached(policy: Arc<AccessPolicy>, authorizations: Vec<String>) -> Self {
        let known = HashMap::with_capacity(authorizations.len());
        let mut tokens = Self { policy, known, left: Vec::new(), with_unknown_keys: Vec::new(), has_learned: false };
        for token in authorizations {
            match tokens.policy.verify_cached(&token) {
                Some(known) => {
                    tokens.known.insert(token, known);
                }
                None => tokens.left.push(token),
            }
        }
        tokens.left.sort_unstable();
        tokens.left.dedup();
        tokens
    }

    /// Verifies the remaining tokens, a few per permit.
    pub(super) async fn verify_rest(&mut self, permits: &SignaturePermits) {
        while self.has_left() {
            let permits = if self.has_valid() { &permits.proven } else { &permits.unproven };
            let Ok(_permit) = permits.acquire().await else { return };
            off_thread(|| self.verify_until(FAILURES_PER_PERMIT));
            sleep(PAUSE).await;
        }
    }

    /// Waits until the key sets are reloaded, and then verifies the tokens that need them.
    pub(super) async fn learn_keys(&mut self, permits: &SignaturePermits) {
        if let Some(first) = self.with_unknown_keys.first() {
            // One reload fetches the keys of all tokens.
            self.policy.learn_key(first.as_bytes()).await;
            self.has_learned = true;
            self.left.append(&mut self.with_unknown_keys);
            self.verify_rest(permits).await;
        }
    }

    pub(super) fn has_left(&self) -> bool {
        !self.left.is_empty()
    }

    /// Returns whether any token is valid. Otherwise, anyone could have sent the batch.
    pub(super) fn has_valid(&self) -> bool {
        self.known.values().any(Result::is_ok)
    }

    /// Returns the result for a token, if already known.
    pub(super) fn get(&self, authorization: &str) -> Option<&Verified> {
        self.known.get(authorization)
    }

    fn verify_until(&mut self, failures: usize) {
        let mut failed = 0;
        while failed < failures
            && let Some(token) = self.left.pop()
        {
            let verified = self.policy.verify(&token);
            failed += usize::from(verified.is_err());
            if verified.is_err() && !self.has_learned && self.policy.has_unknown_key(&token) {
                self.with_unknown_keys.push(token);
            } else {
                self.known.insert(token, verified);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use compliance_api::token::{Claims, KeySource, Secret, Verifier, issue};
    use futures::future::join_all;
    use tokio::time::{Instant, timeout};

    use super::*;
    use crate::access::{Limiters, RateLimit};

    fn secret() -> Secret {
        Secret::new([1; 32]).unwrap()
    }

    async fn policy() -> Arc<AccessPolicy> {
        let source = KeySource { secret: Some(secret()), ..KeySource::default() };
        let verifier = Arc::new(Verifier::new(source, None).await.unwrap());
        Arc::new(AccessPolicy::new(verifier, Arc::new(Limiters::new(RateLimit::Off, HashMap::new()))))
    }

    fn valid(company: i64) -> String {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs() as i64;
        format!("Bearer {}", issue(&secret(), &Claims::new(company, now, 3600)).unwrap())
    }

    fn invalid(count: usize) -> impl Iterator<Item = String> {
        (0..count).map(|number| format!("Bearer invalid-{number}"))
    }

    #[tokio::test(start_paused = true)]
    async fn batches_of_invalid_tokens_are_throttled() {
        let (policy, permits) = (policy().await, SignaturePermits::new());
        let message = || Tokens::verify(Arc::clone(&policy), invalid(1000).collect());
        assert_eq!(message().known.len(), 1, "only the first token is verified before the wait");
        // Four concurrent callers, for a second.
        let mut messages = [(); 4].map(|()| message());
        assert!(messages.iter().all(|tokens| tokens.has_left() && !tokens.has_valid()));
        let verifying = join_all(messages.iter_mut().map(|tokens| tokens.verify_rest(&permits)));
        let _ = timeout(Duration::from_secs(1), verifying).await;
        let signatures: usize = messages.iter().map(|tokens| tokens.known.len()).sum();
        assert!((700..=850).contains(&signatures), "{signatures} signatures");
    }

    #[tokio::test(start_paused = true)]
    async fn batched_tokens_are_verified_once() {
        let policy = policy().await;
        let cached = valid(100);
        assert!(policy.verify(&cached).is_ok());
        let all: Vec<String> = invalid(50).chain((1..=50).map(valid)).chain([cached.clone()]).collect();
        let mut tokens = Tokens::cached(Arc::clone(&policy), [all.clone(), all.clone()].concat());
        assert_eq!((tokens.known.len(), tokens.left.len()), (1, 100), "repeated tokens are verified once");
        assert!(tokens.get(&cached).is_some_and(Result::is_ok), "the cached token does not wait");
        let started = Instant::now();
        tokens.verify_rest(&SignaturePermits::new()).await;
        for token in &all {
            assert_eq!(tokens.get(token).unwrap().is_ok(), !token.starts_with("Bearer invalid"), "{token}");
        }
        assert!(started.elapsed() < Duration::from_millis(200), "{:?}", started.elapsed());
    }
}
