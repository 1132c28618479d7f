//! The counts of the lists are checked and repaired, while writers go on.

use compliance_api::v1::{AddComplianceUrlsRequest, CaseInput, ListComplianceUrlsRequest, OpenCaseRequest, UrlInput};
use core_server::doctor::{Difference, check_counts};
use sqlx::PgPool;
use test_support::{GrpcClients, TestCore, new_company, tests};

tests![wrong_counts_are_found_and_repaired, writers_go_on_during_a_repair];

async fn check(pool: &PgPool, repair: bool) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut connection = pool.acquire().await.unwrap();
    let total = check_counts(&mut connection, repair, |difference| found.push(difference)).await.unwrap();
    assert_eq!(total, found.iter().map(|found| found.counts).sum::<i64>());
    found
}

async fn run(pool: &PgPool, statement: &'static str) {
    sqlx::raw_sql(statement).execute(pool).await.unwrap();
}

async fn add_urls(clients: &mut GrpcClients, name: &str, count: usize) {
    let urls =
        (0..count).map(|number| UrlInput { url: Some(format!("https://example.org/{name}/{number}")) }).collect();
    clients.urls.add_compliance_urls(AddComplianceUrlsRequest { urls, validate_only: false }).await.unwrap();
}

async fn fill(clients: &mut GrpcClients) {
    add_urls(clients, "first", 300).await;
    let affiliate_id = Some(clients.affiliate("Affiliate").await);
    for number in 0..5 {
        let case = CaseInput { affiliate_id, ..CaseInput::default() };
        let request_id = Some(format!("R-{number}"));
        clients.open(OpenCaseRequest { request_id, case: Some(case), ..OpenCaseRequest::default() }).await;
    }
}

async fn total(clients: &mut GrpcClients) -> i64 {
    let request = ListComplianceUrlsRequest { page: Some(2), ..ListComplianceUrlsRequest::default() };
    clients.urls.list_compliance_urls(request).await.unwrap().into_inner().meta.unwrap().total
}

async fn wrong_counts_are_found_and_repaired() {
    let core = TestCore::start().await;
    let companies = [new_company(), new_company()];
    let mut clients = companies.map(|company| core.company(company));
    for clients in &mut clients {
        fill(clients).await;
    }
    assert_eq!(check(&core.pool, false).await, []);
    for damage in [
        // What triggers do not see.
        "truncate compliance_url_counts, compliance_case_counts",
        "alter table compliance_urls disable trigger user;
        update compliance_urls set disabled = true, discovery_date = discovery_date - interval '400 days' where id % 3 = 0;
        delete from compliance_urls where id % 7 = 0;
        alter table compliance_urls enable trigger user",
        "alter table compliance_cases disable trigger user;
        update compliance_cases set case_status_id = 2, created_date = created_date + interval '3 days';
        alter table compliance_cases enable trigger user",
        // One number, and one bound.
        "update compliance_url_counts set n = n + 1 where dimension = 'all'",
        "update compliance_url_counts set n_without_last_seen = n_without_last_seen - 1 where dimension = 'id'",
        "update compliance_url_counts set first_day = first_day + 1 where dimension = 'id_coarse'",
    ] {
        run(&core.pool, damage).await;
        let found = check(&core.pool, false).await;
        for company in companies {
            assert!(found.iter().any(|found| found.company_id == company), "{damage}: {found:?}");
        }
        assert_eq!(check(&core.pool, false).await, found, "a check changes nothing");
        assert_eq!(check(&core.pool, true).await, found);
        assert_eq!(check(&core.pool, false).await, [], "{damage}");
    }
    let real = "select count(*) from compliance_urls where company_id = $1";
    for (company, mut clients) in companies.into_iter().zip(clients) {
        let real: i64 = sqlx::query_scalar(real).bind(company).fetch_one(&core.pool).await.unwrap();
        assert_eq!(total(&mut clients).await, real);
    }
}

async fn writers_go_on_during_a_repair() {
    let core = TestCore::start().await;
    let mut clients = core.company(new_company());
    fill(&mut clients).await;
    for round in 0..3 {
        run(&core.pool, "truncate compliance_url_counts").await;
        let mut writer = clients.clone();
        let write = async {
            for number in 0..10 {
                add_urls(&mut writer, &format!("{round}-{number}"), 20).await;
            }
        };
        tokio::join!(write, check(&core.pool, true));
        assert_eq!(check(&core.pool, false).await, []);
    }
    assert_eq!(total(&mut clients).await, 300 + 3 * 10 * 20);
}
