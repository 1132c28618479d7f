//! The database goes away: every operation reports it, and no response that had begun ends as if it were complete.

use compliance_api::v1::{
    AddComplianceUrlsRequest, AffiliateInput, CreateAffiliateRequest, GetAffiliateRequest, ListComplianceCasesRequest,
    UrlInput,
};
use embedded_postgres::ClusterOptions;
use futures::future::join_all;
use serde_json::json;
use sqlx::AssertSqlSafe;
use test_support::{
    Options, RestClient, RestResponse, TestCluster, TestDatabase, TestService, new_company, reason_of, tests,
};
use tonic::Code;
use tonic_types::StatusExt as _;

tests![every_operation_reports_it, a_list_breaks_off];

/// A service over a database server of its own that is not restarted.
async fn service() -> (TestService, TestCluster) {
    let cluster = TestCluster::start(ClusterOptions { supervise: false, ..ClusterOptions::temporary() }).await;
    let database = TestDatabase::create(&cluster.endpoint, "outage").await;
    (TestService::over(database.options, Options::default()).await, cluster)
}

async fn every_operation_reports_it() {
    let (service, cluster) = service().await;
    let company = new_company();
    let clients = [service.rest(company), service.rest_remote(company)];
    for rest in &clients {
        rest.get("/urls").await.with_status(200);
    }
    cluster.stop().await;

    let affiliate = r#"{"client_affiliate_id":"C","affiliate_name":"N"}"#;
    let requests = [
        ("GET", "/affiliates", ""),
        ("GET", "/affiliates/1", ""),
        ("POST", "/affiliates", affiliate),
        ("POST", "/affiliates", r#"{"affiliates":[{"client_affiliate_id":"C","affiliate_name":"N"}]}"#),
        ("PUT", "/affiliates/1", r#"{"id":1,"affiliate_name":"N"}"#),
        ("PUT", "/affiliates/1", r#"{"affiliates":[{"id":1,"city":"X"}]}"#),
        ("PUT", "/affiliates/1", r#"{"affiliates":[{"id":1,"affiliate_name":"X"},{"id":1,"affiliate_name":"Y"}]}"#),
        ("GET", "/urls", ""),
        ("GET", "/urls/1", ""),
        ("POST", "/urls", r#"{"urls":[{"url":"http://a.example/"}]}"#),
        ("GET", "/cases", ""),
        ("GET", "/cases/1", ""),
        ("GET", "/affiliates:search?q=a", ""),
        ("GET", "/urls:search?q=example", ""),
        ("GET", "/overview", ""),
        ("GET", "/vocabularies", ""),
    ];
    let asked = clients.iter().flat_map(|rest| requests.map(|request| (rest, request)));
    join_all(asked.map(|(rest, (method, path, body))| async move {
        let answer = RestResponse::of(rest.request(method, path).body(body)).await;
        let msg = json!("The service is temporarily unavailable. Please try again later.");
        let expected = format!(r#"{{"code":"503","status":"error","detail":{{"msg":{msg}}}}}"#);
        assert_eq!((answer.status, &answer.text), (503, &expected), "{method} {path}");
        let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!(wait >= 1, "{method} {path}");
    }))
    .await;

    let mut grpc = service.grpc(company).await;
    let input = AffiliateInput {
        client_affiliate_id: Some("C".to_owned()),
        affiliate_name: Some("N".to_owned()),
        ..AffiliateInput::default()
    };
    let create = CreateAffiliateRequest { affiliate: Some(input) };
    let add = AddComplianceUrlsRequest {
        urls: vec![UrlInput { url: Some("http://a.example/".to_owned()) }],
        validate_only: false,
    };
    for status in [
        grpc.affiliates.get_affiliate(GetAffiliateRequest { id: 1, as_of: None }).await.unwrap_err(),
        grpc.affiliates.create_affiliate(create).await.unwrap_err(),
        grpc.urls.add_compliance_urls(add).await.unwrap_err(),
        grpc.cases.list_compliance_cases(ListComplianceCasesRequest::default()).await.unwrap_err(),
    ] {
        assert_eq!((status.code(), reason_of(&status).as_str()), (Code::Unavailable, "DATABASE_UNAVAILABLE"));
        assert!(status.get_error_details().retry_info().is_some(), "{status:?}");
    }

    // Invalid requests are still reported as such, and the process itself is healthy.
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

/// A client must not take the part that it got for the whole.
async fn a_list_breaks_off() {
    for (remote, accept) in [(false, "*/*"), (true, "*/*"), (false, "text/csv"), (true, "application/x-ndjson")] {
        let (service, cluster) = service().await;
        let company = new_company();
        let statement = format!(
            "insert into affiliates (company_id, client_affiliate_id, affiliate_name, notes)
            select {company}, n::text, n::text, repeat('x', 1500) from generate_series(1, 60000) n"
        );
        sqlx::query(AssertSqlSafe(statement)).execute(&service.pool).await.unwrap();
        let rest = if remote { service.rest_remote(company) } else { service.rest(company) };
        let mut response = rest.request("GET", "/affiliates").header("Accept", accept).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let mut read = response.chunk().await.unwrap().unwrap().len();
        cluster.stop().await;
        let broken = loop {
            match response.chunk().await {
                Ok(Some(chunk)) => read += chunk.len(),
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
        assert!(broken, "the list ended after {read} bytes as if it were whole");
    }
}
