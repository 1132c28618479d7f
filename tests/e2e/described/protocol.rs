//! Invalid gRPC calls and malformed messages. Every error has a reason, even if a library rejects the call.

use std::net::SocketAddr;

use bytes::Bytes;
use compliance_api::v1::{AffiliateInput, CreateAffiliateRequest};
use futures::stream::{self, StreamExt as _};
use http::{HeaderMap, HeaderName, Method, Request, header::CONTENT_TYPE};
use http_body_util::{BodyExt, StreamBody, combinators::BoxBody};
use hyper::{body::Frame, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message as _;
use test_support::{Options, TestService, fresh_database, new_company, reason_of, token};
use tokio::net::TcpStream;
use tonic::{Code, Status};

use super::messages::{contract, operations};

const GET: &str = "compliance.v1.AffiliateService/GetAffiliate";
const STREAM: &str = "compliance.v1.MonitoringService/StreamUrlObservations";
const BATCH_READ: &str = "compliance.v1.ReadService/BatchRead";
const HEALTH: [&str; 2] = ["grpc.health.v1.Health/Check", "grpc.health.v1.Health/Watch"];
const REFLECTION: [&str; 2] = [
    "grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// A call's result: HTTP status, headers and gRPC status.
type Answer = (u16, HeaderMap, Status);

/// A connection to the core, with a company's token. Clones share the connection.
#[derive(Clone)]
struct Connection {
    sender: http2::SendRequest<BoxBody<Bytes, std::convert::Infallible>>,
    address: SocketAddr,
    token: String,
}

impl Connection {
    async fn open(service: &TestService, company: i64) -> Self {
        let stream = TcpStream::connect(service.grpc).await.unwrap();
        // Otherwise, the frames of a body wait for acknowledgments.
        stream.set_nodelay(true).unwrap();
        let http2 = http2::Builder::new(TokioExecutor::new());
        let (sender, connection) = http2.handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Self { sender, address: service.grpc, token: token(company) }
    }

    /// Calls an operation. `change` edits the head, and `frames` are the body's frames.
    async fn call(&self, path: &str, change: impl FnOnce(&mut Request<()>), frames: &[&[u8]]) -> Answer {
        let mut request = Request::post(format!("http://{}/{path}", self.address))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header("authorization", format!("Bearer {}", self.token))
            .body(())
            .unwrap();
        change(&mut request);
        let frames: Vec<_> = frames.iter().map(|frame| Ok(Frame::data(Bytes::copy_from_slice(frame)))).collect();
        let request = request.map(|()| BodyExt::boxed(StreamBody::new(stream::iter(frames))));
        let (head, body) = self.sender.clone().send_request(request).await.unwrap().into_parts();
        let status = if let Some(status) = Status::from_header_map(&head.headers) {
            status
        } else {
            let body = body.collect().await.unwrap();
            Status::from_header_map(body.trailers().expect("missing trailers")).expect("missing status")
        };
        (head.status.as_u16(), head.headers, status)
    }

    async fn send(&self, path: &str, frames: &[&[u8]]) -> Answer {
        self.call(path, |_| {}, frames).await
    }
}

fn message(encoded: &[u8]) -> Vec<u8> {
    [&[0][..], &(encoded.len() as u32).to_be_bytes(), encoded].concat()
}

fn assert_refused((_, _, status): &Answer, code: Code, reason: &str, call: &str) {
    assert_eq!((status.code(), reason_of(status).as_str()), (code, reason), "{call}: {status:?}");
    assert!(!status.message().is_empty(), "{call}");
}

/// Returns every operation path, including health and reflection, and two unknown paths.
fn every_path() -> Vec<String> {
    let contract = contract();
    let own = operations(&contract).into_iter().map(|(operation, _)| format!("compliance.v1.{operation}"));
    let other = HEALTH.into_iter().chain(REFLECTION).chain(["compliance.v1.AffiliateService/NoSuch", "x"]);
    own.chain(other.map(str::to_owned)).collect()
}

/// Calls every path with an invalid head, and expects this error.
async fn refuse_everywhere(
    connection: &Connection,
    change: impl Fn(&mut Request<()>) + Copy,
    expected: (u16, Code, &str),
    check: impl Fn(&HeaderMap) + Copy,
) {
    let paths = every_path();
    assert!(paths.len() > 30, "{paths:?}");
    let calls = stream::iter(paths).map(|path| async move {
        let answer = connection.call(&path, change, &[&message(&[])]).await;
        (path, answer)
    });
    let answers: Vec<(String, Answer)> = calls.buffer_unordered(16).collect().await;
    for (path, answer) in answers {
        let (http, code, reason) = expected;
        assert_eq!(answer.0, http, "{path} {reason}");
        assert_refused(&answer, code, reason, &path);
        assert_eq!(answer.1[CONTENT_TYPE], "application/grpc", "{path}");
        check(&answer.1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_grpc_request_heads_are_rejected() {
    let service = TestService::shared().await;
    let connection = &Connection::open(&service, new_company()).await;
    for method in [Method::GET, Method::PUT, Method::OPTIONS] {
        let change = |request: &mut Request<()>| *request.method_mut() = method.clone();
        let expected = (405, Code::Unimplemented, "METHOD_NOT_ALLOWED");
        refuse_everywhere(connection, &change, expected, |headers| assert_eq!(headers["allow"], "POST")).await;
    }
    for content_type in [None, Some("application/json"), Some("application/grpc-web+proto"), Some("")] {
        let change = |request: &mut Request<()>| {
            request.headers_mut().remove(CONTENT_TYPE);
            if let Some(content_type) = content_type {
                request.headers_mut().insert(CONTENT_TYPE, content_type.parse().unwrap());
            }
        };
        let expected = (415, Code::InvalidArgument, "CONTENT_TYPE_INVALID");
        refuse_everywhere(connection, change, expected, |_| {}).await;
    }
    let with = |name: &'static str, value: &'static str| {
        move |request: &mut Request<()>| {
            request.headers_mut().insert(HeaderName::from_static(name), value.parse().unwrap());
        }
    };
    for encoding in ["gzip", "deflate", "zstd", "unknown"] {
        let expected = (200, Code::Unimplemented, "COMPRESSION_UNSUPPORTED");
        let check = |headers: &HeaderMap| assert_eq!(headers["grpc-accept-encoding"], "identity");
        refuse_everywhere(connection, with("grpc-encoding", encoding), expected, check).await;
    }
    for timeout in ["", "5", "S", "-1S", "1x", "123456789S"] {
        let expected = (200, Code::InvalidArgument, "INVALID_FIELDS");
        refuse_everywhere(connection, with("grpc-timeout", timeout), expected, |_| {}).await;
    }
    // The service accepts calls with valid heads.
    for (name, value) in [
        ("grpc-timeout", "5S"),
        ("grpc-encoding", "identity"),
        ("content-type", "application/grpc+proto"),
        ("content-type", "application/grpc;charset=utf-8"),
    ] {
        let (http, _, status) = connection.call(HEALTH[0], with(name, value), &[&message(&[])]).await;
        assert_eq!((http, status.code()), (200, Code::Ok), "{name}: {value}");
        let answer = connection.call(GET, with(name, value), &[&message(&[8, 1])]).await;
        assert_refused(&answer, Code::NotFound, "AFFILIATE_NOT_FOUND", value);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_grpc_bodies_are_rejected() {
    let service = TestService::shared().await;
    let connection = &Connection::open(&service, new_company()).await;
    let contract = contract();
    let too_large = [&[0][..], &u32::MAX.to_be_bytes(), b"x"].concat();
    let (invalid, large) = ((Code::InvalidArgument, "INVALID_FIELDS"), (Code::OutOfRange, "BODY_TOO_LARGE"));
    let operations = stream::iter(operations(&contract));
    let checked = operations.for_each_concurrent(16, async |(operation, method)| {
        let path = &format!("compliance.v1.{operation}");
        // A tag with the unknown wire type 7.
        let malformed = &message(&[0x0f]);
        let mut requests: Vec<(&str, Vec<&[u8]>, (Code, &str))> = vec![
            ("incomplete message", vec![&[0, 0, 0, 0, 9, 1]], invalid),
            ("incomplete header", vec![&[0, 0]], invalid),
            ("compressed message", vec![&[1, 0, 0, 0, 0]], invalid),
            ("unknown flag", vec![&[2, 0, 0, 0, 0]], invalid),
            ("malformed message", vec![malformed], invalid),
            ("too large", vec![&too_large], large),
        ];
        let two = [message(&[]), message(&[])].concat();
        if !method.is_client_streaming() {
            requests.extend([
                ("no message", vec![], invalid),
                ("two messages in a frame", vec![&two[..]], invalid),
                ("two messages in two frames", vec![&two[..5], &two[5..]], invalid),
                ("a message and a half", vec![&two[..7]], invalid),
            ]);
        }
        for (name, frames, (code, reason)) in requests {
            let answer = connection.send(path, &frames).await;
            assert_eq!(answer.0, 200);
            assert_refused(&answer, code, reason, &format!("{path}: {name}"));
        }
    });
    checked.await;
    // The stream fails after the service has saved its first message.
    let answer = connection.send(STREAM, &[&message(&[]), &[1, 0, 0, 0, 0]]).await;
    assert_refused(&answer, invalid.0, invalid.1, "a stream");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_health_and_reflection_requests_are_rejected() {
    let service = TestService::shared().await;
    let connection = &Connection::open(&service, new_company()).await;
    let (invalid, large) = ((Code::InvalidArgument, "INVALID_FIELDS"), (Code::OutOfRange, "BODY_TOO_LARGE"));
    let not_found = (Code::NotFound, "REFERENCE_NOT_FOUND");
    let too_large = [&[0][..], &u32::MAX.to_be_bytes(), b"x"].concat();
    for path in HEALTH {
        for (name, frames, (code, reason)) in [
            ("no message", vec![], invalid),
            ("incomplete message", vec![&[0, 0, 0, 0, 9, 1][..]], invalid),
            ("compressed message", vec![&[1, 0, 0, 0, 0]], invalid),
            ("unknown flag", vec![&[2, 0, 0, 0, 0]], invalid),
            ("malformed message", vec![&message(&[0x0f])], invalid),
            ("too large", vec![&too_large], large),
            ("unknown service", vec![&message(&[0x0a, 1, b'x'])], not_found),
        ] {
            assert_refused(&connection.send(path, &frames).await, code, reason, &format!("{path}: {name}"));
        }
    }
    for path in REFLECTION {
        for (name, request, (code, reason)) in [
            ("empty request", vec![], invalid),
            ("unknown file", vec![0x1a, 1, b'x'], not_found),
            ("unknown symbol", vec![0x22, 1, b'x'], not_found),
        ] {
            assert_refused(
                &connection.send(path, &[&message(&request)]).await,
                code,
                reason,
                &format!("{path}: {name}"),
            );
        }
    }
}

/// The service accepts the call before the library fails to encode the response.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oversized_responses_return_body_too_large() {
    let database = fresh_database().await.options;
    let service = TestService::over(database.clone(), Options::default()).await;
    let company = new_company();
    let notes = Some("x".repeat(2000));
    let named = |name: &str| AffiliateInput {
        client_affiliate_id: Some(name.to_owned()),
        affiliate_name: Some(name.to_owned()),
        notes: notes.clone(),
        ..AffiliateInput::default()
    };
    let request = CreateAffiliateRequest { affiliate: Some(named("A")) };
    let id = service.grpc(company).await.affiliates.create_affiliate(request).await.unwrap().into_inner().affiliate_id;

    let small = TestService::over(database, Options { message_limit: 1000, ..Options::default() }).await;
    let connection = &Connection::open(&small, company).await;
    let get = message(&compliance_api::v1::GetAffiliateRequest { id, as_of: None }.encode_to_vec());
    let batch = message(&compliance_api::v1::BatchGetAffiliatesRequest { ids: vec![id] }.encode_to_vec());
    let identity = |request: &mut Request<()>| {
        request.headers_mut().insert("grpc-encoding", "identity".parse().unwrap());
    };
    for (name, answer) in [
        ("one record", connection.send(GET, &[&get]).await),
        ("one record, on the general path", connection.call(GET, identity, &[&get]).await),
        ("many records", connection.send("compliance.v1.AffiliateService/BatchGetAffiliates", &[&batch]).await),
        ("vocabularies", connection.send("compliance.v1.MonitoringService/ListVocabularies", &[&message(&[])]).await),
        ("affiliate list", connection.send("compliance.v1.AffiliateService/ListAffiliates", &[&message(&[])]).await),
    ] {
        assert_refused(&answer, Code::OutOfRange, "BODY_TOO_LARGE", name);
    }
    // Batched reads have their own limit.
    assert_eq!(connection.send(BATCH_READ, &[&message(&[])]).await.2.code(), Code::Ok);
}
