//! Affiliate erasure, over REST and gRPC.

use sqlx::AssertSqlSafe;
use test_support::{RestResponse, TestService, new_company};

use super::{
    Case,
    expect::{affiliate_unknown, found, ok},
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
    let service = TestService::shared().await;
    let (records, rows) = (core_server::limits::ERASED_RECORDS, core_server::limits::ERASED_ROWS);
    // The affiliate itself is a record. Its creation, each update and the erasure count as one row each.
    for (urls, updates, status) in [(records - 1, 0, 200), (records, 0, 409), (0, rows - 1, 200), (0, rows, 409)] {
        let company = new_company();
        let id = service.grpc(company).await.affiliate("A").await;
        // Without commits, each update would read all earlier versions.
        let updated = format!(
            "do $$ begin for n in 1..{updates} loop
                update affiliates set city = n::text where company_id = {company} and id = {id};
                if n % 50 = 0 then commit; end if;
            end loop; end $$"
        );
        let added = format!(
            "insert into compliance_urls (company_id, url, url_hash, affiliate_id)
            select {company}, n::text, int8send(n), {id} from generate_series(1, {urls}) n"
        );
        for statement in [added, updated] {
            sqlx::raw_sql(AssertSqlSafe(statement)).execute(&service.pool).await.unwrap();
        }
        let erased = RestResponse::of(service.rest(company).request("DELETE", &format!("/affiliates/{id}"))).await;
        let expected = if status == 200 { "The affiliate is erased." } else { TOO_MANY };
        assert_eq!(erased.with_status(status)["detail"]["msg"], expected, "{urls} URLs, {updates} updates");
    }
}
