//! Who may do what: every operation of every service × {no token, forged, expired, wrong audience, other company}.
//!
//! The operations are read from the descriptor set, and the routes from the OpenAPI document: a new one without a case
//! here fails the suite.

mod monitoring;
mod partners;
mod routes;
mod tokens;
mod twin_calls;
mod twins;
mod world;

use std::{collections::BTreeSet, fmt::Write as _};

use compliance_api::FILE_DESCRIPTOR_SET;
use futures::future::LocalBoxFuture;
use prost_reflect::DescriptorPool;
use sqlx::{AssertSqlSafe, PgPool};
use test_support::{TestService, tests};

pub(crate) use routes::ROUTES;
use world::World;

tests![every_operation_has_a_case, other_companies];

/// A proof that an operation neither shows nor changes what another company has. The proof checks the response; that
/// nothing was changed is checked after each proof.
struct Proof {
    /// `AffiliateService/GetAffiliate`.
    operation: &'static str,
    prove: for<'a> fn(&'a mut World) -> LocalBoxFuture<'a, ()>,
}

/// Declares `proofs()`: an operation, and the function that calls it as a stranger.
macro_rules! proofs {
    ($($operation:literal => $prove:ident),* $(,)?) => {
        pub(super) fn proofs() -> Vec<$crate::isolation::Proof> {
            vec![$($crate::isolation::Proof { operation: $operation, prove: |world| Box::pin($prove(world)) }),*]
        }
    };
}
use proofs;

/// `Service/Method` of every operation of the contract.
fn operations() -> BTreeSet<String> {
    let pool = DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap();
    let methods = pool.services().flat_map(|service| service.methods().collect::<Vec<_>>());
    let names = methods.map(|method| {
        let service = method.parent_service().full_name();
        let service =
            service.strip_prefix("compliance.v1.").unwrap_or_else(|| panic!("{service} is of another package"));
        format!("{service}/{}", method.name())
    });
    names.collect()
}

/// The tables with rows of companies.
async fn tables(pool: &PgPool) -> Vec<String> {
    let tables: Vec<String> = sqlx::query_scalar(
        "select table_name::text from information_schema.columns
        join information_schema.tables using (table_schema, table_name)
        where table_type = 'BASE TABLE' and table_schema = 'public' and column_name = 'company_id' order by 1",
    )
    .fetch_all(pool)
    .await
    .unwrap();
    assert!(tables.len() >= 8, "{tables:?}");
    tables
}

/// Every row of a company in every table, one a line.
pub(crate) async fn rows_of(pool: &PgPool, company: i64) -> String {
    let mut lines = String::new();
    for table in tables(pool).await {
        let statement = format!("select to_jsonb(t)::text from {table} t where company_id = $1 order by 1");
        let rows: Vec<String> =
            sqlx::query_scalar(AssertSqlSafe(statement)).bind(company).fetch_all(pool).await.unwrap();
        for row in rows {
            let _ = writeln!(lines, "{table} {row}");
        }
    }
    lines
}

fn all_proofs() -> Vec<Proof> {
    [partners::proofs(), monitoring::proofs()].into_iter().flatten().collect()
}

async fn every_operation_has_a_case() {
    let operations = operations();
    assert!(operations.contains("AffiliateService/ListAffiliates"), "{operations:?}");
    let proven: BTreeSet<String> = all_proofs().iter().map(|proof| proof.operation.to_owned()).collect();
    assert_eq!(proven.len(), all_proofs().len(), "an operation has two proofs");
    let unproven: Vec<_> = operations.difference(&proven).collect();
    assert!(unproven.is_empty(), "no proof that another company's records are out of reach: {unproven:?}");
    let unknown: Vec<_> = proven.difference(&operations).collect();
    assert!(unknown.is_empty(), "no such operations: {unknown:?}");
}

async fn other_companies() {
    let service = TestService::start().await;
    for proof in all_proofs() {
        let mut world = World::new(&service).await;
        let before = world.rows_of_the_owner().await;
        (proof.prove)(&mut world).await;
        let after = world.rows_of_the_owner().await;
        assert_eq!(before, after, "{} changed what another company has", proof.operation);
    }
}

pub(crate) fn all_tests() -> Vec<test_support::Test> {
    [tests(), routes::tests(), tokens::tests(), twins::tests()].into_iter().flatten().collect()
}
