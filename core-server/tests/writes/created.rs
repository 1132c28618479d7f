//! Tests batches of new affiliates, large enough for `COPY`.

use std::time::Duration;

use compliance_api::{
    record::Record as _,
    v1::{
        Affiliate, AffiliateInput, AffiliateResult, BatchCreateAffiliatesRequest, BatchGetAffiliatesRequest, ResultCode,
    },
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use sqlx::{Connection as _, PgConnection};
use test_support::{GrpcClients, TestCore, fresh_database, new_company};
use tokio::time::{sleep, timeout};

/// Number of affiliates in a large batch.
const LARGE: usize = 1_200;
/// Number of affiliates in a batch that uses one statement.
const SMALL: usize = 400;
/// Generous timeout for each step.
const SOON: Duration = Duration::from_mins(2);

async fn create(clients: &mut GrpcClients, affiliates: Vec<AffiliateInput>) -> Vec<AffiliateResult> {
    let request = BatchCreateAffiliatesRequest { affiliates, validate_only: false };
    clients.affiliates.batch_create_affiliates(request).await.unwrap().into_inner().results
}

fn named(number: usize) -> AffiliateInput {
    AffiliateInput {
        client_affiliate_id: Some(format!("C{number}")),
        affiliate_name: Some(format!("N{number}")),
        ..AffiliateInput::default()
    }
}

fn names(count: usize) -> Vec<AffiliateInput> {
    (0..count).map(named).collect()
}

/// Returns a valid value for a field.
pub(super) fn value(field: &str, number: usize) -> String {
    match field {
        "country" => "NL".to_owned(),
        "status" => "active".to_owned(),
        "replicated_website" => format!("https://example.org/{number}"),
        "start_date" => format!("20{:02}-02-28", number % 100),
        "email_one" | "email_two" | "sponsor_email" => format!("a{number}@example.org"),
        name => format!("{name} é\t\"\\{number}"),
    }
}

/// Returns an affiliate for a batch. Some names are taken or shared, and some countries are invalid. Every third affiliate sets all fields.
fn varied(number: usize) -> AffiliateInput {
    let mut affiliate = named(number);
    if number.is_multiple_of(3) {
        for field in AffiliateInput::FIELDS {
            if field.written(&affiliate).is_none() {
                assert!(field.set_written(&mut affiliate, Some(value(field.name, number))), "{}", field.name);
            }
        }
    }
    match number % 13 {
        1 => affiliate.affiliate_name = Some("exists".to_owned()),
        2 | 5 => affiliate.affiliate_name = Some(format!("shared {}", number / 40)),
        3 => affiliate.country = Some("ZZ".to_owned()),
        _ => {}
    }
    affiliate
}

/// Returns the created affiliates, without the fields that differ between companies.
async fn created(clients: &mut GrpcClients, results: &[AffiliateResult]) -> Vec<Affiliate> {
    let ids: Vec<i64> = results.iter().filter_map(|result| result.affiliate_id).collect();
    assert!(ids.is_sorted_by(|one, next| one < next), "IDs do not follow item order");
    let mut read = Vec::new();
    for ids in ids.chunks(1000) {
        let request = BatchGetAffiliatesRequest { ids: ids.to_vec() };
        read.extend(clients.affiliates.batch_get_affiliates(request).await.unwrap().into_inner().affiliates);
    }
    assert_eq!(read.len(), ids.len());
    read.into_iter().map(|affiliate| Affiliate { id: 0, client_id: 0, ..affiliate }).collect()
}

/// Covers batches with taken and duplicate names, and batches with only free names.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_batches_match_smaller_batches() {
    let core = TestCore::start().await;
    let varied: Vec<AffiliateInput> = (0..LARGE).map(varied).collect();
    let name = |number: usize| named(number).affiliate_name;
    let free = varied.iter().cloned().enumerate();
    let free = free.map(|(number, input)| AffiliateInput { affiliate_name: name(number), ..input }).collect();
    for affiliates in [varied, free] {
        let [mut whole, mut parts] = [core.company(new_company()), core.company(new_company())];
        let exists = AffiliateInput { affiliate_name: Some("exists".to_owned()), ..named(0) };
        for clients in [&mut whole, &mut parts] {
            assert_eq!(create(clients, vec![exists.clone()]).await[0].code(), ResultCode::Saved);
        }
        // The second time, all names exist.
        for expected in [ResultCode::Saved, ResultCode::Duplicate] {
            let of_whole = create(&mut whole, affiliates.clone()).await;
            let mut of_parts = Vec::new();
            for part in affiliates.chunks(SMALL) {
                of_parts.extend(create(&mut parts, part.to_vec()).await);
            }
            let without_ids = |results: &[AffiliateResult]| -> Vec<AffiliateResult> {
                let of_any_id = |msg: &str| msg.split(" Its ID is ").next().unwrap().to_owned();
                let without_id = |result: &AffiliateResult| AffiliateResult {
                    affiliate_id: None,
                    msg: of_any_id(&result.msg),
                    ..result.clone()
                };
                results.iter().map(without_id).collect()
            };
            assert_eq!(without_ids(&of_whole), without_ids(&of_parts));
            assert_eq!(created(&mut whole, &of_whole).await, created(&mut parts, &of_parts).await);
            let count = of_whole.iter().filter(|result| result.code() == expected).count();
            assert!((LARGE / 2..LARGE).contains(&count), "{count} are {expected:?}");
        }
    }
}

