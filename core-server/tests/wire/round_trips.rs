//! Counts each partner operation's database round trips.

use std::{collections::BTreeMap, sync::atomic::AtomicI64};

use compliance_api::{
    description::{Kind, Message},
    v1::{
        AddComplianceUrlsRequest, AffiliateInput, AffiliateUpdate, BatchCreateAffiliatesRequest,
        BatchUpdateAffiliatesRequest, CreateAffiliateRequest, GetAffiliateRequest, ListComplianceUrlsRequest,
        UpdateAffiliateRequest, UrlInput, UrlSort,
    },
    wire::{Authorization, Operation, Work},
};
use futures::future::{LocalBoxFuture, join_all};
use prost::encoding::{int64, string};

use test_support::{GrpcClients, LockedTable, Proxy, TestCore, fresh_database, update_of};

/// Returns a new value on each call.
fn next() -> i64 {
    static NEXT: AtomicI64 = AtomicI64::new(1);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::SeqCst)
}

fn input() -> AffiliateInput {
    let next = next();
    AffiliateInput {
        client_affiliate_id: Some(format!("A-{next}")),
        affiliate_name: Some(format!("Affiliate {next}")),
        country: Some("DE".to_owned()),
        ..AffiliateInput::default()
    }
}

fn update(id: i64) -> AffiliateUpdate {
    let affiliate = AffiliateInput { city: Some(format!("City {}", next())), ..AffiliateInput::default() };
    update_of(id, affiliate)
}

type Call = Box<dyn Fn(GrpcClients) -> LocalBoxFuture<'static, ()>>;

/// Returns the partner operations by name or path: writes, and all reads in the contract.
fn operations() -> BTreeMap<&'static str, Call> {
    let mut calls: BTreeMap<&'static str, Call> = BTreeMap::new();
    macro_rules! operation {
        ($client:ident . $method:ident ( $request:expr )) => {
            let call: Call = Box::new(|mut clients| {
                Box::pin(async move {
                    clients.$client.$method($request).await.unwrap();
                })
            });
            calls.insert(stringify!($method), call);
        };
    }
    operation!(affiliates.create_affiliate(CreateAffiliateRequest { affiliate: Some(input()) }));
    operation!(affiliates.batch_create_affiliates(BatchCreateAffiliatesRequest {
        affiliates: (0..50).map(|_| input()).collect(),
        validate_only: false
    }));
    operation!(affiliates.update_affiliate(UpdateAffiliateRequest { update: Some(update(1)) }));
    operation!(affiliates.batch_update_affiliates(BatchUpdateAffiliatesRequest {
        anchor_id: Some(1),
        affiliates: vec![update(1), update(2), update(3)],
        validate_only: false
    }));
    operation!(urls.add_compliance_urls(AddComplianceUrlsRequest {
        urls: (0..50).map(|_| UrlInput { url: Some(format!("https://example.org/{}", next())) }).collect(),
        validate_only: false
    }));
    operation!(urls.list_compliance_urls(ListComplianceUrlsRequest {
        sort_by: UrlSort::LastSeen.into(),
        discovery_after: Some("2020-01-01".to_owned()),
        incident_status_id: Some(1),
        page: Some(2),
        ..ListComplianceUrlsRequest::default()
    }));
    let pages = |operation: &&Operation| matches!(operation.work, Work::SingleRead | Work::Page);
    let of_partners = |operation: &&Operation| operation.authorization == Authorization::Token;
    // A watch never ends.
    let ends = |operation: &&Operation| operation.path != Operation::WATCH_CHANGES.path;
    for read in Operation::ALL.iter().filter(of_partners).filter(pages).filter(ends) {
        let call: Call = Box::new(move |clients| {
            Box::pin(async move { drop(clients.call(read.path, request(read.request)).await.unwrap()) })
        });
        calls.insert(read.path, call);
    }
    calls
}

/// Encodes a request for the first record, or the first two, with the required fields.
fn request(message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    for field in message.fields {
        match field.kind {
            Kind::Integer(64) if field.is_list => int64::encode_packed(field.number, &[1, 2], &mut bytes),
            Kind::Integer(64) if !field.may_be_absent => int64::encode(field.number, &1, &mut bytes),
            Kind::Text if field.required => {
                string::encode(field.number, &"A1".repeat(field.min_chars.unwrap_or(1)), &mut bytes);
            }
            _ => {}
        }
    }
    bytes
}

async fn service() -> (Proxy, TestCore) {
    let database = fresh_database().await;
    let proxy = Proxy::postgresql(database.socket);
    let service = TestCore::over(database.options.socket(proxy.folder()), 4).await;
    let sql = "
        insert into affiliates (company_id, id, client_affiliate_id, affiliate_name)
            select 7, id, 'A' || id, 'Made ' || id from generate_series(1, 5) id;
        insert into compliance_cases (company_id, id, affiliate_id) values (7, 1, 1);
        insert into compliance_urls (company_id, id, url, url_hash)
            values (7, 1, 'https://example.com/', sha256('https://example.com/'));
        insert into webhooks (company_id, id, url, types, secret, position) values (7, 1, 'https://example.com/', '{}', '', 0);
        select setval('affiliates_id_seq', 100), setval('compliance_urls_id_seq', 100);";
    sqlx::raw_sql(sql).execute(&service.pool).await.unwrap();
    (proxy, service)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_operation_takes_one_round_trip() {
    let (proxy, service) = service().await;
    for (name, call) in operations() {
        // The first use of a statement prepares it, and background work is rare. At least one of several calls runs without other traffic.
        let mut fewest = usize::MAX;
        for number in 0..50 {
            if number >= 5 && fewest == 1 {
                break;
            }
            let before = proxy.round_trips();
            call(service.company(7)).await;
            fewest = fewest.min(proxy.round_trips() - before);
        }
        assert_eq!(fewest, 1, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_reads_share_round_trips() {
    let (proxy, service) = service().await;
    let mut locked = LockedTable::new(&service.pool, "affiliates", "access exclusive").await;
    let before = proxy.round_trips();
    let mut reads = join_all((0..200).map(|_| {
        let mut clients = service.company(7);
        async move { clients.read_affiliate(1).await }
    }));
    // All reads wait for the database, or for another read that waits for it.
    tokio::select! {
        _ = &mut reads => panic!("the reads did not wait"),
        () = locked.until_awaited() => {}
    }
    locked.release().await;
    for read in reads.await {
        assert_eq!(read.distributor_name(), "Made 1");
    }
    // The core sends a few reads before the others have to wait, each on a connection that first prepares the statement.
    let round_trips = proxy.round_trips() - before;
    assert!((2..40).contains(&round_trips), "{round_trips}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_retry_after_a_lost_connection() {
    let (proxy, service) = service().await;
    let mut clients = service.company(7);
    for _ in 0..5 {
        let read = clients.read_affiliate(1).await;
        assert_eq!(read.distributor_name(), "Made 1");
        let before = proxy.connections();
        proxy.cut();
        clients.affiliates.get_affiliate(GetAffiliateRequest { id: 1, as_of: None }).await.unwrap();
        assert!(proxy.connections() > before, "the core did not open a new connection");
    }
}
