//! Compares lists with a model: random records, random queries, and pages that the test computes itself.

mod affiliates;
mod data;
mod dice;
mod query;
mod write;

use futures::{StreamExt as _, future::join_all};

use crate::cases::ask_over_grpc;
use data::World;
pub(crate) use dice::Dice;
use query::Query;
use test_support::{GrpcClients, Layer, RestClient, TestService};

/// Default number of queries, a tenth of the nightly number.
const QUERIES: usize = 1_080;
const AT_ONCE: usize = 16;

/// Returns the number of queries.
fn query_count() -> usize {
    std::env::var("COMPLIANCE_MODEL_QUERIES").map_or(QUERIES, |queries| queries.parse().unwrap())
}

/// Returns the random seed. Any seed works, and failures print it.
fn seed() -> u64 {
    let given = std::env::var("COMPLIANCE_MODEL_SEED").ok();
    given.map_or(20_240_229, |seed| seed.parse().unwrap())
}

/// A company's clients.
struct Clients {
    rest: RestClient,
    remote: RestClient,
    grpc: GrpcClients,
}

impl Clients {
    async fn connect(service: &TestService, company: i64) -> Self {
        let (rest, remote) = (service.rest(company), service.rest_remote(company));
        Self { rest, remote, grpc: service.grpc(company).await }
    }

    /// Returns the response to a request over this layer.
    async fn get(&self, layer: Layer, path: &str) -> String {
        match layer {
            Layer::Rest => self.rest.get(path).await.text,
            Layer::RestRemote => self.remote.get(path).await.text,
            Layer::Grpc => {
                ask_over_grpc(&self.grpc, "GET", path, None).await.unwrap_or_else(|status| format!("{status:?}"))
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_queries_match_the_model() {
    let seed = seed();
    let mut dice = Dice::new(seed);
    let service = TestService::start().await;
    let world = World::random(&mut dice, &service.pool).await;
    let clients = join_all(world.companies.iter().map(|company| Clients::connect(&service, company.number))).await;

    let count = query_count();
    let mut queries: Vec<(Query, String)> = Vec::new();
    for _ in 0..count {
        let query = Query::random(&mut dice, &world);
        let expected = query.expected(&world);
        queries.push((query, expected));
    }
    // If too few queries find records, the comparison is meaningless.
    let finding = queries.iter().filter(|(_, expected)| expected.contains(r#""id":"#)).count();
    assert!(finding > count / 4, "only {finding} of {count} queries find a URL");
    let differences: Vec<String> = futures::stream::iter(&queries)
        .map(|(query, expected)| {
            let client = &clients[query.company];
            async move {
                let got = client.get(query.layer, &query.path).await;
                (got != *expected).then(|| difference(query, expected, &got))
            }
        })
        .buffer_unordered(AT_ONCE)
        .filter_map(futures::future::ready)
        .collect()
        .await;
    assert!(
        differences.is_empty(),
        "{} of {count} responses differ with COMPLIANCE_MODEL_SEED={seed}; the first:\n{}",
        differences.len(),
        differences[..differences.len().min(5)].join("\n")
    );
}

/// Returns the first difference between two documents.
fn difference(query: &Query, expected: &str, got: &str) -> String {
    let at = expected.bytes().zip(got.bytes()).take_while(|(expected, got)| expected == got).count();
    let part = |text: &str| {
        let text: String = text.chars().skip(at.saturating_sub(80)).take(300).collect();
        text
    };
    format!("{:?} {}\n  expected …{}\n       got …{}", query.layer, query.path, part(expected), part(got))
}