/// Covers both sides of the `COPY` threshold, with free and with duplicate names. Some fields are rare, so batches can omit them or contain
/// them only at the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_batches_match_smaller_batches() {
    let core = TestCore::start().await;
    let many = core_server::limits::MANY_AFFILIATES;
    let mut random = StdRng::seed_from_u64(11);
    for (count, are_free) in [(many - 1, true), (many, true), (many + 1, true), (many, false), (many + 1, false)] {
        let affiliates: Vec<AffiliateInput> = (0..count)
            .map(|number| {
                let mut affiliate = named(if are_free { number } else { random.random_range(0..3 * count) });
                for field in AffiliateInput::FIELDS {
                    if field.written(&affiliate).is_none() && random.random_range(0..count) == 0 {
                        assert!(field.set_written(&mut affiliate, Some(value(field.name, number))), "{}", field.name);
                    }
                }
                affiliate
            })
            .collect();
        let [mut whole, mut parts] = [core.company(new_company()), core.company(new_company())];
        let of_whole = create(&mut whole, affiliates.clone()).await;
        let mut of_parts = Vec::new();
        for part in affiliates.chunks(many / 5) {
            of_parts.extend(create(&mut parts, part.to_vec()).await);
        }
        let codes = |results: &[AffiliateResult]| results.iter().map(AffiliateResult::code).collect::<Vec<_>>();
        assert_eq!(codes(&of_whole), codes(&of_parts), "{count}");
        assert_eq!(codes(&of_whole).contains(&ResultCode::Duplicate), !are_free, "{count}");
        assert_eq!(created(&mut whole, &of_whole).await, created(&mut parts, &of_parts).await, "{count}");
    }
}

/// Another writer takes a name, and its transaction ends while the batch waits for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_taken_while_waiting_are_duplicates() {
    let database = fresh_database().await;
    let core = TestCore::over(database.options.clone(), 4).await;
    let mut other = PgConnection::connect_with(&database.options).await.unwrap();
    for is_committed in [true, false] {
        let company = new_company();
        let mut clients = core.company(company);
        let mut transaction = other.begin().await.unwrap();
        let take = "insert into affiliates (company_id, client_affiliate_id, affiliate_name) values ($1, 'C', 'N700')";
        sqlx::query(take).bind(company).execute(&mut *transaction).await.unwrap();
        let ending = async {
            until_a_statement_waits(&core).await;
            if is_committed {
                transaction.commit().await.unwrap();
            } else {
                transaction.rollback().await.unwrap();
            }
        };
        let (results, ()) = futures::join!(timeout(SOON, create(&mut clients, names(LARGE))), ending);
        let results = results.expect("the batch is still waiting");
        for (number, result) in results.iter().enumerate() {
            let is_taken = is_committed && number == 700;
            let expected = if is_taken { ResultCode::Duplicate } else { ResultCode::Saved };
            assert_eq!(result.code(), expected, "{number}");
        }
        assert_eq!(created(&mut clients, &results).await.len(), LARGE - usize::from(is_committed));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn abandoned_waiting_batches_create_nothing() {
    let database = fresh_database().await;
    // All calls share one connection, so leftovers from one caller would affect the next call.
    let core = TestCore::over(database.options.clone(), 3).await;
    let mut other = PgConnection::connect_with(&database.options).await.unwrap();
    let company = new_company();
    let mut clients = core.company(company);
    let mut transaction = other.begin().await.unwrap();
    let take = "insert into affiliates (company_id, client_affiliate_id, affiliate_name) values ($1, 'C', 'N700')";
    sqlx::query(take).bind(company).execute(&mut *transaction).await.unwrap();
    let mut leaving = clients.clone();
    tokio::select! {
        results = create(&mut leaving, names(LARGE)) => panic!("the batch did not wait: {} results", results.len()),
        () = until_a_statement_waits(&core) => {}
    }
    // The waiting statement must end while the lock is held. After an early release, the batch could still be written. A retried batch would
    // soon wait again.
    let ended = async {
        let mut without = 0;
        while without < 20 {
            without = if waits(&core).await { 0 } else { without + 1 };
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(SOON, ended).await.expect("the abandoned batch is still waiting");
    transaction.rollback().await.unwrap();
    let results = timeout(SOON, create(&mut clients, names(LARGE))).await.expect("the connection is still in use");
    assert!(results.iter().all(|result| result.code() == ResultCode::Saved), "the abandoned batch was written");
    assert_eq!(created(&mut clients, &results).await.len(), LARGE);
}

/// Returns whether a batch's `COPY` waits for another transaction.
async fn waits(core: &TestCore) -> bool {
    let waits = "select exists (
        select from pg_stat_activity where wait_event_type = 'Lock' and query like 'copy affiliates%'
            and datname = current_database()
    )";
    sqlx::query_scalar(waits).fetch_one(&core.pool).await.unwrap()
}

async fn until_a_statement_waits(core: &TestCore) {
    let waiting = async {
        while !waits(core).await {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(SOON, waiting).await.expect("no batch waited for the other transaction");
}
