//! Readers that disconnect while their reads wait. All other readers receive their own records.

use futures::future::join_all;
use sqlx::AssertSqlSafe;
use test_support::{LockedTable, RestClient, TestService, new_company};

const COMPANIES: usize = 8;
const RECORDS: i64 = 40;

/// All companies' records have the same IDs, and each record names its company.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn remaining_readers_receive_their_own_records() {
    let service = TestService::start().await;
    let companies: Vec<i64> = (0..COMPANIES).map(|_| new_company()).collect();
    for company in &companies {
        let insert = format!(
            "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name)
            select {company}, n, 'A', 'Company {company}, record ' || n from generate_series(1, {RECORDS}) n"
        );
        sqlx::query(AssertSqlSafe(insert)).execute(&service.pool).await.unwrap();
    }
    for remote in [false, true] {
        let clients: Vec<RestClient> = companies
            .iter()
            .map(|company| if remote { service.rest_remote(*company) } else { service.rest(*company) })
            .collect();
        for round in 0..4 {
            let mut locked = LockedTable::new(&service.pool, "affiliates", "access exclusive").await;
            // Some reads request unknown IDs. They must not receive the results of other reads.
            let reads: Vec<_> = (0..COMPANIES as i64 * 60)
                .map(|number| {
                    let (reader, id) = (number as usize % COMPANIES, 1 + number / COMPANIES as i64 % (RECORDS + 10));
                    let (company, client) = (companies[reader], clients[reader].clone());
                    let read = tokio::spawn(async move { client.get(&format!("/affiliates/{id}")).await });
                    (number, company, id, read)
                })
                .collect();
            locked.until_awaited().await;
            // Some readers disconnect while their batch's statement runs, others while they wait for the next batch.
            let (leaving, staying): (Vec<_>, Vec<_>) =
                reads.into_iter().partition(|(number, ..)| (number * 7 + round) % 5 < 2);
            for (.., read) in &leaving {
                read.abort();
            }
            join_all(leaving.into_iter().map(|(.., read)| read)).await;
            locked.release().await;
            for (_, company, id, read) in staying {
                let answer = read.await.unwrap();
                if id <= RECORDS {
                    let name = format!("Company {company}, record {id}");
                    assert_eq!(answer.with_status(200)["data"]["distributor_name"], name.as_str());
                } else {
                    assert_eq!(answer.with_status(404)["code"], "1025", "{id}");
                }
            }
        }
    }
}
