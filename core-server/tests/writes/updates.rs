//! Tests batch updates with items that depend on each other.

use compliance_api::{
    record::Record as _,
    v1::{
        Affiliate, AffiliateInput, AffiliateResult, AffiliateUpdate, BatchGetAffiliatesRequest, ResultCode,
        UpdateAffiliateRequest,
    },
};
use prost_types::FieldMask;
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use test_support::{GrpcClients, Proxy, TestCore, fresh_database, new_company, update_of};
use tonic::Code;

use super::created::value;

async fn created(clients: &mut GrpcClients, count: usize) -> Vec<i64> {
    let affiliates = (0..count).map(|number| AffiliateInput {
        client_affiliate_id: Some(format!("C{number}")),
        affiliate_name: Some(format!("N{number}")),
        ..AffiliateInput::default()
    });
    let results = clients.create_affiliates(affiliates.collect()).await;
    results.into_iter().map(|result| result.affiliate_id.unwrap()).collect()
}

fn rename(id: i64, name: String) -> AffiliateUpdate {
    update_of(id, AffiliateInput { affiliate_name: Some(name), ..AffiliateInput::default() })
}

async fn batch(clients: &mut GrpcClients, affiliates: Vec<AffiliateUpdate>) -> Vec<ResultCode> {
    let results = clients.update_affiliates(affiliates).await;
    results.iter().map(AffiliateResult::code).collect()
}

async fn one(clients: &mut GrpcClients, update: AffiliateUpdate) -> ResultCode {
    let request = UpdateAffiliateRequest { update: Some(update) };
    match clients.affiliates.update_affiliate(request).await {
        Ok(_) => ResultCode::Saved,
        Err(status) if status.code() == Code::NotFound => ResultCode::NotFound,
        Err(status) if status.code() == Code::InvalidArgument => ResultCode::UpdateFailed,
        Err(status) => panic!("{status}"),
    }
}

/// Returns the affiliates, without the fields that differ between companies.
async fn affiliates(clients: &mut GrpcClients, ids: &[i64]) -> Vec<Affiliate> {
    let request = BatchGetAffiliatesRequest { ids: ids.to_vec() };
    let read = clients.affiliates.batch_get_affiliates(request).await.unwrap().into_inner().affiliates;
    assert_eq!(read.len(), ids.len());
    read.into_iter().map(|affiliate| Affiliate { id: 0, client_id: 0, etag: String::new(), ..affiliate }).collect()
}

/// Sets some random fields and clears others, by the mask alone or with an empty string.
fn with_random_fields(random: &mut StdRng, mut fields: AffiliateInput, number: usize) -> AffiliateUpdate {
    let mut paths = Vec::new();
    for field in AffiliateInput::FIELDS {
        let set = match random.random_range(0..12) {
            _ if matches!(field.name, "client_affiliate_id" | "affiliate_name" | "country") => None,
            0 => Some(Some(value(field.name, number))),
            1 => Some(Some(String::new())),
            2 => Some(None),
            _ => None,
        };
        if let Some(value) = set.clone() {
            assert!(field.set_written(&mut fields, value), "{}", field.name);
        }
        if set.is_some() || field.is_given(&fields) {
            paths.push(field.name.to_owned());
        }
    }
    let update_mask = (!paths.is_empty()).then_some(FieldMask { paths });
    AffiliateUpdate { id: None, affiliate: Some(fields), update_mask, etag: String::new() }
}

