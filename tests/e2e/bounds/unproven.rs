//! Batched reads without valid tokens, from clients that never read the responses.

use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use http_body_util::Full;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost_reflect::prost::Message as _;
use test_support::{Options, TestService, new_company, reason_of, token};
use tokio::{net::TcpStream, time::timeout};

use crate::batch_read::{Batch, affiliate, connect};

/// Messages above this size, in bytes, reserve memory.
const LEAST: usize = 16 << 10;
/// Size of the largest message, in bytes.
const MOST: usize = 3 << 20;
/// Number of tokens per message.
const TOKENS: usize = 200;
const SOON: Duration = Duration::from_mins(1);

/// Messages without valid tokens hold the memory for unknown callers only for a limited time. Messages with a valid token do not
/// need this memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a long test: tools/scripts/test-long runs it"]
async fn messages_without_valid_tokens_release_memory() {
    let service = TestService::with(Options { call_timeout: Duration::from_secs(5), ..Options::default() }).await;
    let mut unread = Vec::new();
    for bytes in std::iter::successors(Some(MOST), |bytes| Some(bytes / 2)).take_while(|bytes| *bytes > LEAST) {
        for _ in 0..2 {
            let invalid = |number| format!("{number}{}", "x".repeat(bytes / TOKENS));
            let batch =
                (0..TOKENS).fold(Batch::default(), |batch, number| batch.read(Some(&invalid(number)), affiliate(1)));
            let message = batch.into_request().encode_to_vec();
            let mut body = BytesMut::with_capacity(message.len() + 5);
            body.put_u8(0);
            body.put_u32(message.len() as u32);
            body.put_slice(&message);

            let stream = TcpStream::connect(service.grpc).await.unwrap();
            let mut http2 = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
            let handshake = http2.initial_stream_window_size(0).handshake(TokioIo::new(stream));
            let (mut client, connection) = handshake.await.unwrap();
            let connection = tokio::spawn(connection);
            let request = http::Request::post(format!("http://{}/compliance.v1.ReadService/BatchRead", service.grpc))
                .header("content-type", "application/grpc")
                .header("te", "trailers")
                .body(Full::new(Bytes::from(body)));
            let response = timeout(SOON, client.send_request(request.unwrap())).await.unwrap().unwrap();
            if !response.headers().contains_key("grpc-status") {
                unread.push((client, response, connection));
            }
        }
    }
    assert!(unread.len() > 2, "too few messages are pending");

    let tokens: Vec<String> = (0..100).map(|_| token(new_company())).collect();
    let reads = || tokens.iter().fold(Batch::default(), |batch, token| batch.read(Some(token), affiliate(1)));
    assert!(reads().into_request().encoded_len() > LEAST);
    for result in reads().results(&connect(service.grpc).await).await {
        assert_eq!(reason_of(&result.unwrap_err()), "AFFILIATE_NOT_FOUND");
    }

    for (_client, _response, connection) in unread {
        let _ = timeout(SOON, connection).await.expect("the service still holds an unread message").unwrap();
    }
}
