//! Tests reads of single records: responses and retries.

use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use compliance_api::{
    token::SCOPE_MONITOR,
    v1::{
        AddComplianceUrlsRequest, AffiliateInput, AffiliateUpdate, GetAffiliateRequest, GetComplianceCaseRequest,
        GetComplianceUrlRequest, UpdateAffiliateRequest, UrlInput,
    },
};
use futures::join;
use http::HeaderMap;
use http_body_util::{BodyExt as _, Full};
use prost::Message;
use test_support::{Proxy, TestCore, fresh_database, new_company, token_with_scope};
use tokio::time::sleep;
use tonic::Code;
use tower::ServiceExt as _;

use crate::monitoring::builders::{observation, opening};

/// A response's status, headers, messages and trailers.
type Answer = (u16, HeaderMap, Bytes, Option<HeaderMap>);

/// Encodes the request for a record ID.
type Encode = fn(i64) -> Vec<u8>;

async fn answer(core: &TestCore, token: &str, operation: &str, body: Bytes, encoding: Option<&str>) -> Answer {
    let request = http::Request::post(format!("http://core/compliance.v1.{operation}"))
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    let request = encoding.into_iter().fold(request, |request, encoding| request.header("grpc-encoding", encoding));
    let response = core.core.service().oneshot(request.body(Full::new(body)).unwrap()).await.unwrap();
    let (head, body) = response.into_parts();
    let body = body.collect().await.unwrap();
    let trailers = body.trailers().cloned();
    (head.status.as_u16(), head.headers, body.to_bytes(), trailers)
}

fn prefixed(message: &[u8]) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u8(0);
    out.put_u32(message.len() as u32);
    out.put_slice(message);
    out.freeze()
}

fn code(answer: &Answer) -> Code {
    let (_, head, _, trailers) = answer;
    let status = trailers.as_ref().and_then(|trailers| trailers.get("grpc-status")).or(head.get("grpc-status"));
    Code::from_bytes(status.unwrap().as_bytes())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn single_reads_accept_only_identity_encoding() {
    let core = TestCore::start().await;
    let token = token_with_scope(new_company(), Some(SCOPE_MONITOR), 3600);
    let mut clients = core.clients(&token);
    let affiliate = clients.affiliate("A").await;
    let url = clients.observe_one(observation("https://a.example/")).await;
    let case = clients.open(opening("r")).await;
    let kinds: [(&str, i64, Encode); 3] = [
        ("AffiliateService/GetAffiliate", affiliate, |id| GetAffiliateRequest { id, as_of: None }.encode_to_vec()),
        ("ComplianceUrlService/GetComplianceUrl", url, |id| {
            GetComplianceUrlRequest { id, as_of: None }.encode_to_vec()
        }),
        ("ComplianceCaseService/GetComplianceCase", case, |case_id| {
            GetComplianceCaseRequest { id: case_id, as_of: None }.encode_to_vec()
        }),
    ];
    for (operation, id, message) in kinds {
        let malformed = prefixed(&[0x08, 0xff]);
        let unknown_field = [&message(id)[..], &[0x7a, 1, b'x']].concat();
        let requests = [
            (prefixed(&message(id)), Code::Ok),
            (prefixed(&unknown_field), Code::Ok),
            (prefixed(&message(id + 1_000_000)), Code::NotFound),
            (prefixed(b""), Code::NotFound),
            (malformed, Code::InvalidArgument),
            (Bytes::new(), Code::InvalidArgument),
        ];
        for (request, expected) in requests {
            let plain = answer(&core, &token, operation, request.clone(), None).await;
            let identity = answer(&core, &token, operation, request.clone(), Some("identity")).await;
            assert_eq!(plain, identity, "{operation} {request:?}");
            assert_eq!(code(&plain), expected, "{operation} {request:?}");
            assert_eq!(plain.2.is_empty(), expected != Code::Ok, "{operation} {request:?}");
        }
        let compressed = answer(&core, &token, operation, prefixed(&message(id)), Some("gzip")).await;
        assert_eq!(code(&compressed), Code::Unimplemented, "{operation}");
    }
}

/// Writes used all connections, so the read must first set its own lock timeout. This statement reveals the lost connections, and the core
/// retries the read on a new one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_retry_after_losing_all_connections() {
    let database = fresh_database().await;
    let proxy = Proxy::postgresql(database.socket);
    // Requests use two of these connections.
    let core = TestCore::over(database.options.socket(proxy.folder()), 4).await;
    let mut clients = core.company(new_company());
    let id = clients.affiliate("A").await;
    for _ in 0..10 {
        let held = proxy.hold().await;
        let (mut affiliates, mut urls) = (clients.affiliates.clone(), clients.urls.clone());
        let affiliate = Some(AffiliateInput { city: Some("C".to_owned()), ..AffiliateInput::default() });
        let update = Some(AffiliateUpdate { id: Some(id), affiliate, update_mask: None, etag: String::new() });
        let add = vec![UrlInput { url: Some("https://example.org/".to_owned()) }];
        let (updated, added, ()) = join!(
            affiliates.update_affiliate(UpdateAffiliateRequest { update }),
            urls.add_compliance_urls(AddComplianceUrlsRequest { urls: add, validate_only: false }),
            async {
                sleep(Duration::from_millis(50)).await;
                drop(held);
            },
        );
        updated.unwrap();
        added.unwrap();
        proxy.cut();
        assert_eq!(clients.read_affiliate(id).await.id, id);
    }
}
