//! Tests coalesced writes: many callers share a statement, each receives its own result, and no company waits for another.

use std::{collections::HashSet, time::Duration};

use compliance_api::v1::{
    AddComplianceUrlsRequest, AffiliateInput, AffiliateUpdate, BatchUpdateAffiliatesRequest, CheckAccessRequest,
    CreateAffiliateRequest, GetAffiliateRequest, ResultCode, UpdateAffiliateRequest, UrlInput,
};
use futures::future::join_all;
use sqlx::{Connection as _, PgConnection};
use test_support::{GrpcClients, Proxy, TestCore, fresh_database, new_company, update_of};
use tokio::time::{sleep, timeout};
use tonic::{Code, Response, Status};

/// Timeout for each step that does not wait for a held lock.
const SOON: Duration = Duration::from_mins(2);

async fn create(mut clients: GrpcClients, name: String) -> Result<i64, Status> {
    let affiliate = AffiliateInput {
        client_affiliate_id: Some("C".to_owned()),
        affiliate_name: Some(name),
        ..AffiliateInput::default()
    };
    let request = CreateAffiliateRequest { affiliate: Some(affiliate) };
    Ok(clients.affiliates.create_affiliate(request).await?.into_inner().affiliate_id)
}

async fn add(mut clients: GrpcClients, url: String) -> Option<i64> {
    let request = AddComplianceUrlsRequest { urls: vec![UrlInput { url: Some(url) }], validate_only: false };
    let results = clients.urls.add_compliance_urls(request).await.unwrap().into_inner().results;
    assert_eq!(results.len(), 1);
    assert_eq!(results[0].url_id.is_some(), results[0].code() == ResultCode::Saved);
    results[0].url_id
}

async fn update(mut clients: GrpcClients, id: i64, fields: AffiliateInput) -> Result<(), Status> {
    let update = update_of(id, fields);
    clients.affiliates.update_affiliate(UpdateAffiliateRequest { update: Some(update) }).await.map(|_| ())
}

fn city(city: impl ToString) -> AffiliateInput {
    AffiliateInput { city: Some(city.to_string()), ..AffiliateInput::default() }
}

async fn name_of(mut clients: GrpcClients, id: i64) -> String {
    let read = clients.read_affiliate(id).await;
    read.distributor_name().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_writes_share_few_statements() {
    let database = fresh_database().await;
    let proxy = Proxy::postgresql(database.socket);
    let core = TestCore::over(database.options.socket(proxy.folder()), 4).await;
    let clients: Vec<GrpcClients> = (0..50).map(|_| core.company(new_company())).collect();
    let created = join_all(clients.iter().map(|clients| create(clients.clone(), "First".to_owned()))).await;
    let ids: Vec<i64> = created.into_iter().map(Result::unwrap).collect();
    few_statements(&proxy, &clients, async |round, company| {
        create(clients[company].clone(), format!("N{round}")).await.unwrap();
    })
    .await;
    few_statements(&proxy, &clients, async |round, company| {
        update(clients[company].clone(), ids[company], city(round)).await.unwrap();
    })
    .await;
    few_statements(&proxy, &clients, async |round, company| {
        assert!(add(clients[company].clone(), format!("https://example.org/{round}")).await.is_some());
    })
    .await;
}

/// Makes one call per company while the database does not respond. Asserts that the calls take few round trips.
async fn few_statements(proxy: &Proxy, clients: &[GrpcClients], call: impl AsyncFn(usize, usize)) {
    for round in 0..100 {
        let held = proxy.hold().await;
        let before = proxy.round_trips();
        let mut calls = join_all((0..clients.len()).map(|company| call(round, company)));
        assert!(futures::poll!(&mut calls).is_pending());
        // Requests on a connection arrive in order, and access checks need no database. After the second response, the calls have begun.
        let arrived = join_all(clients.iter().map(|clients| async {
            let mut access = clients.access.clone();
            for _ in 0..2 {
                access.check_access(CheckAccessRequest {}).await.unwrap();
            }
        }));
        // Holds the database only briefly. Otherwise, the service would report an outage.
        let arrived = tokio::select! {
            _ = &mut calls => panic!("the calls did not wait"),
            arrived = timeout(Duration::from_millis(200), arrived) => arrived,
        };
        drop(held);
        timeout(SOON, calls).await.expect("a call is still waiting");
        let round_trips = proxy.round_trips() - before;
        if arrived.is_ok() {
            // Each connection can prepare the statement, and can send one call ahead of the others.
            assert!(round_trips < 25, "{round_trips} round trips");
            return;
        }
    }
    panic!("timed out waiting for the calls to arrive");
}

/// Companies use the same names and URLs, and callers of one company compete for them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_caller_gets_its_own_result() {
    let core = TestCore::start().await;
    let companies: Vec<GrpcClients> = (0..8).map(|_| core.company(new_company())).collect();
    for round in 0..10 {
        let created = join_all((0..64).map(|number| {
            let clients = companies[number % 8].clone();
            // Two callers of each company want the same name.
            create(clients, format!("{round} {}", number / 8 / 2))
        }));
        let added = join_all((0..64).map(|number| {
            let clients = companies[number % 8].clone();
            add(clients, format!("https://example.org/{round}/{}", number / 8 / 2))
        }));
        let (created, added) = futures::join!(created, added);
        let mut ids = HashSet::new();
        for (number, result) in created.into_iter().enumerate() {
            match result {
                Ok(id) => {
                    assert!(ids.insert(id));
                    assert_eq!(name_of(companies[number % 8].clone(), id).await, format!("{round} {}", number / 8 / 2));
                }
                Err(status) => assert_eq!(status.code(), Code::AlreadyExists, "{status}"),
            }
        }
        assert_eq!(ids.len(), 32);
        assert_eq!(added.into_iter().flatten().collect::<HashSet<_>>().len(), 32);
    }
}