/// Applies the same random changes to one company in batches, and to another company one at a time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batch_and_single_updates_produce_equal_results() {
    let core = TestCore::start().await;
    let mut companies = [core.company(new_company()), core.company(new_company())];
    let [batches, singles] = &mut companies;
    let mut random = StdRng::seed_from_u64(7);
    let affiliate_count = 6;
    let ids = [created(batches, affiliate_count).await, created(singles, affiliate_count).await];
    let mut seen = [0; 3];
    for _ in 0..60 {
        let changes: Vec<(usize, AffiliateUpdate)> = (0..random.random_range(1..12))
            .map(|number| {
                // One in seven affiliates does not exist.
                let index = random.random_range(0..=affiliate_count);
                let fields = AffiliateInput {
                    affiliate_name: random.random_bool(0.7).then(|| format!("N{}", random.random_range(0..8))),
                    // A single update reports an invalid country before it looks for the affiliate.
                    country: (index < affiliate_count && random.random_bool(0.1)).then(|| "ZZ".to_owned()),
                    ..AffiliateInput::default()
                };
                (index, with_random_fields(&mut random, fields, number))
            })
            .collect();
        let of = |ids: &[i64]| -> Vec<AffiliateUpdate> {
            let id = |index: usize| ids.get(index).copied().unwrap_or(i64::MAX);
            changes.iter().map(|(index, change)| AffiliateUpdate { id: Some(id(*index)), ..change.clone() }).collect()
        };
        let in_batch = batch(batches, of(&ids[0])).await;
        let mut one_by_one = Vec::new();
        for update in of(&ids[1]) {
            one_by_one.push(one(singles, update).await);
        }
        assert_eq!(in_batch, one_by_one, "{changes:?}");
        assert_eq!(affiliates(batches, &ids[0]).await, affiliates(singles, &ids[1]).await, "{changes:?}");
        for (count, code) in seen.iter_mut().zip([ResultCode::Saved, ResultCode::UpdateFailed, ResultCode::NotFound]) {
            *count += in_batch.iter().filter(|seen| **seen == code).count();
        }
    }
    assert!(seen.iter().all(|count| *count > 20), "{seen:?}");
}

/// Returns a chain of renames, in which each affiliate takes the name that the previous one released.
fn chain(ids: &[i64], names: &mut Vec<String>) -> Vec<AffiliateUpdate> {
    names.insert(0, format!("{}'", names[0]));
    names.pop();
    ids.iter().zip(names).map(|(id, name)| rename(*id, name.clone())).collect()
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("N{number}")).collect()
}

fn same(id: i64, count: usize) -> Vec<AffiliateUpdate> {
    let city = |number| AffiliateInput { city: Some(format!("{number}")), ..AffiliateInput::default() };
    (0..count).map(|number| update_of(id, city(number))).collect()
}

/// Every item depends on the previous one, but a batch of any size takes only a few statements.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statement_count_is_independent_of_batch_size() {
    let database = fresh_database().await;
    let proxy = Proxy::postgresql(database.socket);
    let core = TestCore::over(database.options.socket(proxy.folder()), 4).await;
    for count in [10, 1000] {
        let mut clients = core.company(new_company());
        let (ids, mut names) = (created(&mut clients, count).await, names(count));
        let mut fewest = [usize::MAX; 2];
        // The first use of a statement prepares it, and background work is rare. At least one of several batches runs
        // without other traffic.
        for round in 0..50 {
            if round >= 5 && fewest.iter().all(|round_trips| *round_trips <= 8) {
                break;
            }
            for (fewest, changes) in fewest.iter_mut().zip([chain(&ids, &mut names), same(ids[0], count)]) {
                let before = proxy.round_trips();
                assert!(batch(&mut clients, changes).await.iter().all(|code| *code == ResultCode::Saved));
                *fewest = (*fewest).min(proxy.round_trips() - before);
            }
        }
        assert!(fewest.iter().all(|round_trips| *round_trips <= 8), "{count} items: {fewest:?} round trips");
    }
}

/// Even maximum-size requests use few statements and must not take minutes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn maximum_size_batches_succeed() {
    let core = TestCore::start().await;
    let mut clients = core.company(new_company());
    let ids = created(&mut clients, 10_000).await;
    let start = std::time::Instant::now();
    assert!(batch(&mut clients, chain(&ids, &mut names(10_000))).await.iter().all(|code| *code == ResultCode::Saved));
    let chained = start.elapsed();
    let start = std::time::Instant::now();
    assert!(batch(&mut clients, same(ids[5], 20_000)).await.iter().all(|code| *code == ResultCode::Saved));
    let repeated = start.elapsed();
    println!("10,000 chained renames: {chained:?}; 20,000 changes of one affiliate: {repeated:?}");
    let read = affiliates(&mut clients, &ids[5..6]).await;
    assert_eq!((read[0].distributor_name(), read[0].city()), ("N4", "19999"));
}
