//! Database connections that break after a commit but before the response.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use compliance_api::v1::{
    BatchOpenCasesRequest, CaseInput, ObserveUrlsRequest, OpenCaseRequest, ResultCode, UrlObservation,
};
use futures::future::join_all;
use serde_json::{Value, json};
use test_support::{Options, Proxy, TestService, fresh_database, new_company};

use tokio::time::timeout;

use super::{PATIENCE, create, status, until};

async fn service() -> (TestService, Proxy) {
    let database = fresh_database().await;
    let proxy = Proxy::postgresql(database.socket);
    let service = TestService::over(database.options.socket(proxy.folder()), Options::default()).await;
    (service, proxy)
}

/// Tests every kind of statement for partners' writes, on both sides of each threshold. The service commits each write but does not retry it: the
/// partner gets a 503. When the partner repeats the write, the service finds a duplicate.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeated_writes_are_never_applied_twice() {
    let few = core_server::limits::FEW_URLS;
    let many = core_server::limits::MANY_AFFILIATES;
    let (service, proxy) = service().await;
    let company = new_company();
    for (layer, rest) in [service.rest(company), service.rest_remote(company)].iter().enumerate() {
        let insert = "insert into affiliates";
        proxy.lose_answer_to(insert);
        create(rest, &format!("Single {layer}")).await.with_status(503);
        assert!(proxy.has_lost_answer());
        create(rest, &format!("Single {layer}")).await.with_status(409);
        // `COPY` runs in a transaction.
        for (count, statement) in [(2, insert), (many - 1, insert), (many, "COMMIT"), (many + 1, "COMMIT")] {
            let name = |number| format!("{layer} {count} {number}");
            let items = (0..count).map(|number| json!({"client_affiliate_id": "C", "affiliate_name": name(number)}));
            let body = json!({"affiliates": items.collect::<Vec<_>>()}).to_string();
            proxy.lose_answer_to(statement);
            rest.post("/affiliates", body.clone()).await.with_status(503);
            assert!(proxy.has_lost_answer(), "{statement} did not write {count} affiliates");
            let again = rest.post("/affiliates", body).await.with_status(207);
            assert!(again.as_array().unwrap().iter().all(|result| result["code"] == "1023"), "{count}: {again}");
        }
        for count in [1, few - 1, few, few + 1, 100] {
            let url = |number| format!("https://example.org/{layer}/{count}/{number}");
            let urls: Vec<Value> = (0..count).map(|number| json!({"url": url(number)})).collect();
            let body = json!({"urls": urls}).to_string();
            proxy.lose_answer_to("insert into compliance_urls");
            rest.post("/urls", body.clone()).await.with_status(503);
            assert!(proxy.has_lost_answer());
            let again = rest.post("/urls", body).await.with_status(201);
            assert!(again.as_array().unwrap().iter().all(|result| result["code"] == "1023"), "{count}: {again}");
        }
        let list = rest.get("/affiliates").await.with_status(200);
        let [one, other] = [&list["data"][0]["id"], &list["data"][1]["id"]];
        let city = format!("of layer {layer}");
        let update = "affiliates_pkey do update";
        for (body, statement, expected) in [
            (json!({"id": one, "city": "A"}), update, json!("A")),
            (json!({"affiliates": [{"id": one, "city": city}, {"id": other, "city": "X"}]}), update, json!(city)),
            (json!({"affiliates": [{"id": one, "city": "Y"}, {"id": one, "city": null}]}), "COMMIT", Value::Null),
        ] {
            proxy.lose_answer_to(statement);
            rest.put(&format!("/affiliates/{one}"), body.to_string()).await.with_status(503);
            assert!(proxy.has_lost_answer(), "{body}");
            let read = rest.get(&format!("/affiliates/{one}")).await.with_status(200);
            assert_eq!(read["data"]["city"], expected, "{body}");
        }
    }
    let rows = "select (select count(*) from affiliates), (select count(*) from compliance_urls)";
    let rows: (i64, i64) = sqlx::query_as(rows).fetch_one(&service.pool).await.unwrap();
    assert_eq!(rows, (2 * (1 + 2 + 3 * many as i64), 2 * (1 + 3 * few as i64 + 100)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retried_internal_writes_apply_once() {
    let (service, proxy) = service().await;
    let mut grpc = service.grpc(new_company()).await;
    let observation = UrlObservation { url: Some("https://example.org/seen".to_owned()), ..UrlObservation::default() };
    proxy.lose_answer_to("compliance_urls");
    let request = ObserveUrlsRequest { observations: vec![observation] };
    let observed = grpc.monitoring.observe_urls(request).await.unwrap().into_inner().results;
    assert!(proxy.has_lost_answer());
    assert_eq!(observed[0].code(), ResultCode::Saved, "{observed:?}");

    let affiliate_id = grpc.affiliate("Affiliate").await;
    proxy.lose_answer_to("compliance_cases");
    let case = CaseInput { affiliate_id: Some(affiliate_id), ..CaseInput::default() };
    let opening =
        OpenCaseRequest { request_id: Some("R-1".to_owned()), case: Some(case), ..OpenCaseRequest::default() };
    let opened = grpc.monitoring.open_case(opening.clone()).await.unwrap().into_inner();
    assert!(proxy.has_lost_answer());
    assert_eq!(grpc.open(opening.clone()).await, opened.case_id);

    // Of many records, all already exist by the second attempt.
    let heavy = core_server::limits::HEAVY_ITEMS;
    let mut expected = 1;
    for count in [heavy, heavy + 1] {
        let url = |number| Some(format!("https://example.org/{count}/{number}"));
        let observations = (0..count).map(|number| UrlObservation { url: url(number), ..UrlObservation::default() });
        proxy.lose_answer_to("compliance_urls");
        let request = ObserveUrlsRequest { observations: observations.collect() };
        let observed = grpc.monitoring.observe_urls(request).await.unwrap().into_inner().results;
        assert!(proxy.has_lost_answer());
        assert!(observed.len() == count && observed.iter().all(|result| result.code() == ResultCode::Saved));

        let cases = (0..count)
            .map(|number| OpenCaseRequest { request_id: Some(format!("{count}-{number}")), ..opening.clone() });
        proxy.lose_answer_to("compliance_cases");
        let request = BatchOpenCasesRequest { cases: cases.collect() };
        let opened = grpc.monitoring.batch_open_cases(request).await.unwrap().into_inner().results;
        assert!(proxy.has_lost_answer());
        assert!(opened.len() == count && opened.iter().all(|result| result.code() == ResultCode::Saved));
        expected += count as i64;
    }
    for table in ["compliance_urls", "compliance_cases"] {
        let count = sqlx::AssertSqlSafe(format!("select count(*) from {table}"));
        assert_eq!(sqlx::query_scalar::<_, i64>(count).fetch_one(&service.pool).await.unwrap(), expected, "{table}");
    }
}

/// Number of acknowledged writes per writer.
const ENOUGH: usize = 10;

/// Connections break repeatedly while clients write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_connections_lose_no_acknowledged_writes() {
    let (service, proxy) = service().await;
    let rest = service.rest(new_company());
    create(&rest, "Before").await.with_status(201);
    let (attempts, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let writers = join_all((0..8).map(|writer| {
        let (rest, attempts, done) = (&rest, &attempts, &done);
        async move {
            let mut acknowledged = Vec::new();
            while acknowledged.len() < ENOUGH {
                let name = format!("{writer}-{}", attempts.fetch_add(1, Ordering::Relaxed));
                match create(rest, &name).await.status {
                    201 => {
                        acknowledged.push(name);
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                    503 => {}
                    other => panic!("{other}"),
                }
            }
            acknowledged
        }
    }));
    // Cut the connections after every few writes, while other writes are in progress.
    let cuts = async {
        for next in (0..).step_by(4) {
            while done.load(Ordering::Relaxed) < next {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            proxy.cut();
        }
    };
    let acknowledged = tokio::select! {
        acknowledged = timeout(PATIENCE, writers) => acknowledged.expect("timed out waiting for writes").concat(),
        () = cuts => unreachable!(),
    };
    until("calls succeed again", async || rest.get("/urls").await.status == 200).await;
    let list = rest.get("/affiliates").await;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for record in list.with_status(200)["data"].as_array().unwrap() {
        let name = Value::as_str(&record["distributor_name"]).unwrap();
        *counts.entry(name.to_owned()).or_default() += 1;
    }
    let attempts = attempts.into_inner();
    println!("{} of {attempts} writes acknowledged, {} exist", acknowledged.len(), counts.len() - 1);
    assert!(counts.values().all(|count| *count == 1));
    assert_eq!(acknowledged.iter().filter(|name| !counts.contains_key(*name)).count(), 0);
}

/// The check's connection breaks, and then its replacement breaks. The service stays ready. Only a third loss in a row counts as an outage.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn service_stays_ready_after_two_lost_checks() {
    const CHECK: &str = "_sqlx_migrations";
    let (service, proxy) = service().await;
    let rest = service.rest(new_company());
    create(&rest, "First").await.with_status(201);
    // On a busy machine, a check can also time out, so some rounds can fail. If losses counted as outages, every round would fail.
    let mut passed = 0;
    until("the service stays ready in three rounds", async || {
        until("/readyz reports 200", async || status(&rest, "/readyz").await == 200).await;
        proxy.lose_answers_to(CHECK, 2);
        let mut stayed_ready = true;
        until("both checks are lost", async || {
            stayed_ready &= status(&rest, "/readyz").await == 200;
            proxy.has_lost_answer()
        })
        .await;
        for _ in 0..20 {
            stayed_ready &= status(&rest, "/readyz").await == 200;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        passed += usize::from(stayed_ready);
        passed == 3
    })
    .await;
    proxy.lose_answers_to(CHECK, 3);
    until("/readyz reports the loss", async || status(&rest, "/readyz").await == 503).await;
    until("calls succeed again", async || create(&rest, "Second").await.status == 201).await;
}