/// Makes calls that all wait before the database runs any of them.
async fn together<F: Future>(proxy: &Proxy, calls: impl Iterator<Item = F>) -> Vec<F::Output> {
    let held = proxy.hold().await;
    let mut calls = join_all(calls);
    assert!(timeout(Duration::from_millis(100), &mut calls).await.is_err(), "the calls did not wait");
    drop(held);
    timeout(2 * SOON, calls).await.expect("a call is still waiting")
}

/// Tests the maximum number of writes and reads per statement, one fewer, and one more. Some items fail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn full_batches_return_correct_results() {
    let most = batcher::MAX_BATCH;
    let database = fresh_database().await;
    let proxy = Proxy::postgresql(database.socket);
    let core = TestCore::over(database.options.socket(proxy.folder()), 4).await;
    let companies: Vec<GrpcClients> = (0..5).map(|_| core.company(new_company())).collect();
    for clients in &companies {
        create(clients.clone(), "Taken".to_owned()).await.unwrap();
        add(clients.clone(), "https://example.org/taken".to_owned()).await.unwrap();
    }
    let of = |number: usize| companies[number % companies.len()].clone();
    let fails = |number: usize| number % 7 == 3;
    for count in [most - 1, most, most + 1] {
        let name = |number| if fails(number) { "Taken".to_owned() } else { format!("{count} {number}") };
        let url = |number| if fails(number) { "taken".to_owned() } else { format!("{count}/{number}") };
        let url = |number| format!("https://example.org/{}", url(number));
        let created = together(&proxy, (0..count).map(|number| create(of(number), name(number)))).await;
        let added = together(&proxy, (0..count).map(|number| add(of(number), url(number)))).await;
        for (number, (created, added)) in created.iter().zip(&added).enumerate() {
            let refused = created.as_ref().err().map(Status::code);
            assert_eq!(refused, fails(number).then_some(Code::AlreadyExists), "{number} of {count}");
            assert_eq!(added.is_none(), fails(number), "{number} of {count}");
        }
        // Updates of records that were not created use an unknown ID.
        let ids: Vec<i64> = created.into_iter().map(|created| created.unwrap_or(i64::MAX >> 11)).collect();
        let updates = (0..count).map(|number| update(of(number), ids[number], city(number)));
        for (number, updated) in together(&proxy, updates).await.into_iter().enumerate() {
            let refused = updated.err().map(|status| status.code());
            assert_eq!(refused, fails(number).then_some(Code::NotFound), "{number} of {count}");
        }
        let reads = (0..count).map(|number| {
            let (mut clients, id, url_id) = (of(number), ids[number], added[number]);
            async move {
                let read = clients.affiliates.get_affiliate(GetAffiliateRequest { id, as_of: None }).await;
                let url = match url_id {
                    Some(id) => Some(clients.url(id).await.url),
                    None => None,
                };
                let read = read.map(Response::into_inner);
                (read.map(|read| (read.distributor_name().to_owned(), read.city().to_owned())).ok(), url)
            }
        });
        for (number, read) in together(&proxy, reads).await.into_iter().enumerate() {
            let expected = (!fails(number)).then(|| (name(number), number.to_string()));
            assert_eq!(read, (expected, (!fails(number)).then(|| url(number))), "{number} of {count}");
        }
    }
}

