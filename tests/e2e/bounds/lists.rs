//! Lists that clients open but do not read.

use std::{net::SocketAddr, time::Duration};

use compliance_api::v1::ListAffiliatesRequest;
use rest_gateway::Settings;
use test_support::{GrpcClients, Options, RestClient, TestService, new_company, token};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpSocket,
    time::timeout,
};
use tonic::{Code, Response, Status, transport::Endpoint};

const LIST_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum wait for any other event on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);
/// Maximum number of open lists per company.
const MOST: usize = 4;
/// Number of records in the long list, more than fit in the system's buffers.
const MANY: i64 = 5000;
const FEW: i64 = 10;

/// Unread lists count toward their company's limit and end at their timeout.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a long test: tools/scripts/test-long runs it"]
async fn unread_lists_are_limited_and_time_out() {
    // The default write timeout would close unread connections first.
    let mut settings = Settings { list_timeout: LIST_TIMEOUT, ..Settings::default() };
    settings.connections.write_timeout = 10 * PATIENCE;
    let service = &TestService::with(Options { settings, company_streams: MOST, ..Options::default() }).await;
    tokio::join!(
        of_one_gateway(service, service.rest, service.rest(0)),
        of_one_gateway(service, service.rest_remote, service.rest_remote(0)),
    );
}

/// Returns two companies with tokens. The first company has a long list.
async fn companies(service: &TestService) -> [(i64, String); 2] {
    let tokens = [new_company(), new_company()].map(|company| (company, token(company)));
    for ((company, _), records) in tokens.iter().zip([MANY, FEW]) {
        sqlx::query(
            "insert into affiliates (company_id, client_affiliate_id, affiliate_name, notes)
            select $1, 'C-' || n, 'Affiliate ' || n, repeat('note ', 400) from generate_series(1, $2) n",
        )
        .bind(company)
        .bind(records)
        .execute(&service.pool)
        .await
        .unwrap();
    }
    tokens
}

/// The client reads from the connection but never from the lists.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a long test: tools/scripts/test-long runs it"]
async fn unread_grpc_lists_are_limited_and_time_out() {
    let options = Options { list_timeout: LIST_TIMEOUT, company_streams: MOST, ..Options::default() };
    let service = &TestService::with(options).await;
    let [(_, company), (_, other)] = companies(service).await;
    let endpoint = Endpoint::from_shared(format!("http://{}", service.grpc)).unwrap();
    let channel = endpoint.initial_stream_window_size(4096).connect().await.unwrap();
    let list = async |token: &str| {
        let mut grpc = GrpcClients::over(channel.clone(), token);
        grpc.affiliates.list_affiliates(ListAffiliatesRequest::default()).await.map(Response::into_inner)
    };
    let mut open = Vec::new();
    for _ in 0..MOST {
        open.push(list(&company).await.unwrap());
    }
    assert_eq!(list(&company).await.unwrap_err().code(), Code::ResourceExhausted);
    // Other companies can open lists, even on the same connection.
    let mut others = list(&other).await.unwrap();
    let mut received = 0;
    while let Some(message) = others.message().await.unwrap() {
        received += message.affiliates.len() as i64;
    }
    assert_eq!(received, FEW);

    // Expired lists no longer count, even if the client has not read their error.
    tokio::time::sleep(LIST_TIMEOUT).await;
    let again = async {
        // Use a new connection, because the service closes connections with unread lists.
        while new_list(service, &company).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    assert!(timeout(PATIENCE, again).await.is_ok(), "ended lists still count");
    for mut messages in open {
        let ended = async {
            loop {
                match messages.message().await {
                    Ok(Some(_)) => {}
                    ended => break ended,
                }
            }
        };
        let ended = timeout(PATIENCE, ended).await.expect("a list is still open after its timeout");
        assert!(ended.is_err(), "a list ended without an error");
    }
}

/// Opens a list on a new connection and reads its first message.
async fn new_list(service: &TestService, token: &str) -> Result<(), Status> {
    let mut grpc = GrpcClients::connect(service.grpc, token).await;
    grpc.affiliates.list_affiliates(ListAffiliatesRequest::default()).await?.into_inner().message().await.map(drop)
}

async fn of_one_gateway(service: &TestService, address: SocketAddr, rest: RestClient) {
    let tokens = companies(service).await;
    let [company, other] = tokens.map(|(_, token)| (rest.with_token(Some(token.clone())), token));
    let mut open = Vec::new();
    for number in 0..MOST {
        let socket = TcpSocket::new_v4().unwrap();
        // A larger buffer would receive most of the list.
        socket.set_recv_buffer_size(4096).unwrap();
        let mut stream = socket.connect(address).await.unwrap();
        let token = &company.1;
        let accept = ["*/*", "text/csv", "application/x-ndjson"][number % 3];
        let request = format!(
            "GET /api/affiliates HTTP/1.1\r\nhost: a\r\naccept: {accept}\r\nauthorization: Bearer {token}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.unwrap();
        assert_eq!(&head, b"HTTP/1.1 200");
        open.push(stream);
    }
    let refused = company.0.get("/affiliates").await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")), "{}", refused.text);
    // The company's other requests and other companies' lists still succeed.
    assert_eq!(company.0.get("/urls").await.status, 200);
    let list = other.0.get("/affiliates").await.with_status(200);
    assert_eq!(list["data"].as_array().unwrap().len() as i64, FEW);

    tokio::time::sleep(LIST_TIMEOUT).await;
    for mut stream in open {
        let mut received = Vec::new();
        // The buffered part arrives, and then the connection ends in the middle of the list.
        let ended = timeout(PATIENCE, stream.read_to_end(&mut received)).await;
        assert!(ended.is_ok(), "a list is still open after its timeout");
        assert!(!received.ends_with(b"\r\n0\r\n\r\n"), "a truncated list looks complete");
    }
    // The company can open lists again.
    let again = async {
        // Read only the status, because the list is long.
        while company.0.request("GET", "/affiliates").send().await.unwrap().status() != 200 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    assert!(timeout(PATIENCE, again).await.is_ok(), "ended lists still count");
}
