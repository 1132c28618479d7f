//! Tests token renewal and token errors.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use compliance_client::{
    BoxError, Client, Error,
    v1::{CheckAccessRequest, Reason},
};
use futures::future::join_all;
use test_support::{token, token_with_scope};

use crate::Service;

/// Returns a client and the number of tokens that it has requested.
///
/// Its source returns these tokens in order, and then repeats the last one.
fn client_with(service: &Service, tokens: Vec<Result<String, &'static str>>) -> (Client, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let source = move || {
        let index = counter.fetch_add(1, Ordering::SeqCst).min(tokens.len() - 1);
        let token = tokens[index].clone().map_err(BoxError::from);
        async move { token }
    };
    let client = Client::builder(format!("http://{}", service.address)).token_source(source).build().unwrap();
    (client, asked)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_calls_renew_expired_token_once() {
    let service = Service::start().await;
    let expired = token_with_scope(service.company, None, -10);
    let (client, asked) = client_with(&service, vec![Ok(expired), Ok(token(service.company))]);
    for result in join_all((0..20).map(|_| client.call(CheckAccessRequest {}))).await {
        assert_eq!(result.unwrap().company_id, service.company);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn call_fails_after_two_rejected_tokens() {
    let service = Service::start().await;
    let expired = |seconds| Ok(token_with_scope(service.company, None, seconds));
    let (client, asked) = client_with(&service, vec![expired(-10), expired(-20)]);
    let error = client.call(CheckAccessRequest {}).await.unwrap_err();
    assert!(matches!(error, Error::Unauthenticated { reason: Reason::TokenExpired, .. }), "{error:?}");
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn token_source_errors_fail_the_call() {
    let service = Service::start().await;
    let (client, asked) = client_with(&service, vec![Err("the issuer is unavailable"), Ok(token(service.company))]);
    let error = client.call(CheckAccessRequest {}).await.unwrap_err();
    assert_eq!(error.to_string(), "no token: the issuer is unavailable");
    assert_eq!(client.call(CheckAccessRequest {}).await.unwrap().company_id, service.company);
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn debug_output_hides_tokens() {
    let service = Service::start().await;
    let builder = Client::builder(format!("http://{}", service.address)).token("hidden");
    assert!(!format!("{builder:?}").contains("hidden"));
    let client = builder.build().unwrap();
    assert!(client.call(CheckAccessRequest {}).await.is_err());
    assert!(!format!("{client:?}").contains("hidden"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_are_trimmed_and_never_shown_in_errors() {
    let service = Service::start().await;
    let builder = || Client::builder(format!("http://{}", service.address));
    let client = builder().token(format!(" {}\r\n", token(service.company))).build().unwrap();
    assert_eq!(client.call(CheckAccessRequest {}).await.unwrap().company_id, service.company);
    for invalid in ["", "\n", "secret\nsecret", "Bearer secret", "secr\u{e9}t"] {
        let error =
            builder().token(invalid).build().unwrap().call(CheckAccessRequest {}).await.unwrap_err().to_string();
        assert!(error.starts_with("no token: the token is ") && !error.contains("secr"), "{error}");
    }
}
