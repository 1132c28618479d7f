//! Messages that are small on the wire but large in memory. The core rejects them before decoding.

use std::net::SocketAddr;

use compliance_api::error::{Error, Reason};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use test_support::{TestService, new_company, reason_of, token};
use tokio::net::TcpStream;
use tonic::{Code, Status};

pub(super) const ADD_URLS: &str = "/compliance.v1.ComplianceUrlService/AddComplianceUrls";
pub(super) const CREATE: &str = "/compliance.v1.AffiliateService/BatchCreateAffiliates";

/// Sends an encoded message and returns the call's status.
pub(super) async fn send(address: SocketAddr, path: &str, token: &str, message: Vec<u8>) -> Result<(), Status> {
    let mut body = vec![0];
    body.extend_from_slice(&(message.len() as u32).to_be_bytes());
    body.extend_from_slice(&message);
    send_body(address, path, token, body).await
}

/// Sends a raw body and returns the call's status.
async fn send_body(address: SocketAddr, path: &str, token: &str, body: Vec<u8>) -> Result<(), Status> {
    let stream = TcpStream::connect(address).await.unwrap();
    let http2 = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    let (mut client, connection) = http2.handshake(TokioIo::new(stream)).await.unwrap();
    let connection = tokio::spawn(connection);
    let request = http::Request::post(format!("http://{address}{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("authorization", format!("Bearer {token}"))
        .body(Full::new(bytes::Bytes::from(body)))
        .unwrap();
    let response = client.send_request(request).await.unwrap();
    let (head, body) = response.into_parts();
    let status = if let Some(status) = Status::from_header_map(&head.headers) {
        status
    } else {
        let body = body.collect().await.unwrap();
        Status::from_header_map(body.trailers().unwrap()).unwrap()
    };
    connection.abort();
    if status.code() == Code::Ok { Ok(()) } else { Err(status) }
}

/// Encodes a list of `items` empty elements.
pub(super) fn empty_items(items: usize) -> Vec<u8> {
    [0x0a, 0].repeat(items)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_with_too_many_items_are_rejected() {
    let service = TestService::start().await;
    let token = token(new_company());
    for (path, field) in [(ADD_URLS, "urls"), (CREATE, "affiliates")] {
        let status = send(service.grpc, path, &token, empty_items(1_000_000)).await.unwrap_err();
        assert_eq!((status.code(), reason_of(&status).as_str()), (Code::InvalidArgument, "INVALID_FIELDS"));
        let error = Error::from(&status);
        let violations: Vec<_> = error.violations.iter().map(|violation| violation.path.as_str()).collect();
        assert_eq!(violations, [field]);
        assert_eq!(status.message(), format!("The {field} field must not have more than 100000 items."));
    }
    // JSON requests have the same limit and message.
    let rest = service.rest(new_company());
    let body = format!(r#"{{"urls":[{}{{}}]}}"#, "{},".repeat(100_000));
    let message = rest.post("/urls", body).await.with_status(422)["message"].clone();
    assert_eq!(message, "The urls field must not have more than 100000 items.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_messages_are_rejected() {
    let service = TestService::start().await;
    let token = token(new_company());
    let get = "/compliance.v1.AffiliateService/GetAffiliate";
    // A string instead of a number, a length past the end, invalid UTF-8, a truncated varint, and a length past the end in a batch.
    for (path, message) in [
        (get, vec![0x0a, 1, b'x']),
        (ADD_URLS, vec![0x0a, 200, 1]),
        (ADD_URLS, vec![0x0a, 3, 0x0a, 1, 0xff]),
        (get, vec![0x08, 0xff]),
        ("/compliance.v1.ReadService/BatchRead", vec![0x0a, 200, 1]),
    ] {
        let status = send(service.grpc, path, &token, message.clone()).await.unwrap_err();
        assert_eq!(
            (status.code(), reason_of(&status).as_str()),
            (Code::InvalidArgument, "INVALID_FIELDS"),
            "{message:?}"
        );
        assert_eq!(status.message(), "The body must be a valid message of the operation.");
    }
    for (body, message) in [
        (vec![], "The request has no message body."),
        (vec![0, 0, 0, 0, 9, 1], "The request's message is incomplete."),
        (vec![1, 0, 0, 0, 1, 0], "The request's message must not be compressed."),
    ] {
        let status = send_body(service.grpc, get, &token, body).await.unwrap_err();
        assert_eq!((status.code(), status.message()), (Code::InvalidArgument, message));
        assert_eq!(reason_of(&status), "INVALID_FIELDS");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oversized_messages_are_rejected() {
    let service = TestService::start().await;
    let token = token(new_company());
    // The length prefix announces 4 GiB, but the body contains one byte.
    let announced = [&[0][..], &u32::MAX.to_be_bytes(), b"x"].concat();
    let status = send_body(service.grpc, ADD_URLS, &token, announced).await.unwrap_err();
    assert_eq!((status.code(), reason_of(&status).as_str()), (Code::OutOfRange, "BODY_TOO_LARGE"));
    // A 7 MB message that would decode to 180 MB. Each mask contains 1,000 empty paths.
    let mask = [&[0x1a, 0xd0, 0x0f][..], &empty_items(1000)].concat();
    let update = [&[0x12, 0xd3, 0x0f][..], &mask].concat().repeat(4000);
    let path = "/compliance.v1.AffiliateService/BatchUpdateAffiliates";
    let status = send(service.grpc, path, &token, update).await.unwrap_err();
    assert_eq!(Error::from(&status).reason, Reason::BodyTooLarge);
}

/// The core decodes a batch before it can verify the tokens.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batch_read_limits_apply_without_valid_tokens() {
    let service = TestService::start().await;
    let path = "/compliance.v1.ReadService/BatchRead";
    let status = send(service.grpc, path, "none", vec![0; 5 << 20]).await.unwrap_err();
    assert_eq!(Error::from(&status).reason, Reason::BodyTooLarge);
    let status = send(service.grpc, path, "none", [0x12, 0].repeat(2 << 20)).await.unwrap_err();
    assert!(matches!(Error::from(&status).reason, Reason::BodyTooLarge | Reason::InvalidFields), "{status:?}");
    let status = send(service.grpc, path, "none", [0x12, 0].repeat(1001)).await.unwrap_err();
    assert_eq!(status.message(), "The reads field must not have more than 1000 items.");
}
