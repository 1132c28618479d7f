//! After the database stops, every operation reports an outage, and no partial response looks complete.

use compliance_api::v1::GetAffiliateRequest;
use embedded_postgres::ClusterOptions;
use futures::future::join_all;
use sqlx::AssertSqlSafe;
use test_support::{
    Options, RestClient, RestResponse, TestCluster, TestDatabase, TestService, new_company, reason_of, token,
};
use tonic::Code;
use tonic_types::StatusExt as _;

use crate::{
    described::calls::Core,
    isolation::{CALLS, ROUTES, Side, filled, perform},
};

/// Starts a service with its own database server, which does not restart.
async fn service() -> (TestService, TestCluster) {
    let cluster = TestCluster::start(ClusterOptions { supervise: false, ..ClusterOptions::temporary() }).await;
    let database = TestDatabase::create(&cluster.endpoint, "outage").await;
    (TestService::over(database.options, Options::default()).await, cluster)
}

const UNAVAILABLE: &str = "The service is temporarily unavailable. Please try again later.";
/// Operations that do not use the database.
const WITHOUT_DATABASE: [&str; 1] = ["AccessService/CheckAccess"];

/// Uses the routes and operations of `isolation`. That module fails if any of them are missing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_reports_a_database_outage() {
    let (service, cluster) = service().await;
    let company = new_company();
    let clients = [service.rest(company), service.rest_remote(company)];
    for rest in &clients {
        rest.get("/urls").await.with_status(200);
    }
    cluster.stop().await;

    let asked = clients.iter().flat_map(|rest| ROUTES.iter().map(move |request| (rest, request)));
    join_all(asked.map(|(rest, (method, path, body))| async move {
        let [path, body] = [path, body].map(|text| filled(text, ["1"; 4]));
        let answer = RestResponse::of(rest.request(method, &path).body(body)).await;
        let expected = format!(r#"{{"code":"503","status":"error","detail":{{"msg":"{UNAVAILABLE}"}}}}"#);
        assert_eq!((answer.status, &answer.text), (503, &expected), "{method} {path}");
        let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!(wait >= 1, "{method} {path}");
    }))
    .await;

    let (core, token) = (Core::connect(service.grpc).await, token(company));
    join_all(CALLS.iter().map(async |call| {
        let (operation, (shown, _)) = (call.0, perform(&core, &token, Side::Left, *call).await);
        let is_reported = shown.contains(UNAVAILABLE);
        assert_eq!(is_reported, !WITHOUT_DATABASE.contains(&operation), "{operation}: {shown}");
    }))
    .await;
    let error = service.grpc(company).await.affiliates.get_affiliate(GetAffiliateRequest::default()).await.unwrap_err();
    assert_eq!((error.code(), reason_of(&error).as_str()), (Code::Unavailable, "DATABASE_UNAVAILABLE"));
    assert!(error.get_error_details().retry_info().is_some(), "{error:?}");

    // Invalid requests still return their own errors, and the process stays healthy.
    for address in [service.rest, service.rest_remote] {
        let rest = RestClient::new(address, None);
        assert_eq!(RestResponse::of(rest.request_to("GET", "/livez")).await.status, 200);
        assert_eq!(RestResponse::of(rest.request("GET", "/urls")).await.status, 401);
    }
    for rest in &clients {
        assert_eq!(rest.get("/urls?page=0").await.status, 422);
        assert_eq!(rest.get("/affiliates/abc").await.status, 404);
    }
    let ready = async { while RestResponse::of(clients[0].request_to("GET", "/readyz")).await.status != 503 {} };
    tokio::time::timeout(std::time::Duration::from_mins(1), ready).await.unwrap();
}

/// Clients must be able to detect an incomplete response.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupted_lists_end_with_an_error() {
    let (service, cluster) = service().await;
    let company = new_company();
    // The list exceeds the socket buffers along its path.
    let statement = format!(
        "insert into affiliates (company_id, client_affiliate_id, affiliate_name, notes)
        select {company}, n::text, n::text, repeat('x', 1500) from generate_series(1, 20000) n"
    );
    sqlx::query(AssertSqlSafe(statement)).execute(&service.pool).await.unwrap();
    let clients = [service.rest(company), service.rest_remote(company)];
    let mut lists = Vec::new();
    for (remote, accept) in [(0, "*/*"), (1, "*/*"), (0, "text/csv"), (1, "application/x-ndjson")] {
        let mut list = clients[remote].request("GET", "/affiliates").header("Accept", accept).send().await.unwrap();
        assert_eq!(list.status(), 200);
        let read = list.chunk().await.unwrap().unwrap().len();
        lists.push((remote, accept, list, read));
    }
    cluster.stop().await;
    for (remote, accept, mut list, mut read) in lists {
        let is_broken = loop {
            match list.chunk().await {
                Ok(Some(chunk)) => read += chunk.len(),
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
        assert!(is_broken, "{accept} of client {remote} ended after {read} bytes without an error");
    }
}