/// More companies than connections wait for locks on their counts, a row and a name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_companies_do_not_delay_others() {
    let database = fresh_database().await;
    let core = TestCore::over(database.options.clone(), 8).await;
    let mut other = PgConnection::connect_with(&database.options).await.unwrap();
    let stuck: Vec<i64> = (0..12).map(|_| new_company()).collect();
    let mut rows = Vec::new();
    for company in &stuck {
        rows.push(create(core.company(*company), "N".to_owned()).await.unwrap());
    }
    let mut transaction = other.begin().await.unwrap();
    let hold = "insert into compliance_urls (company_id, url, url_hash)
            select company, 'https://example.org/held', 'held' from unnest($1::bigint[]) company;";
    sqlx::query(hold).bind(&stuck).execute(&mut *transaction).await.unwrap();
    sqlx::query("update affiliates set city = 'held', affiliate_name = 'M' where company_id = any($1)")
        .bind(&stuck)
        .execute(&mut *transaction)
        .await
        .unwrap();
    let waiting = join_all(stuck.iter().zip(&rows).map(|(company, row)| {
        let clients = core.company(*company);
        async move {
            let urls = add(clients.clone(), "https://example.org/1".to_owned());
            let (url, created, updated) = futures::join!(
                urls,
                create(clients.clone(), "M".to_owned()),
                update(clients.clone(), *row, city("new"))
            );
            (url, created, updated)
        }
    }));
    let others = async {
        // Other companies can be affected only while the statements wait for the locks.
        until(|| async { lock_waits(&core).await > 0 }).await;
        for round in 0..20 {
            let free = core.company(new_company());
            let id = timeout(SOON, create(free.clone(), format!("N{round}"))).await.expect("a create waited").unwrap();
            timeout(SOON, add(free.clone(), "https://example.org/1".to_owned())).await.expect("a URL waited").unwrap();
            timeout(SOON, update(free.clone(), id, city(round))).await.expect("an update waited").unwrap();
            assert_eq!(name_of(free, id).await, format!("N{round}"));
        }
        // Only a quarter of the connections wait, even if more companies wait.
        until(|| async { (1..=2).contains(&lock_waits(&core).await) }).await;
        transaction.commit().await.unwrap();
    };
    let (waiting, ()) = futures::join!(timeout(2 * SOON, waiting), others);
    for (url, created, updated) in waiting.expect("a write is still waiting") {
        assert!(url.is_some());
        assert_eq!(created.unwrap_err().code(), Code::AlreadyExists);
        updated.unwrap();
    }
}

/// Each statement waits for at most a second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_retry_after_a_lock_timeout() {
    let core = TestCore::start().await;
    let clients = core.company(new_company());
    let ids = [
        create(clients.clone(), "A".to_owned()).await.unwrap(),
        create(clients.clone(), "B".to_owned()).await.unwrap(),
    ];
    let mut transaction = core.pool.begin().await.unwrap();
    sqlx::query("select from affiliates where id = any($1) for update")
        .bind(ids)
        .fetch_all(&mut *transaction)
        .await
        .unwrap();
    // First one write, and then two writes together.
    for ids in [&ids[..1], &ids] {
        let mut written = join_all(ids.iter().map(|id| update(clients.clone(), *id, city(ids.len()))));
        assert!(timeout(Duration::from_millis(1500), &mut written).await.is_err(), "a write did not wait");
    }
    let written = join_all(ids.map(|id| update(clients.clone(), id, city("new"))));
    let (written, ended) = futures::join!(timeout(SOON, written), transaction.rollback());
    ended.unwrap();
    assert!(written.expect("a write is still waiting").iter().all(Result::is_ok));
}

