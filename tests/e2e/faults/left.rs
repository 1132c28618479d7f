//! Callers that disconnect or time out before their write's statement begins. The service writes nothing.

use std::time::Duration;

use compliance_api::v1::{
    AffiliateInput, AffiliateUpdate, BatchUpdateAffiliatesRequest, GetAffiliateRequest, UpdateAffiliateRequest,
};
use futures::future::LocalBoxFuture;
use rest_gateway::Settings;
use sqlx::{Connection as _, PgConnection};
use test_support::{GrpcClients, Options, RestClient, TestService, fresh_database, new_company, token};
use tokio::time::{sleep, timeout};
use tonic::{Code, Request, Status};

use super::{PATIENCE, until};

/// Time for a call to start waiting. A shorter time would only make the caller disconnect earlier.
const A_WHILE: Duration = Duration::from_millis(300);
/// The gateways' request timeout.
const GATEWAY: Duration = Duration::from_secs(1);

/// How the test sends a write, and how the caller disconnects or times out.
#[derive(Clone, Copy, Debug)]
enum Way {
    Reset,
    Disconnected,
    GrpcDeadline,
    Rest(Layer, Leaves),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    OneProcess,
    TwoTiers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaves {
    Disconnects,
    Gets504,
}

const WAYS: [Way; 7] = [
    Way::Reset,
    Way::Disconnected,
    Way::GrpcDeadline,
    Way::Rest(Layer::OneProcess, Leaves::Disconnects),
    Way::Rest(Layer::OneProcess, Leaves::Gets504),
    Way::Rest(Layer::TwoTiers, Leaves::Disconnects),
    Way::Rest(Layer::TwoTiers, Leaves::Gets504),
];

fn change(id: i64, city: &str) -> AffiliateUpdate {
    let affiliate = Some(AffiliateInput { city: Some(city.to_owned()), ..AffiliateInput::default() });
    AffiliateUpdate { id: Some(id), affiliate, update_mask: None, etag: String::new() }
}

async fn update(clients: &GrpcClients, id: i64, city: &str, deadline: Option<Duration>) -> Result<(), Status> {
    let mut request = Request::new(UpdateAffiliateRequest { update: Some(change(id, city)) });
    if let Some(deadline) = deadline {
        request.set_timeout(deadline);
    }
    clients.affiliates.clone().update_affiliate(request).await.map(|_| ())
}

async fn update_many(clients: &GrpcClients, ids: &[i64], city: &str) -> Result<(), Status> {
    let affiliates = ids.iter().map(|id| change(*id, city)).collect();
    let request = BatchUpdateAffiliatesRequest { anchor_id: None, affiliates, validate_only: false };
    clients.affiliates.clone().batch_update_affiliates(request).await.map(|_| ())
}

/// Creates a company with affiliates.
async fn company(database: &mut PgConnection) -> (i64, Vec<i64>) {
    let company = new_company();
    let create = "insert into affiliates (company_id, client_affiliate_id, affiliate_name)
        select $1, 'C', 'N' || number from generate_series(1, 4) number returning id";
    let ids = sqlx::query_scalar(create).bind(company).fetch_all(database).await.unwrap();
    (company, ids)
}

async fn lock(transaction: &mut PgConnection, ids: &[i64]) {
    let lock = "select from affiliates where id = any($1) for update";
    sqlx::query(lock).bind(ids).fetch_all(transaction).await.unwrap();
}

async fn until_a_statement_waits(service: &TestService) {
    let waiting = "select count(*) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'";
    until("a statement waits for the lock", async || {
        sqlx::query_scalar::<_, i64>(waiting).fetch_one(&service.pool).await.unwrap() > 0
    })
    .await;
}

/// Counts the affiliates with this city, after the service's statements have ended.
async fn written(service: &TestService, city: &str) -> i64 {
    let active = "select count(*) from pg_stat_activity
        where datname = current_database() and usename <> current_user and state <> 'idle'";
    until("the service runs no statements", async || {
        sqlx::query_scalar::<_, i64>(active).fetch_one(&service.pool).await.unwrap() == 0
    })
    .await;
    let written = "select count(*) from affiliates where city = $1";
    sqlx::query_scalar(written).bind(city).fetch_one(&service.pool).await.unwrap()
}

/// Two batches wait for a lock, and two updates wait for the batches. One update's caller disconnects or times out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn abandoned_writes_never_begin() {
    let database = fresh_database().await;
    let settings = Settings { request_timeout: GATEWAY, ..Settings::default() };
    let service = TestService::over(database.options.clone(), Options { settings, ..Options::default() }).await;
    let mut other = PgConnection::connect_with(&database.options).await.unwrap();
    for way in WAYS {
        let (company, ids) = company(&mut other).await;
        let mut transaction = other.begin().await.unwrap();
        lock(&mut transaction, &ids[..2]).await;
        // The caller that leaves has its own connection.
        let (stays, leaves) = (service.grpc(company).await, GrpcClients::connect(service.grpc, &token(company)).await);
        let first = async {
            let both = [update_many(&stays, &ids[..2], "held"), update_many(&stays, &ids[..2], "held")];
            futures::future::try_join_all(both).await.unwrap();
        };
        let body = format!(r#"{{"id": {}, "city": "left"}}"#, ids[2]);
        let rest = |layer| {
            let address = if layer == Layer::OneProcess { service.rest } else { service.rest_remote };
            let client = RestClient::new(address, Some(token(company)));
            let (path, body) = (format!("/affiliates/{}", ids[2]), body.clone());
            let call: LocalBoxFuture<'_, ()> = Box::pin(async move {
                let answer = client.put(&path, body).await;
                assert_eq!(answer.status, 504, "{}", answer.text);
            });
            call
        };
        let second = async {
            until_a_statement_waits(&service).await;
            let stay = update(&stays, ids[3], "stays", None);
            let leave = async {
                match way {
                    Way::Reset | Way::Disconnected => {
                        let left = timeout(A_WHILE, update(&leaves, ids[2], "left", None)).await;
                        assert!(left.is_err(), "the update did not wait");
                        if let Way::Disconnected = way {
                            drop(leaves);
                        }
                    }
                    Way::GrpcDeadline => {
                        let left = update(&leaves, ids[2], "left", Some(A_WHILE)).await;
                        // The client has the same deadline and can notice it first.
                        let code = left.unwrap_err().code();
                        assert!(matches!(code, Code::DeadlineExceeded | Code::Cancelled), "{code}");
                    }
                    Way::Rest(layer, Leaves::Disconnects) => {
                        // On a busy machine, the caller can receive a 504 before it disconnects. The effect is the same.
                        let _ = timeout(A_WHILE, rest(layer)).await;
                    }
                    Way::Rest(layer, Leaves::Gets504) => rest(layer).await,
                }
                // More calls from another client give the disconnect time to arrive.
                for _ in 0..3 {
                    let get = GetAffiliateRequest { id: ids[2], as_of: None };
                    stays.affiliates.clone().get_affiliate(get).await.unwrap();
                    sleep(A_WHILE / 3).await;
                }
                transaction.commit().await.unwrap();
            };
            let (stay, ()) = futures::join!(stay, leave);
            stay.unwrap();
        };
        timeout(2 * PATIENCE, Box::pin(futures::future::join(first, second))).await.expect("a write is still waiting");
        assert_eq!(written(&service, "left").await, 0, "{way:?}");
        assert_eq!(written(&service, "stays").await, 1, "{way:?}");
        sqlx::query("update affiliates set city = null").execute(&mut other).await.unwrap();
    }
}
