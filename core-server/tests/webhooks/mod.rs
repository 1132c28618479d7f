//! Tests webhook messages: content, order, retries and failures.

pub(crate) mod clocks;
pub(crate) mod endpoints;
pub(crate) mod hanging;
pub(crate) mod sizes;

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use compliance_api::v1::{
    AffiliateInput, CreateAffiliateRequest, CreateWebhookRequest, EraseAffiliateRequest, GetWebhookRequest,
    ListChangesRequest, ListWebhookDeliveriesRequest, UpdateWebhookRequest, Webhook, WebhookDelivery, WebhookInput,
};
use core_server::{Core, CoreSettings, WebhookSettings, access::RateLimit, database};
use serde_json::Value;
use sqlx::{AssertSqlSafe, PgPool, postgres::PgConnectOptions};
use test_support::{
    GrpcClients, Reaction, Received, TestCore, WebhookReceiver, fresh_database, new_company, now, verifier,
};
use tokio::{sync::Notify, time::timeout};

const PATIENCE: Duration = Duration::from_mins(1);
const REFUSED: &str = "the host has no public address";

/// A core that delivers to a receiver, and a company with a webhook.
struct Fixture {
    core: TestCore,
    database: PgConnectOptions,
    company: i64,
    clients: GrpcClients,
    receiver: WebhookReceiver,
    id: i64,
    secret: String,
}

async fn core(database: &PgConnectOptions, webhooks: WebhookSettings) -> TestCore {
    let settings = CoreSettings { rate_limit: RateLimit::Off, webhooks, ..CoreSettings::default() };
    TestCore::with_settings(database.clone(), 8, settings).await
}

async fn create(clients: &mut GrpcClients, url: String, types: &[&str]) -> (i64, String) {
    let types = types.iter().map(|name| (*name).to_owned()).collect();
    let webhook = WebhookInput { url: Some(url), types, ..WebhookInput::default() };
    let request = CreateWebhookRequest { webhook: Some(webhook) };
    let created = clients.webhooks.create_webhook(request).await.unwrap().into_inner();
    (created.webhook.unwrap().id, created.secret)
}

async fn run(pool: &PgPool, statement: &str) {
    sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(pool).await.unwrap();
}

/// Returns a statement that creates `number` affiliates.
fn affiliates(company: i64, first: i64, number: i64) -> String {
    format!(
        "insert into affiliates (company_id, client_affiliate_id, affiliate_name)
         select {company}, n::text, n::text from generate_series({first}, {first} + {number} - 1) n"
    )
}

impl Fixture {
    async fn start() -> Self {
        Self::for_types(&[]).await
    }

    /// Starts with a webhook for changes of these types.
    async fn for_types(types: &[&str]) -> Self {
        let (database, receiver) = (fresh_database().await.options, WebhookReceiver::start().await);
        let core = core(&database, receiver.settings()).await;
        // Without the trigger, positions count only the test's own changes.
        run(&core.pool, "alter table webhooks disable trigger user").await;
        let company = new_company();
        let mut clients = core.company(company);
        let (id, secret) = create(&mut clients, receiver.url(), types).await;
        Self { core, database, company, clients, receiver, id, secret }
    }

    async fn change(&self, first: i64, number: i64) {
        run(&self.core.pool, &affiliates(self.company, first, number)).await;
    }

    async fn webhook(&mut self) -> Webhook {
        self.clients.webhooks.get_webhook(GetWebhookRequest { id: self.id }).await.unwrap().into_inner()
    }

