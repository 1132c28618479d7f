//! On Citus, every operation uses only its company's shards, on one node.

use test_support::{TestService, connect_to_citus, new_company, token};

use super::{
    twin_calls::{CALLS, perform},
    twins::Side,
};
use crate::{
    citus::counted,
    described::calls::{Core, WATCH},
};

/// The only operation that uses no shards.
const WITHOUT_RECORDS: &str = "AccessService/CheckAccess";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs TEST_DATABASE_URL"]
async fn every_operation_uses_one_shard() {
    let service = TestService::start().await;
    let Some(mut coordinator) = connect_to_citus(&service.pool).await else { return };
    let core = Core::connect(service.grpc).await;
    let mut wrong = Vec::new();
    // The test skips watches, because one statement reads all watched companies' positions.
    for call in CALLS.iter().filter(|(operation, _)| *operation != WATCH) {
        let company = new_company();
        Side::Left.fill(&service.pool, company).await;
        let before = counted(&mut coordinator).await;
        let (response, _) = perform(&core, &token(company), Side::Left, *call).await;
        let after = counted(&mut coordinator).await;
        let (single, multiple) = (after.0 - before.0, after.1 - before.1);
        let operation = call.0;
        println!("{operation}: {single} single-shard statements, {multiple} multi-shard");
        if multiple > 0 || (single > 0) == (operation == WITHOUT_RECORDS) {
            wrong.push(format!("{operation}: {single} single-shard, {multiple} multi-shard: {response}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
