//! Affiliate erasure, over REST and gRPC.

use test_support::{TestService, new_company, token_with_scope};

use super::{
    Case,
    expect::{affiliate_unknown, found, ok, refused},
    run_table,
};

const TOO_MANY: &str = "The affiliate has too many records or changes for one request. Ask the service operator to run `compliance erase`.";

fn erased(urls: usize, cases: usize, incidents: usize, infractions: usize) -> super::Expect {
    let data = format!(r#"{{"urls":{urls},"cases":{cases},"incidents":{incidents},"infractions":{infractions}}}"#);
    ok(format!(r#"{{"code":"1020","status":"ok","detail":{{"msg":"The affiliate is erased."}},"data":{data}}}"#))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn affiliates_are_erased() {
    let records = "insert into compliance_cases (company_id, id, affiliate_id) values (<company>, 71, <1>), (<company>, 72, <2>);
insert into compliance_urls (company_id, id, url, url_hash, affiliate_id, case_id)
    values (<company>, 61, 'u', 'u', <1>, 71), (<company>, 62, 'v', 'v', <2>, 71), (<company>, 63, 'w', 'w', <1>, null);
insert into infractions (company_id, url_id, infraction_type_id)
    values (<company>, 61, 1), (<company>, 61, 2), (<company>, 62, 1);
insert into incidents (company_id, case_id, incident_type, url_id, reference)
    values (<company>, 71, 1, 61, null), (<company>, 71, 2, null, 'form'), (<company>, 72, 1, 61, null), (<company>, 72, 1, 62, null)";
    let none = found("Affiliates found", "[]");
    run_table(vec![
        Case::new("affiliate without records is erased")
            .given_affiliate("A", "Ann")
            .delete("/affiliates/<1>", erased(0, 0, 0, 0))
            .delete("/affiliates/<1>", affiliate_unknown("<1>"))
            .get("/affiliates/<1>", affiliate_unknown("<1>"))
            .get("/affiliates", none)
            .given_affiliate("A", "Ann"),
        Case::new("affiliate is erased with its records")
            .given_affiliate("A", "Ann")
            .given_affiliate("B", "Bob")
            .sql(records)
            .delete("/affiliates/<1>", erased(2, 1, 3, 2))
            .sql("select 1 / (count(*) = 1 and max(case_id) = 72)::integer from compliance_urls where company_id = <company>")
            .delete("/affiliates/<2>", erased(1, 1, 1, 1)),
        Case::new("unknown affiliate returns 404").delete("/affiliates/999999999", affiliate_unknown("999999999")),
        Case::new("non-numeric affiliate ID returns 404").delete("/affiliates/x", affiliate_unknown("x")).only_rest(),
    ])
    .await;
}

/// Erases affiliates with the maximum number of rows, and with one row more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oversized_erasures_are_rejected() {
    let (records, rows) = (core_server::limits::ERASED_RECORDS as usize, core_server::limits::ERASED_ROWS as usize);
    let rejection = || refused(409, tonic::Code::FailedPrecondition, "FAILED_PRECONDITION", "1021", TOO_MANY);
    let urls = |count: usize| {
        format!(
            "insert into compliance_urls (company_id, url, url_hash, affiliate_id)
            select <company>, n::text, int8send(n), <1> from generate_series(1, {count}) n"
        )
    };
    // The creation, each update and the erasure count as one row each. Without commits, each update would read all earlier versions.
    let updates = |count: usize| {
        format!(
            "do $$ begin for n in 1..{count} loop
                update affiliates set city = n::text where company_id = <company> and id = <1>; if n % 50 = 0
                then commit; end if; end loop; end $$"
        )
    };
    run_table(vec![
        Case::new("maximum number of URLs is erased")
            .given_affiliate("A", "A")
            .sql(&urls(records - 1))
            .delete("/affiliates/<1>", erased(records - 1, 0, 0, 0)),
        Case::new("more URLs than the maximum are rejected")
            .given_affiliate("A", "A")
            .sql(&urls(records))
            .delete("/affiliates/<1>", rejection()),
        Case::new("maximum number of changes is erased")
            .given_affiliate("A", "A")
            .sql(&updates(rows - 1))
            .delete("/affiliates/<1>", erased(0, 0, 0, 0)),
        Case::new("more changes than the maximum are rejected")
            .given_affiliate("A", "A")
            .sql(&updates(rows))
            .delete("/affiliates/<1>", rejection()),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn erasure_requires_its_scope() {
    let service = TestService::start().await;
    let company = new_company();
    let id = service.grpc(company).await.affiliate("A").await;
    for scope in [None, Some("monitor")] {
        let token = token_with_scope(company, scope, 3600);
        for address in [service.rest, service.rest_remote] {
            let rest = test_support::RestClient::new(address, Some(token.clone()));
            let refused = test_support::RestResponse::of(rest.request("DELETE", &format!("/affiliates/{id}"))).await;
            assert_eq!(refused.status, 403, "{}", refused.text);
            assert_eq!(refused.header("www-authenticate"), Some("Bearer error=\"insufficient_scope\""));
        }
    }
    service.rest(company).get(&format!("/affiliates/{id}")).await.with_status(200);
}