/// Returns the number of connections that wait for a lock.
async fn lock_waits(core: &TestCore) -> i64 {
    let waiting = "select count(distinct pid) from pg_locks join pg_stat_activity using (pid)
        where datname = current_database() and not granted";
    sqlx::query_scalar(waiting).fetch_one(&core.pool).await.unwrap()
}

async fn until<F: Future<Output = bool>>(condition: impl Fn() -> F) {
    let met = async {
        while !condition().await {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(SOON, met).await.expect("timed out waiting for the condition");
}

/// A check constraint rejects one item.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_items_do_not_fail_other_callers() {
    let core = TestCore::start().await;
    let constraints = "
        alter table affiliates add constraint refused check (affiliate_name <> 'refused' and city is distinct from 'refused');
        alter table compliance_urls add constraint refused check (url <> 'https://example.org/refused')";
    sqlx::raw_sql(constraints).execute(&core.pool).await.unwrap();
    let companies: Vec<GrpcClients> = (0..4).map(|_| core.company(new_company())).collect();
    let first = join_all((0..40).map(|number| create(companies[number % 4].clone(), format!("F{number}")))).await;
    for round in 0..3 {
        let created = join_all((0..40).map(|number| {
            let name = if number == 17 { "refused".to_owned() } else { format!("{round} {number}") };
            create(companies[number % 4].clone(), name)
        }));
        let updated = join_all(first.iter().enumerate().map(|(number, id)| {
            let city = city(if number == 17 { "refused".to_owned() } else { format!("{round}") });
            update(companies[number % 4].clone(), *id.as_ref().unwrap(), city)
        }));
        let (created, updated) = futures::join!(created, updated);
        for (number, (created, updated)) in created.into_iter().zip(updated).enumerate() {
            let codes = [created.err().map(|status| status.code()), updated.err().map(|status| status.code())];
            assert_eq!(codes, [(number == 17).then_some(Code::Internal); 2], "{number}");
        }
        let added =
            join_all((0..40).map(|number| {
                let mut clients = companies[number % 4].clone();
                let path = if number == 17 { "refused".to_owned() } else { format!("{round}/{number}") };
                let urls = vec![UrlInput { url: Some(format!("https://example.org/{path}")) }];
                async move {
                    clients.urls.add_compliance_urls(AddComplianceUrlsRequest { urls, validate_only: false }).await
                }
            }));
        for (number, added) in added.await.into_iter().enumerate() {
            assert_eq!(added.err().map(|status| status.code()), (number == 17).then_some(Code::Internal), "{number}");
        }
    }
}

/// Callers set different fields and names of two affiliates. Every field is saved, and each name goes to one affiliate.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_field_updates_all_succeed() {
    let core = TestCore::start().await;
    let clients = core.company(new_company());
    let ids = [
        create(clients.clone(), "A".to_owned()).await.unwrap(),
        create(clients.clone(), "B".to_owned()).await.unwrap(),
    ];
    for round in 0..10 {
        let text = format!("{round}");
        let fields = [
            AffiliateInput { city: Some(text.clone()), ..AffiliateInput::default() },
            AffiliateInput { zip: Some(text.clone()), ..AffiliateInput::default() },
            AffiliateInput { notes: Some(text.clone()), ..AffiliateInput::default() },
            AffiliateInput { league: Some(text.clone()), ..AffiliateInput::default() },
        ];
        let writes =
            join_all(fields.iter().flat_map(|fields| ids.map(|id| update(clients.clone(), id, fields.clone()))));
        let renames = join_all((0..8).map(|number| {
            let affiliate_name = Some(format!("{round}"));
            update(clients.clone(), ids[number % 2], AffiliateInput { affiliate_name, ..AffiliateInput::default() })
        }));
        let (writes, renames) = futures::join!(writes, renames);
        assert!(writes.iter().all(Result::is_ok), "{writes:?}");
        // One affiliate gets the name. Its four renames succeed, and the other affiliate's four renames fail.
        let codes: Vec<Option<Code>> =
            renames.into_iter().map(|rename| rename.err().map(|status| status.code())).collect();
        assert_eq!(codes.iter().filter(|code| code.is_none()).count(), 4, "{codes:?}");
        assert_eq!(codes.iter().filter(|code| **code == Some(Code::InvalidArgument)).count(), 4, "{codes:?}");
        for id in ids {
            let mut clients = clients.clone();
            let read = clients.read_affiliate(id).await;
            assert_eq!([read.city(), read.zip(), read.notes(), read.league()], [&*text; 4]);
        }
    }
}