    /// Waits until the webhook meets a condition.
    async fn wait_until(&mut self, is: impl Fn(&Webhook) -> bool) -> Webhook {
        let waiting = async {
            loop {
                let webhook = self.webhook().await;
                if is(&webhook) {
                    return webhook;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, waiting).await.unwrap()
    }

    async fn deliveries(&mut self) -> Vec<WebhookDelivery> {
        let request = ListWebhookDeliveriesRequest { id: self.id, limit: Some(1000) };
        self.clients.webhooks.list_webhook_deliveries(request).await.unwrap().into_inner().deliveries
    }

    /// Makes the next attempt due now.
    async fn try_again(&self) {
        run(&self.core.pool, "update webhooks set next_attempt_at = now(), leased_until = 'epoch'").await;
    }
}

fn positions(received: &[Received]) -> Vec<i64> {
    received.iter().flat_map(Received::positions).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_arrive_signed_and_in_order() {
    let mut fixture = Fixture::start().await;
    for (first, number) in [(1, 1), (2, 250), (252, 1)] {
        fixture.change(first, number).await;
    }
    let webhook = fixture.wait_until(|webhook| webhook.position == 252).await;
    assert_eq!((&*webhook.status, webhook.attempts, webhook.failing_since), ("enabled", 0, None));
    let received = fixture.receiver.received();
    assert_eq!(positions(&received), (1..=252).collect::<Vec<_>>());
    let mut after = 0;
    for message in &received {
        assert!(message.is_signed_with(&fixture.secret), "{message:?}");
        assert_eq!(message.header("content-type"), "application/json");
        let json = message.json();
        assert_eq!((&json["type"], &json["data"]["after"]), (&"changes".into(), &after.into()));
        assert!(message.positions().len() <= 100);
        after = json["data"]["position"].as_i64().unwrap();
    }
    // Messages contain the same changes as the feed.
    let request = ListChangesRequest { after: Some(0), limit: Some(1000), ..ListChangesRequest::default() };
    let listed = fixture.clients.changes.list_changes(request).await.unwrap().into_inner().changes;
    let sent = received.iter().flat_map(|message| message.json()["data"]["changes"].as_array().unwrap().clone());
    let listed = serde_json::to_value(listed).unwrap();
    assert_eq!(&sent.collect::<Vec<_>>(), listed.as_array().unwrap());
    let log = fixture.deliveries().await;
    assert_eq!(log.len(), received.len());
    for (entry, message) in log.iter().rev().zip(&received) {
        assert_eq!((&*entry.message_id, entry.http_status), (message.header("webhook-id"), Some(204)));
        assert_eq!((entry.attempt, entry.error.as_deref()), (1, None));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_requested_types_are_delivered() {
    let mut fixture = Fixture::start().await;
    let (id, _) = create(&mut fixture.clients, fixture.receiver.url(), &["url", "case"]).await;
    fixture.id = id;
    fixture.change(1, 3).await;
    // The position moves past changes that are not sent.
    fixture.wait_until(|webhook| webhook.position == 3).await;
    assert!(fixture.deliveries().await.is_empty());
    let url = "insert into compliance_urls (company_id, url, url_hash) values ($1, 'https://a.example/', 'a')";
    sqlx::query(url).bind(fixture.company).execute(&fixture.core.pool).await.unwrap();
    fixture.wait_until(|webhook| webhook.position == 4).await;
    let [entry] = &fixture.deliveries().await[..] else { panic!("expected one delivery") };
    // The message also covers the skipped positions.
    assert_eq!((entry.after, entry.position), (0, 4));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_messages_are_resent_unchanged() {
    let mut fixture = Fixture::start().await;
    fixture.receiver.react(Reaction::Respond("503 Service Unavailable\r\nretry-after: 600"));
    fixture.change(1, 2).await;
    let webhook = fixture.wait_until(|webhook| webhook.attempts == 1).await;
    let (failed, next) = (webhook.failing_since.unwrap().seconds, webhook.next_attempt_at.unwrap().seconds);
    assert!((590..=620).contains(&(next - failed)), "{webhook:?}");
    fixture.change(3, 2).await;
    fixture.receiver.react(Reaction::Respond("500 Internal Server Error"));
    fixture.try_again().await;
    let webhook = fixture.wait_until(|webhook| webhook.attempts == 2).await;
    assert_eq!((webhook.position, webhook.failing_since.unwrap().seconds), (0, failed));
    fixture.receiver.react(Reaction::OK);
    fixture.try_again().await;
    fixture.wait_until(|webhook| webhook.position == 4).await;
    let [first, second, third, rest] = &fixture.receiver.received()[..] else { panic!("expected four messages") };
    for again in [second, third] {
        assert_eq!(again.header("webhook-id"), first.header("webhook-id"));
        assert_eq!(again.body, first.body);
    }
    assert_eq!((first.positions(), rest.positions()), (vec![1, 2], vec![3, 4]));
    assert_ne!(rest.header("webhook-id"), first.header("webhook-id"));
    let log = fixture.deliveries().await;
    let log: Vec<_> = log.iter().map(|entry| (entry.attempt, entry.http_status, entry.error.as_deref())).collect();
    assert_eq!(
        log,
        [
            (1, Some(204), None),
            (3, Some(204), None),
            (2, Some(500), Some("the endpoint responded 500")),
            (1, Some(503), Some("the endpoint responded 503")),
        ]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retries_omit_erased_data() {
    let mut fixture = Fixture::start().await;
    fixture.receiver.react(Reaction::Respond("503 Service Unavailable\r\nretry-after: 600"));
    let id = fixture.clients.affiliate("Ann Example").await;
    fixture.wait_until(|webhook| webhook.attempts == 1).await;
    let erase = EraseAffiliateRequest { id, etag: String::new() };
    fixture.clients.erasures.erase_affiliate(erase).await.unwrap();
    fixture.receiver.react(Reaction::OK);
    fixture.try_again().await;
    fixture.wait_until(|webhook| webhook.position > 1).await;
    let [first, again, ..] = &fixture.receiver.received()[..] else { panic!("expected two messages") };
    assert_eq!(again.header("webhook-id"), first.header("webhook-id"));
    assert_eq!(again.positions(), first.positions());
    assert!(first.body.contains("Ann Example") && !again.body.contains("Ann Example"), "{again:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endpoints_failing_for_three_days_are_disabled() {
    let mut fixture = Fixture::start().await;
    fixture.receiver.react(Reaction::Respond("500 Internal Server Error"));
    fixture.change(1, 1).await;
    fixture.wait_until(|webhook| webhook.attempts == 1).await;
    run(&fixture.core.pool, "update webhooks set failing_since = now() - interval '71 hours'").await;
    fixture.try_again().await;
    let webhook = fixture.wait_until(|webhook| webhook.attempts == 2).await;
    assert_eq!(webhook.status, "enabled");
    run(&fixture.core.pool, "update webhooks set failing_since = now() - interval '72 hours'").await;
    fixture.try_again().await;
    let webhook = fixture.wait_until(|webhook| webhook.status == "disabled").await;
    let reason = "No attempt succeeded for three days. Last error: the endpoint responded 500.";
    assert_eq!((webhook.disabled_reason.as_deref(), webhook.position), (Some(reason), 0));
    fixture.receiver.react(Reaction::OK);
    let enabled = WebhookInput { status: Some("enabled".to_owned()), ..WebhookInput::default() };
    let request = UpdateWebhookRequest { id: fixture.id, webhook: Some(enabled) };
    let enabled = fixture.clients.webhooks.update_webhook(request).await.unwrap().into_inner().webhook.unwrap();
    assert_eq!((enabled.disabled_reason, enabled.failing_since), (None, None));
    fixture.wait_until(|webhook| webhook.position == 1).await;
    // Replays all changes from the beginning.
    let replayed = WebhookInput { position: Some(0), ..WebhookInput::default() };
    let request = UpdateWebhookRequest { id: fixture.id, webhook: Some(replayed) };
    fixture.clients.webhooks.update_webhook(request).await.unwrap();
    let received = fixture.receiver.wait_for(5).await;
    let [.., delivered, again] = &received[..] else { panic!("expected two messages") };
    assert_eq!(delivered.body, again.body);
    assert_ne!(delivered.header("webhook-id"), again.header("webhook-id"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gone_responses_disable_the_webhook_immediately() {
    let mut fixture = Fixture::start().await;
    fixture.receiver.react(Reaction::Respond("410 Gone"));
    fixture.change(1, 1).await;
    let webhook = fixture.wait_until(|webhook| webhook.status == "disabled").await;
    assert_eq!(webhook.disabled_reason.as_deref(), Some("The endpoint responded 410 Gone."));
    assert!(webhook.failing_since.is_some() && webhook.next_attempt_at.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redirects_are_not_followed() {
    let mut fixture = Fixture::start().await;
    let elsewhere = WebhookReceiver::start().await;
    let head = format!("307 Temporary Redirect\r\nlocation: {}", elsewhere.url());
    fixture.receiver.react(Reaction::Respond(head.leak()));
    fixture.change(1, 1).await;
    fixture.wait_until(|webhook| webhook.attempts == 1).await;
    let [entry] = &fixture.deliveries().await[..] else { panic!("expected one attempt") };
    assert_eq!((entry.http_status, entry.error.as_deref()), (Some(307), Some("the endpoint responded 307")));
    assert!(elsewhere.received().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn updates_during_an_attempt_resend_the_message() {
    let mut fixture = Fixture::start().await;
    let go_on = Arc::new(Notify::new());
    fixture.receiver.react(Reaction::Hang(Arc::clone(&go_on)));
    fixture.change(1, 1).await;
    fixture.receiver.wait_for(1).await;
    fixture.receiver.react(Reaction::OK);
    let changed = WebhookInput { description: Some("It changes.".to_owned()), ..WebhookInput::default() };
    let request = UpdateWebhookRequest { id: fixture.id, webhook: Some(changed) };
    fixture.clients.webhooks.update_webhook(request).await.unwrap();
    go_on.notify_one();
    // The second message arrives before the lease ends.
    timeout(PATIENCE / 2, fixture.wait_until(|webhook| webhook.position == 1)).await.unwrap();
    let [first, again] = &fixture.receiver.received()[..] else { panic!("expected two messages") };
    assert_eq!(first.body, again.body);
    assert_ne!(first.header("webhook-id"), again.header("webhook-id"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn multiple_cores_send_each_change_once() {
    let mut fixture = Fixture::start().await;
    let _second = core(&fixture.database, fixture.receiver.settings()).await;
    let _third = core(&fixture.database, fixture.receiver.settings()).await;
    for batch in 0..6 {
        fixture.change(1 + batch * 150, 150).await;
    }
    fixture.wait_until(|webhook| webhook.position == 900).await;
    assert_eq!(positions(&fixture.receiver.received()), (1..=900).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crashed_core_loses_no_messages() {
    let mut fixture = Fixture::start().await;
    fixture.receiver.react(Reaction::Hang(Arc::new(Notify::new())));
    fixture.change(1, 2).await;
    fixture.receiver.wait_for(1).await;
    let next = core(&fixture.database, fixture.receiver.settings()).await;
    fixture.clients = next.company(fixture.company);
    let TestCore { core, pool } = fixture.core;
    drop(core);
    fixture.core = next;
    fixture.change(3, 1).await;
    fixture.receiver.react(Reaction::OK);
    assert_eq!(fixture.webhook().await.position, 0);
    // Ends the crashed core's lease.
    run(&pool, "update webhooks set leased_until = now()").await;
    fixture.wait_until(|webhook| webhook.position == 3).await;
    let [first, again, rest] = &fixture.receiver.received()[..] else { panic!("expected three messages") };
    assert_eq!((first.header("webhook-id"), &first.body), (again.header("webhook-id"), &again.body));
    assert_eq!(rest.positions(), [3]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uncommitted_changes_are_not_sent() {
    let mut fixture = Fixture::start().await;
    let mut held = fixture.core.pool.begin().await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(affiliates(fixture.company, 1, 1))).execute(&mut *held).await.unwrap();
    let other = new_company();
    let (id, _) = create(&mut fixture.core.company(other), fixture.receiver.url(), &[]).await;
    assert_ne!(id, fixture.id);
    run(&fixture.core.pool, &affiliates(other, 1, 1)).await;
    let received = fixture.receiver.wait_for(1).await;
    let name = |message: &Received| message.json()["data"]["changes"][0]["fields"].to_string();
    run(&fixture.core.pool, &affiliates(other, 2, 1)).await;
    let received = [received, fixture.receiver.wait_for(2).await].concat();
    assert!(received.iter().all(|message| message.positions().len() == 1), "{received:?}");
    assert_eq!(fixture.webhook().await.position, 0);
    held.rollback().await.unwrap();
    fixture.change(7, 1).await;
    let received = fixture.receiver.wait_for(3).await;
    assert!(name(&received[2]).contains(r#""after":"7""#), "{received:?}");
    fixture.wait_until(|webhook| webhook.position == 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhooks_continue_at_the_oldest_stored_change() {
    let mut fixture = Fixture::start().await;
    fixture.receiver.react(Reaction::Respond("500 Internal Server Error"));
    for first in 1..=3 {
        fixture.change(first, 1).await;
    }
    fixture.wait_until(|webhook| webhook.attempts > 0).await;
    run(&fixture.core.pool, "delete from changes where position <= 2").await;
    // The next message also fails.
    fixture.try_again().await;
    let webhook = fixture.wait_until(|webhook| webhook.position == 2 && webhook.attempts > 0).await;
    assert_eq!(webhook.attempts, 1);
    fixture.receiver.react(Reaction::OK);
    fixture.try_again().await;
    fixture.wait_until(|webhook| webhook.position == 3).await;
    let last = fixture.receiver.received().pop().unwrap();
    assert_eq!((last.json()["data"]["after"].as_i64(), last.positions()), (Some(2), vec![3]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn delivery_log_is_bounded() {
    let mut fixture = Fixture::start().await;
    let entries = "insert into webhook_deliveries
        (company_id, webhook_id, number, message_id, after, position, attempt, started_at, duration_ms)
        select company_id, id, n, 'msg_1', 0, 0, 1, now(), 1 from webhooks, generate_series(1, 1500) n";
    run(&fixture.core.pool, entries).await;
    run(&fixture.core.pool, "update webhooks set deliveries = 1500").await;
    fixture.change(1, 1).await;
    fixture.wait_until(|webhook| webhook.position == 1).await;
    let numbers: Vec<i64> = fixture.deliveries().await.iter().map(|entry| entry.number).collect();
    assert_eq!((numbers.len(), numbers[0], numbers[999]), (1000, 1501, 502));
}

/// The position moves often, but the core sends nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn skipped_changes_leave_the_log_intact() {
    let mut fixture = Fixture::start().await;
    let (id, _) = create(&mut fixture.clients, fixture.receiver.url(), &["url"]).await;
    fixture.id = id;
    let url = format!(
        "insert into compliance_urls (company_id, url, url_hash) select {}, n, n::bytea
            from (select coalesce(max(id), 0)::text as n from compliance_urls) n",
        fixture.company
    );
    run(&fixture.core.pool, &url).await;
    fixture.wait_until(|webhook| webhook.position == 1).await;
    for number in 1..=3 {
        fixture.change(number, 1).await;
        fixture.wait_until(|webhook| webhook.position == number + 1).await;
    }
    run(&fixture.core.pool, &url).await;
    fixture.wait_until(|webhook| webhook.position == 5).await;
    let numbers: Vec<i64> = fixture.deliveries().await.iter().map(|entry| entry.number).collect();
    assert_eq!(numbers, [2, 1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_message_after_a_restore_reports_it() {
    for types in [&[][..], &["affiliate"]] {
        let mut fixture = Fixture::for_types(types).await;
        fixture.change(1, 5).await;
        fixture.wait_until(|webhook| webhook.position >= 5).await;
        let before = fixture.receiver.received().len();
        run(&fixture.core.pool, "select from jump_ahead()").await;
        let last: i64 = sqlx::query_scalar("select first_position()").fetch_one(&fixture.core.pool).await.unwrap();
        for number in [1, 2] {
            fixture.change(5 + number, 1).await;
            fixture.wait_until(|webhook| webhook.position >= last + number).await;
        }
        let messages = fixture.receiver.received();
        let restored = |message: &Received| message.json()["data"]["restored"].as_i64();
        // Only the first message after the restore names the lost positions.
        let all: Vec<_> = messages.iter().map(restored).collect();
        assert_eq!((all[before], all.iter().flatten().count()), (Some(6), 1), "{types:?}: {all:?}");
        assert_eq!(messages[before].json()["data"]["after"], 5);
        // A receiver that ignores positions up to its last one misses no new change.
        let positions = positions(&messages);
        assert!(positions.windows(2).all(|pair| pair[0] < pair[1]), "{positions:?}");
        assert_eq!(positions.last(), Some(&(last + 2)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhooks_at_lost_positions_report_the_loss() {
    for types in [&[][..], &["affiliate"]] {
        let mut fixture = Fixture::for_types(types).await;
        fixture.change(1, 5).await;
        run(&fixture.core.pool, "select from jump_ahead()").await;
        let last: i64 = sqlx::query_scalar("select first_position()").fetch_one(&fixture.core.pool).await.unwrap();
        fixture.change(6, 1).await;
        fixture.wait_until(|webhook| webhook.position > last).await;
        let before = fixture.receiver.received().len();
        // A position issued after the backup.
        let webhook = Some(WebhookInput { position: Some(8), ..WebhookInput::default() });
        let request = UpdateWebhookRequest { id: fixture.id, webhook };
        fixture.clients.webhooks.update_webhook(request).await.unwrap();
        let data = fixture.receiver.wait_for(before + 1).await[before].json()["data"].clone();
        assert_eq!((data["after"].as_i64(), data["restored"].as_i64()), (Some(8), Some(6)), "{types:?}: {data}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_omit_the_author() {
    let mut fixture = Fixture::start().await;
    let mut request = tonic::Request::new(CreateAffiliateRequest {
        affiliate: Some(AffiliateInput {
            client_affiliate_id: Some("A".to_owned()),
            affiliate_name: Some("A".to_owned()),
            ..AffiliateInput::default()
        }),
    });
    request.metadata_mut().insert("x-request-id", "private".parse().unwrap());
    fixture.clients.affiliates.create_affiliate(request).await.unwrap();
    let change = &fixture.receiver.wait_for(1).await[0].json()["data"]["changes"][0];
    assert_eq!((&change["subject"], &change["request_id"]), (&Value::Null, &Value::Null));
    let request = ListChangesRequest { after: Some(0), ..ListChangesRequest::default() };
    let listed = fixture.clients.changes.list_changes(request).await.unwrap().into_inner().changes;
    assert_eq!(listed[0].request_id.as_deref(), Some("private"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retry_after_dates_are_respected() {
    let mut fixture = Fixture::start().await;
    fixture.receiver.react(Reaction::Respond("500 Internal Server Error"));
    fixture.change(1, 1).await;
    fixture.wait_until(|webhook| webhook.attempts == 1).await;
    for (attempts, status) in (2..).zip(["503 Service Unavailable", "429 Too Many Requests", "413 Payload Too Large"]) {
        let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_mins(10));
        fixture.receiver.react(Reaction::Respond(format!("{status}\r\nretry-after: {date}").leak()));
        fixture.try_again().await;
        let webhook = fixture.wait_until(|webhook| webhook.attempts == attempts).await;
        let wait = webhook.next_attempt_at.unwrap().seconds - now();
        assert!((570..=620).contains(&wait), "{status}: {webhook:?}");
    }
}

/// Commands use such a core. After a serving core's second delivery, this core has had enough time for one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn core_without_background_work_delivers_nothing() {
    let (database, receiver) = (fresh_database().await.options, WebhookReceiver::start().await);
    let silent = core(&database, WebhookSettings { no_delivery: true, ..receiver.settings() }).await;
    let company = new_company();
    create(&mut silent.company(company), receiver.url(), &[]).await;
    run(&silent.pool, &affiliates(company, 1, 1)).await;
    let opened = database::open(database.into(), 4).await.unwrap();
    let settings = CoreSettings { webhooks: receiver.settings(), ..CoreSettings::default() };
    let command = Core::new(&opened, verifier().await, &settings).await.unwrap();

    let serving = Fixture::start().await;
    for number in [1, 2] {
        serving.change(number, 1).await;
        serving.receiver.wait_for(number as usize).await;
    }
    let touched = "select count(*) from webhooks where leased_until > 'epoch' or attempts > 0 or deliveries > 0";
    assert_eq!(sqlx::query_scalar::<_, i64>(touched).fetch_one(&silent.pool).await.unwrap(), 0);
    assert!(receiver.received().is_empty());
    drop(command);
}
