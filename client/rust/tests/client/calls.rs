//! Tests results, errors, retries and deadlines of calls.

use std::{
    net::SocketAddr,
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use compliance_client::{
    Client, Error, Retries,
    v1::{
        AffiliateInput, AffiliateUpdate, BatchCreateAffiliatesRequest, CheckAccessRequest, CreateAffiliateRequest,
        GetAffiliateRequest, GetComplianceCaseRequest, ListChangesRequest, ListVocabulariesRequest, Reason, ResultCode,
        UpdateAffiliateRequest,
    },
};
use core_server::access::RateLimit;
use test_support::{Proxy, token_with_scope};
use tokio::{
    io::{AsyncReadExt as _, copy_bidirectional},
    net::{TcpListener, TcpStream},
};

use crate::{Service, observations};

fn affiliate(name: &str) -> CreateAffiliateRequest {
    let affiliate = AffiliateInput {
        client_affiliate_id: Some("A-1".to_owned()),
        affiliate_name: Some(name.to_owned()),
        ..AffiliateInput::default()
    };
    CreateAffiliateRequest { affiliate: Some(affiliate) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_round_trip_small_and_large_messages() {
    let service = Service::start().await;
    let client = service.client();
    assert_eq!(client.call(CheckAccessRequest {}).await.unwrap().company_id, service.company);
    let id = client.call(affiliate("Ann")).await.unwrap().affiliate_id;
    let read = client.call(GetAffiliateRequest { id, as_of: None }).await.unwrap();
    assert_eq!(read.distributor_name.as_deref(), Some("Ann"));
    // The message exceeds the 4 MiB that generated clients accept.
    let saved = client.call(observations(1000, 8000)).await.unwrap();
    assert!(saved.results.len() == 1000 && saved.results.iter().all(|it| it.code() == ResultCode::Saved && it.created));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_include_reasons_and_violations() {
    let service = Service::start().await;
    let client = service.client();
    client.call(affiliate("Ann")).await.unwrap();
    let error = client.call(affiliate("Ann")).await.unwrap_err();
    assert!(matches!(error, Error::AlreadyExists { reason: Reason::AffiliateNameExists, .. }), "{error:?}");
    let error = client.call(GetComplianceCaseRequest { id: 7, as_of: None }).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { reason: Reason::CaseNotFound, .. }), "{error:?}");
    assert_eq!(error.to_string(), "Case not found.");

    let wrong = AffiliateInput { email_one: Some("nobody".to_owned()), ..AffiliateInput::default() };
    let error = client.call(CreateAffiliateRequest { affiliate: Some(wrong.clone()) }).await.unwrap_err();
    let fields: Vec<&str> = error.violations().iter().map(|violation| violation.field.as_str()).collect();
    assert_eq!(fields, ["client_affiliate_id", "affiliate_name", "email_one"]);
    assert_eq!((error.reason(), error.retry_after()), (Some(Reason::InvalidFields), None));

    // The service truncates very long lists of violations.
    let error = client
        .call(BatchCreateAffiliatesRequest { affiliates: vec![wrong; 1000], validate_only: false })
        .await
        .unwrap_err();
    let Error::Invalid { violations, total, .. } = error else { panic!("{error:?}") };
    assert!(total == 3000 && violations.len() > 10, "{total}, {}", violations.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stale_etags_and_unknown_positions_fail() {
    let service = Service::start().await;
    let client = service.client();
    let id = client.call(affiliate("Ann")).await.unwrap().affiliate_id;
    let etag = client.call(GetAffiliateRequest { id, as_of: None }).await.unwrap().etag;
    let rename = |name: &str| {
        let affiliate = AffiliateInput { affiliate_name: Some(name.to_owned()), ..AffiliateInput::default() };
        let mask = prost_types::FieldMask { paths: vec!["affiliate_name".to_owned()] };
        let update =
            AffiliateUpdate { id: Some(id), affiliate: Some(affiliate), update_mask: Some(mask), etag: etag.clone() };
        UpdateAffiliateRequest { update: Some(update) }
    };
    client.call(rename("Bea")).await.unwrap();
    let error = client.call(rename("Cleo")).await.unwrap_err();
    assert!(matches!(error, Error::EtagMismatch { is_retry: false, .. }), "{error:?}");
    assert_eq!(error.reason(), Some(Reason::EtagMismatch));
    // The first attempt is lost.
    let (address, _) = losing(1, service.address).await;
    let error = service.client_at(address).build().unwrap().call(rename("Cleo")).await.unwrap_err();
    assert!(matches!(error, Error::EtagMismatch { is_retry: true, .. }), "{error:?}");
    // The company has two changes, and positions start at 1.
    let error = client.call(ListChangesRequest { after: Some(99), ..Default::default() }).await.unwrap_err();
    let Error::PositionGone { reason, positions, .. } = error else { panic!("{error:?}") };
    assert_eq!((reason, positions["last_position"]), (Reason::PositionGone, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_scope_fails_with_permission_denied() {
    let service = Service::start().await;
    let endpoint = format!("http://{}", service.address);
    let client = Client::builder(endpoint).token(token_with_scope(service.company, None, 60)).build().unwrap();
    let error = client.call(ListVocabulariesRequest {}).await.unwrap_err();
    assert!(matches!(error, Error::PermissionDenied { .. }), "{error:?}");
    assert_eq!(error.reason(), Some(Reason::ScopeMissing));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rate_limited_calls_wait_and_retry() {
    let limit = RateLimit::Limited { requests: NonZeroU32::MIN, window: Duration::from_secs(1) };
    let service = Service::limited(limit).await;
    let start = Instant::now();
    let client = service.client();
    for _ in 0..3 {
        client.call(CheckAccessRequest {}).await.unwrap();
    }
    assert!(start.elapsed() > Duration::from_millis(1500), "{:?}", start.elapsed());

    // A call fails immediately if it cannot wait.
    let limit = RateLimit::Limited { requests: NonZeroU32::MIN, window: Duration::from_hours(24) };
    let service = Service::limited(limit).await;
    let hasty = service.client_at(service.address).deadline(Duration::from_hours(1)).build().unwrap();
    let once = service.client_at(service.address).retries(Retries::none()).build().unwrap();
    once.call(CheckAccessRequest {}).await.unwrap();
    for client in [hasty, once] {
        let error = client.call(CheckAccessRequest {}).await.unwrap_err();
        assert_eq!(error.reason(), Some(Reason::RateLimited));
        assert!(error.is_temporary() && error.retry_after() >= Some(Duration::from_secs(1)), "{error:?}");
    }
}

/// Starts a proxy that closes the first `connections` connections after a request arrives.
async fn losing(connections: usize, service: SocketAddr) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let lost = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&lost);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            if counter.load(Ordering::SeqCst) == connections {
                let mut service = TcpStream::connect(service).await.unwrap();
                tokio::spawn(async move { copy_bidirectional(&mut client, &mut service).await });
                continue;
            }
            // The HTTP/2 preface and settings are shorter than 300 bytes. A token is longer.
            let _ = client.read_exact(&mut [0; 300]).await;
            counter.fetch_add(1, Ordering::SeqCst);
        }
    });
    (address, lost)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_are_retried_after_lost_connections() {
    let service = Service::start().await;
    let (address, lost) = losing(2, service.address).await;
    let client = service.client_at(address).build().unwrap();
    assert_eq!(client.call(CheckAccessRequest {}).await.unwrap().company_id, service.company);
    assert_eq!(lost.load(Ordering::SeqCst), 2);

    let (address, _) = losing(1, service.address).await;
    let client = service.client_at(address).retries(Retries::none()).build().unwrap();
    let error = client.call(CheckAccessRequest {}).await.unwrap_err();
    assert!(error.is_temporary() && error.reason() == Some(Reason::CoreUnavailable), "{error:?}");
    // The client may not notice immediately that the connection is closed.
    let next = loop {
        match client.call(CheckAccessRequest {}).await {
            Err(error) if error.is_temporary() => {}
            next => break next,
        }
    };
    assert_eq!(next.unwrap().company_id, service.company);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_fail_at_their_deadline() {
    let service = Service::start().await;
    let proxy = Proxy::tcp(service.address).await;
    let client = service.client_at(proxy.address()).deadline(Duration::from_hours(1)).build().unwrap();
    client.call(CheckAccessRequest {}).await.unwrap();
    let _held = proxy.hold().await;
    let start = Instant::now();
    let error = client.with_deadline(Duration::from_millis(200)).call(CheckAccessRequest {}).await.unwrap_err();
    assert!(matches!(error, Error::DeadlineExceeded), "{error:?}");
    assert!(start.elapsed() < Duration::from_mins(1), "{:?}", start.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_to_unreachable_service_report_refused_connections() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let deadline = Duration::from_secs(5);
    let client = Client::builder(format!("http://{free}")).token("t").deadline(deadline).build().unwrap();
    let start = Instant::now();
    let error = client.call(CheckAccessRequest {}).await.unwrap_err();
    assert_eq!(error.reason(), Some(Reason::CoreUnavailable), "{error:?}");
    assert!(error.to_string().contains("Connection refused"), "{error}");
    assert!(start.elapsed() < Duration::from_mins(1), "{:?}", start.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_settings_are_rejected() {
    for client in [Client::builder("http://127.0.0.1:1").build(), Client::builder("no url").token("t").build()] {
        assert!(matches!(client, Err(Error::Settings(_))), "{client:?}");
    }
    let client = Client::builder("http://127.0.0.1:1").token("a\nb").build().unwrap();
    assert!(matches!(client.call(CheckAccessRequest {}).await, Err(Error::Token(_))));
}
