//! Unread responses to document requests without a token.

use std::{net::SocketAddr, time::Duration};

use bytes::Bytes;
use futures::future::join_all;
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use test_support::{TestService, new_company};
use tokio::{net::TcpStream, time::timeout};

/// Number of requests. Exceeds the maximum number in flight on one connection.
const DOCUMENTS: usize = 200;

/// Requests documents on one connection and returns the unread responses.
async fn ask(address: SocketAddr, path: &str, accepted: &str) -> Vec<http::Response<Incoming>> {
    let stream = TcpStream::connect(address).await.unwrap();
    let mut http2 = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    let (client, connection) = http2.initial_stream_window_size(0).handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let responses = (0..DOCUMENTS).map(|_| {
        let request = http::Request::get(format!("http://{address}{path}")).header("accept-encoding", accepted);
        let response = client.clone().send_request(request.body(Empty::<Bytes>::new()).unwrap());
        async { timeout(Duration::from_mins(1), response).await.unwrap().unwrap() }
    });
    join_all(responses).await
}

/// Unread documents do not affect callers with a token.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a long test: tools/scripts/test-long runs it"]
async fn unread_documents_do_not_affect_other_callers() {
    let service = TestService::start().await;
    let companies = [new_company(), new_company()];
    for address in [service.rest, service.rest_remote] {
        let mut unread = Vec::new();
        for (path, accepted) in [("/openapi.json", "identity"), ("/openapi.json", "gzip"), ("/docs/reference", "gzip")]
        {
            let responses = ask(address, path, accepted).await;
            assert!(responses.iter().all(|response| response.status() == 200), "{path}");
            unread.push(responses);
        }
        for company in companies {
            for rest in [service.rest(company), service.rest_remote(company)] {
                let urls: Vec<_> = (0..5000).map(|url| format!(r#"{{"url":"https://{url}.example/"}}"#)).collect();
                let added = rest.post("/urls", format!(r#"{{"urls":[{}]}}"#, urls.join(","))).await;
                assert_eq!(added.status, 201, "{}", added.text);
            }
        }
    }
}