/// The write may have been committed, so the caller receives `UNAVAILABLE` and decides whether to retry.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_are_not_retried_after_lost_connections() {
    let database = fresh_database().await;
    let core = TestCore::over(database.options.clone(), 4).await;
    let clients = core.company(new_company());
    let id = create(clients.clone(), "N".to_owned()).await.unwrap();
    let mut other = PgConnection::connect_with(&database.options).await.unwrap();
    let mut transaction = other.begin().await.unwrap();
    sqlx::query("update affiliates set zip = 'held' where id = $1").bind(id).execute(&mut *transaction).await.unwrap();
    let lost = async {
        let terminate = "select count(*) from (
                select distinct pid from pg_locks join pg_stat_activity using (pid)
                where datname = current_database() and not granted
            ) w where pg_terminate_backend(pid)";
        until(|| async { sqlx::query_scalar::<_, i64>(terminate).fetch_one(&core.pool).await.unwrap() > 0 }).await;
    };
    let (written, ()) = futures::join!(timeout(SOON, update(clients.clone(), id, city("new"))), lost);
    assert_eq!(written.expect("the write is still waiting").unwrap_err().code(), Code::Unavailable);
    transaction.rollback().await.unwrap();
    let written =
        || async { update(clients.clone(), id, AffiliateInput { zip: Some("1".to_owned()), ..city("") }).await };
    // The pool's remaining connections still work.
    until(|| async { written().await.is_ok() }).await;
    let mut clients = clients.clone();
    let read = clients.read_affiliate(id).await;
    assert_eq!((read.city(), read.zip()), ("", "1"));
}

/// Twenty batches arrive for a company whose rows are locked. The batches leave connections for other companies.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_batches_leave_connections_to_others() {
    let database = fresh_database().await;
    let core = TestCore::over(database.options.clone(), 8).await;
    let company = new_company();
    let ids = join_all((0..3).map(|number| create(core.company(company), format!("N{number}")))).await;
    let ids: Vec<i64> = ids.into_iter().map(Result::unwrap).collect();
    let mut other = PgConnection::connect_with(&database.options).await.unwrap();
    let mut transaction = other.begin().await.unwrap();
    sqlx::query("select from affiliates where company_id = $1 for update")
        .bind(company)
        .fetch_all(&mut *transaction)
        .await
        .unwrap();
    let batches = join_all((0..20).map(|number| {
        let mut clients = core.company(company);
        // In half of the batches, items depend on each other.
        let repeated = if number % 2 == 0 { &ids[..] } else { &ids[..1] };
        let affiliates = ids.iter().chain(repeated.iter().skip(1)).map(|id| AffiliateUpdate {
            id: Some(*id),
            affiliate: Some(city(number)),
            update_mask: None,
            etag: String::new(),
        });
        let request =
            BatchUpdateAffiliatesRequest { anchor_id: None, affiliates: affiliates.collect(), validate_only: false };
        async move {
            clients.affiliates.batch_update_affiliates(request).await.map(|response| response.into_inner().results)
        }
    }));
    let others = async {
        until(|| async { lock_waits(&core).await > 0 }).await;
        for _ in 0..20 {
            let free = core.company(new_company());
            timeout(SOON, create(free, "N".to_owned())).await.expect("another company waited").unwrap();
            let waits = lock_waits(&core).await;
            assert!(waits <= 2, "{waits} connections wait");
        }
        transaction.commit().await.unwrap();
    };
    let (batches, ()) = futures::join!(timeout(2 * SOON, batches), others);
    for results in batches.expect("a batch is still waiting") {
        assert!(results.unwrap().iter().all(|result| result.code() == ResultCode::Saved));
    }
}
