//! Webhooks: what arrives at an endpoint, in which order, and what happens when it does not accept it.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use compliance_api::{
    token::Claims,
    v1::{
        AffiliateInput, CreateAffiliateRequest, CreateWebhookRequest, DeleteWebhookRequest, GetWebhookRequest,
        ListChangesRequest, ListWebhookDeliveriesRequest, ListWebhooksRequest, RotateWebhookSecretRequest,
        SearchChangesRequest, TestWebhookRequest, UpdateWebhookRequest, Webhook, WebhookDelivery, WebhookInput,
    },
};
use core_server::{Core, CoreSettings, WebhookSettings, access::RateLimit, database};
use futures::future::join_all;
use serde_json::Value;
use sqlx::{AssertSqlSafe, PgPool, postgres::PgConnectOptions};
use test_support::{
    GrpcClients, Reaction, Received, TestCore, WebhookReceiver, fresh_database, new_company, now, reason_of, sign,
    tests, verifier,
};
use tokio::{net::TcpListener, sync::Notify, time::timeout};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

const PATIENCE: Duration = Duration::from_mins(1);
const REFUSED: &str = "the host has no public address";

tests![
    changes_arrive_in_order_and_signed,
    only_the_types_that_are_asked_for_arrive,
    a_message_that_fails_is_sent_again_as_it_was,
    a_message_that_was_cut_is_sent_again_as_it_was,
    two_secrets_sign_while_one_is_rotated,
    a_repeated_rotation_keeps_the_secret_that_the_endpoint_has,
    an_endpoint_that_fails_for_three_days_is_disabled,
    an_endpoint_that_is_gone_is_disabled_at_once,
    a_redirect_is_not_followed,
    private_addresses_are_refused_when_they_are_named_and_when_they_are_connected_to,
    an_endpoint_that_hangs_delays_no_other,
    many_endpoints_that_begin_to_hang_delay_no_other,
    whatever_an_endpoint_does_the_attempt_ends,
    an_endpoint_with_a_limit_gets_smaller_messages,
    a_change_that_is_too_large_is_named,
    a_wait_until_a_date_is_kept,
    a_webhook_that_is_changed_during_an_attempt_goes_on_after_it,
    a_response_is_not_read_to_its_end,
    several_cores_send_each_message_once,
    a_core_that_dies_loses_nothing,
    what_is_not_committed_is_not_sent,
    a_webhook_goes_on_at_the_oldest_change_that_is_kept,
    a_restore_is_said_by_the_next_message,
    the_log_is_bounded,
    a_company_has_no_more_webhooks_than_it_may_however_they_are_created,
    a_repeated_creation_is_one_webhook_with_one_secret,
    messages_do_not_say_who_made_a_change,
    what_is_done_to_webhooks_is_in_the_audit,
    a_core_without_background_work_delivers_nothing,
];

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

/// A statement that creates so many affiliates.
fn affiliates(company: i64, first: i64, number: i64) -> String {
    format!(
        "insert into affiliates (company_id, client_affiliate_id, affiliate_name)
         select {company}, n::text, n::text from generate_series({first}, {first} + {number} - 1) n"
    )
}

impl Fixture {
    async fn start() -> Self {
        let (database, receiver) = (fresh_database().await.options, WebhookReceiver::start().await);
        let core = core(&database, receiver.settings()).await;
        // So that positions are those of the changes that a test makes.
        run(&core.pool, "alter table webhooks disable trigger user").await;
        let company = new_company();
        let mut clients = core.company(company);
        let (id, secret) = create(&mut clients, receiver.url(), &[]).await;
        Self { core, database, company, clients, receiver, id, secret }
    }

    async fn change(&self, first: i64, number: i64) {
        run(&self.core.pool, &affiliates(self.company, first, number)).await;
    }

    async fn webhook(&mut self) -> Webhook {
        self.clients.webhooks.get_webhook(GetWebhookRequest { id: self.id }).await.unwrap().into_inner()
    }

    /// Waits until the webhook is in a state.
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

    /// Waits until a count in the database is as it shall be.
    async fn wait_for_count(&self, statement: &str, is: impl Fn(i64) -> bool) {
        let counting = async {
            while !is(sqlx::query_scalar(AssertSqlSafe(statement.to_owned())).fetch_one(&self.core.pool).await.unwrap())
            {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, counting).await.unwrap();
    }

    async fn deliveries(&mut self) -> Vec<WebhookDelivery> {
        let request = ListWebhookDeliveriesRequest { id: self.id, limit: Some(1000) };
        self.clients.webhooks.list_webhook_deliveries(request).await.unwrap().into_inner().deliveries
    }

    /// Lets the next attempt follow now.
    async fn try_again(&self) {
        run(&self.core.pool, "update webhooks set next_attempt_at = now(), leased_until = 'epoch'").await;
    }
}

fn positions(received: &[Received]) -> Vec<i64> {
    received.iter().flat_map(Received::positions).collect()
}

async fn changes_arrive_in_order_and_signed() {
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
    // As the feed has them.
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

async fn only_the_types_that_are_asked_for_arrive() {
    let mut fixture = Fixture::start().await;
    let other = WebhookReceiver::start().await;
    let (id, _) = create(&mut fixture.clients, fixture.receiver.url(), &["url", "case"]).await;
    drop(other);
    fixture.id = id;
    fixture.change(1, 3).await;
    // What is not sent is passed over.
    fixture.wait_until(|webhook| webhook.position == 3).await;
    assert!(fixture.deliveries().await.is_empty());
    let url = "insert into compliance_urls (company_id, url, url_hash) values ($1, 'https://a.example/', 'a')";
    sqlx::query(url).bind(fixture.company).execute(&fixture.core.pool).await.unwrap();
    fixture.wait_until(|webhook| webhook.position == 4).await;
    let [entry] = &fixture.deliveries().await[..] else { panic!("it was not delivered once") };
    // Nothing is missing between the messages.
    assert_eq!((entry.after, entry.position), (0, 4));
}

async fn a_message_that_fails_is_sent_again_as_it_was() {
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
    let [first, second, third, rest] = &fixture.receiver.received()[..] else { panic!("there are other messages") };
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

async fn a_message_that_was_cut_is_sent_again_as_it_was() {
    let mut fixture = Fixture::start().await;
    fixture.receiver.react(Reaction::Respond("500 Internal Server Error"));
    fixture.change(1, 3).await;
    fixture.wait_until(|webhook| webhook.attempts == 1).await;
    // As if there had been memory for two of them.
    run(&fixture.core.pool, "update webhooks set message_to = 2").await;
    fixture.try_again().await;
    fixture.wait_until(|webhook| webhook.attempts == 2).await;
    fixture.receiver.react(Reaction::OK);
    fixture.try_again().await;
    fixture.wait_until(|webhook| webhook.position == 3).await;
    let [_, second, third, rest] = &fixture.receiver.received()[..] else { panic!("there are other messages") };
    assert_eq!((second.header("webhook-id"), &second.body), (third.header("webhook-id"), &third.body));
    assert_eq!((second.positions(), rest.positions()), (vec![1, 2], vec![3]));
    assert_eq!(rest.json()["data"]["after"], 2);
}

async fn two_secrets_sign_while_one_is_rotated() {
    let mut fixture = Fixture::start().await;
    let request = RotateWebhookSecretRequest { id: fixture.id };
    let rotated = fixture.clients.webhooks.rotate_webhook_secret(request).await.unwrap().into_inner();
    assert!(rotated.webhook.unwrap().previous_secret_until.is_some() && rotated.secret != fixture.secret);
    let test = TestWebhookRequest { id: fixture.id };
    let tested = fixture.clients.webhooks.test_webhook(test).await.unwrap().into_inner();
    assert_eq!((tested.http_status, tested.error), (Some(204), None));
    run(&fixture.core.pool, "update webhooks set previous_secret_until = array[now()]").await;
    fixture.clients.webhooks.test_webhook(test).await.unwrap();
    let [first, second] = &fixture.receiver.received()[..] else { panic!("there are other messages") };
    assert_eq!((first.header("webhook-id"), &first.json()["type"]), (&*tested.message_id, &"test".into()));
    assert!(first.is_signed_with(&rotated.secret) && first.is_signed_with(&fixture.secret));
    assert!(second.is_signed_with(&rotated.secret) && !second.is_signed_with(&fixture.secret));
    assert_eq!(fixture.webhook().await.previous_secret_until, None);
}

async fn a_repeated_rotation_keeps_the_secret_that_the_endpoint_has() {
    let mut fixture = Fixture::start().await;
    let mut secrets = vec![fixture.secret.clone()];
    for rotations in 1..=6 {
        let request = RotateWebhookSecretRequest { id: fixture.id };
        secrets.push(fixture.clients.webhooks.rotate_webhook_secret(request).await.unwrap().into_inner().secret);
        fixture.clients.webhooks.test_webhook(TestWebhookRequest { id: fixture.id }).await.unwrap();
        let message = fixture.receiver.received().pop().unwrap();
        let signing: Vec<_> = secrets.iter().filter(|secret| message.is_signed_with(secret)).collect();
        // The last six, of which one is not a previous one.
        assert_eq!(signing, secrets.iter().skip(rotations / 6).collect::<Vec<_>>());
    }
}

async fn an_endpoint_that_fails_for_three_days_is_disabled() {
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
    let reason = "No attempt succeeded for three days. The last one: the endpoint responded 500.";
    assert_eq!((webhook.disabled_reason.as_deref(), webhook.position), (Some(reason), 0));
    fixture.receiver.react(Reaction::OK);
    let enabled = WebhookInput { status: Some("enabled".to_owned()), ..WebhookInput::default() };
    let request = UpdateWebhookRequest { id: fixture.id, webhook: Some(enabled) };
    let enabled = fixture.clients.webhooks.update_webhook(request).await.unwrap().into_inner().webhook.unwrap();
    assert_eq!((enabled.disabled_reason, enabled.failing_since), (None, None));
    fixture.wait_until(|webhook| webhook.position == 1).await;
    // Once more from the beginning.
    let replayed = WebhookInput { position: Some(0), ..WebhookInput::default() };
    let request = UpdateWebhookRequest { id: fixture.id, webhook: Some(replayed) };
    fixture.clients.webhooks.update_webhook(request).await.unwrap();
    let received = fixture.receiver.wait_for(5).await;
    let [.., delivered, again] = &received[..] else { panic!("messages are missing") };
    assert_eq!(delivered.body, again.body);
    assert_ne!(delivered.header("webhook-id"), again.header("webhook-id"));
}

async fn an_endpoint_that_is_gone_is_disabled_at_once() {
    let mut fixture = Fixture::start().await;
    fixture.receiver.react(Reaction::Respond("410 Gone"));
    fixture.change(1, 1).await;
    let webhook = fixture.wait_until(|webhook| webhook.status == "disabled").await;
    assert_eq!(webhook.disabled_reason.as_deref(), Some("The endpoint responded 410 Gone."));
}

async fn a_redirect_is_not_followed() {
    let mut fixture = Fixture::start().await;
    let elsewhere = WebhookReceiver::start().await;
    let head = format!("307 Temporary Redirect\r\nlocation: {}", elsewhere.url());
    fixture.receiver.react(Reaction::Respond(head.leak()));
    fixture.change(1, 1).await;
    fixture.wait_until(|webhook| webhook.attempts == 1).await;
    let [entry] = &fixture.deliveries().await[..] else { panic!("there are other attempts") };
    assert_eq!((entry.http_status, entry.error.as_deref()), (Some(307), Some("the endpoint responded 307")));
    assert!(elsewhere.received().is_empty());
}

async fn private_addresses_are_refused_when_they_are_named_and_when_they_are_connected_to() {
    let receiver = WebhookReceiver::start().await;
    let settings = WebhookSettings { networks: Vec::new(), ..receiver.settings() };
    let core = core(&fresh_database().await.options, settings).await;
    let company = new_company();
    let mut clients = core.company(company);
    for (url, must) in [
        (&*receiver.url(), "must have a host with a public address"),
        ("https://127.0.0.1/", "must have a host with a public address"),
        ("https://0x7f.1/", "must have a host with a public address"),
        ("https://[::ffff:10.0.0.1]/", "must have a host with a public address"),
        ("https://169.254.169.254/latest/meta-data", "must have a host with a public address"),
        ("http://partner.example/", "must begin with https://"),
        ("https://user:password@partner.example/", "must have no user and no password"),
    ] {
        let webhook = WebhookInput { url: Some(url.to_owned()), ..WebhookInput::default() };
        let request = CreateWebhookRequest { webhook: Some(webhook) };
        let error = clients.webhooks.create_webhook(request).await.unwrap_err();
        assert_eq!((error.code(), &*reason_of(&error)), (Code::InvalidArgument, "INVALID_FIELDS"), "{url}");
        assert_eq!(error.message(), format!("The url field {must}."), "{url}");
    }
    // As if the name had another address then.
    let (id, _) = create(&mut clients, "https://partner.example/".to_owned(), &[]).await;
    for url in [receiver.url(), format!("https://127.0.0.1:{}/", receiver.port)] {
        run(&core.pool, &format!("update webhooks set url = '{url}'")).await;
        let tested = clients.webhooks.test_webhook(TestWebhookRequest { id }).await.unwrap().into_inner();
        assert_eq!((tested.http_status, tested.error.as_deref()), (None, Some(REFUSED)), "{url}");
    }
    run(&core.pool, &affiliates(company, 1, 1)).await;
    let failed = "select count(*) from webhook_deliveries where error = $1";
    let waiting = async {
        while sqlx::query_scalar::<_, i64>(failed).bind(REFUSED).fetch_one(&core.pool).await.unwrap() == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, waiting).await.unwrap();
    assert!(receiver.received().is_empty());
}

async fn an_endpoint_that_hangs_delays_no_other() {
    let mut fixture = Fixture::start().await;
    let go_on = Arc::new(Notify::new());
    fixture.receiver.react(Reaction::Hang(Arc::clone(&go_on)));
    fixture.change(1, 1).await;
    fixture.receiver.wait_for(1).await;
    // The other one, of the same company and behind the same address, is served meanwhile.
    fixture.receiver.react(Reaction::OK);
    create(&mut fixture.clients, format!("{}/other", fixture.receiver.url()), &[]).await;
    fixture.change(2, 1).await;
    let received = fixture.receiver.wait_for(2).await;
    assert_eq!((received[0].positions(), received[1].positions()), (vec![1], vec![2]));
    assert_eq!(fixture.webhook().await.position, 0);
    go_on.notify_one();
    fixture.wait_until(|webhook| webhook.position == 2).await;
}

async fn a_webhook_that_is_changed_during_an_attempt_goes_on_after_it() {
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
    // Before the lease would end.
    timeout(PATIENCE / 2, fixture.wait_until(|webhook| webhook.position == 1)).await.unwrap();
    let [first, again] = &fixture.receiver.received()[..] else { panic!("there are other messages") };
    assert_eq!(first.body, again.body);
    assert_ne!(first.header("webhook-id"), again.header("webhook-id"));
}

async fn a_response_is_not_read_to_its_end() {
    let mut fixture = Fixture::start().await;
    fixture.receiver.react(Reaction::Respond("200 OK"));
    fixture.change(1, 1).await;
    fixture.wait_until(|webhook| webhook.position == 1).await;
    let [entry] = &fixture.deliveries().await[..] else { panic!("there are other attempts") };
    assert_eq!((entry.http_status, entry.error.as_deref()), (Some(200), None));
}

async fn several_cores_send_each_message_once() {
    let mut fixture = Fixture::start().await;
    let _second = core(&fixture.database, fixture.receiver.settings()).await;
    let _third = core(&fixture.database, fixture.receiver.settings()).await;
    for batch in 0..6 {
        fixture.change(1 + batch * 150, 150).await;
    }
    fixture.wait_until(|webhook| webhook.position == 900).await;
    assert_eq!(positions(&fixture.receiver.received()), (1..=900).collect::<Vec<_>>());
}

async fn a_core_that_dies_loses_nothing() {
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
    // When its lease has ended.
    run(&pool, "update webhooks set leased_until = now()").await;
    fixture.wait_until(|webhook| webhook.position == 3).await;
    let [first, again, rest] = &fixture.receiver.received()[..] else { panic!("there are other messages") };
    assert_eq!((first.header("webhook-id"), &first.body), (again.header("webhook-id"), &again.body));
    assert_eq!(rest.positions(), [3]);
}

async fn what_is_not_committed_is_not_sent() {
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

async fn a_webhook_goes_on_at_the_oldest_change_that_is_kept() {
    let mut fixture = Fixture::start().await;
    fixture.receiver.react(Reaction::Respond("500 Internal Server Error"));
    for first in 1..=3 {
        fixture.change(first, 1).await;
    }
    fixture.wait_until(|webhook| webhook.attempts > 0).await;
    run(&fixture.core.pool, "delete from changes where position <= 2").await;
    // The next message fails anew.
    fixture.try_again().await;
    let webhook = fixture.wait_until(|webhook| webhook.position == 2 && webhook.attempts > 0).await;
    assert_eq!(webhook.attempts, 1);
    fixture.receiver.react(Reaction::OK);
    fixture.try_again().await;
    fixture.wait_until(|webhook| webhook.position == 3).await;
    let last = fixture.receiver.received().pop().unwrap();
    assert_eq!((last.json()["data"]["after"].as_i64(), last.positions()), (Some(2), vec![3]));
}

async fn the_log_is_bounded() {
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

async fn a_company_has_no_more_webhooks_than_it_may_however_they_are_created() {
    let fixture = Fixture::start().await;
    let created = join_all((0..30).map(async |number| {
        let mut clients = fixture.core.company(fixture.company);
        loop {
            let url = Some(format!("{}/{number}", fixture.receiver.url()));
            let webhook = WebhookInput { url, ..WebhookInput::default() };
            let created = clients.webhooks.create_webhook(CreateWebhookRequest { webhook: Some(webhook) }).await;
            match created.map_err(|status| reason_of(&status)).err().as_deref() {
                // Few names are looked up at the same time.
                Some("RATE_LIMITED") => tokio::task::yield_now().await,
                refused => return refused.map(str::to_owned),
            }
        }
    }));
    let refused: Vec<String> = created.await.into_iter().flatten().collect();
    // One was there before.
    assert_eq!(refused, vec!["FAILED_PRECONDITION"; 30 - 19]);
}

async fn a_restore_is_said_by_the_next_message() {
    const DISTANCE: i64 = 1 << 40;
    for types in [&[][..], &["affiliate"]] {
        let (database, receiver) = (fresh_database().await.options, WebhookReceiver::start().await);
        let core = core(&database, receiver.settings()).await;
        run(&core.pool, "alter table webhooks disable trigger user").await;
        let company = new_company();
        let mut clients = core.company(company);
        let (id, _) = create(&mut clients, receiver.url(), types).await;
        let position = async |position: i64| {
            let mut clients = core.company(company);
            let waiting = async {
                loop {
                    let webhook = clients.webhooks.get_webhook(GetWebhookRequest { id }).await.unwrap().into_inner();
                    if webhook.position >= position {
                        return;
                    }
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            };
            timeout(PATIENCE, waiting).await.unwrap();
        };
        run(&core.pool, &affiliates(company, 1, 5)).await;
        position(5).await;
        let before = receiver.received().len();
        run(&core.pool, "select from jump_ahead()").await;
        let last = 5 + DISTANCE;
        for number in [1, 2] {
            run(&core.pool, &affiliates(company, 5 + number, 1)).await;
            position(last + number).await;
        }
        let messages = receiver.received();
        let restored = |message: &Received| message.json()["data"]["restored"].as_i64();
        // The first message after it says which positions are lost, and no other does.
        let all: Vec<_> = messages.iter().map(restored).collect();
        assert_eq!((all[before], all.iter().flatten().count()), (Some(6), 1), "{types:?}: {all:?}");
        assert_eq!(messages[before].json()["data"]["after"], 5);
        // A receiver that ignores positions up to the last one ignores nothing new.
        let positions = positions(&messages);
        assert!(positions.windows(2).all(|pair| pair[0] < pair[1]), "{positions:?}");
        assert_eq!(positions.last(), Some(&(last + 2)));
    }
}

/// Whoever sends it: a client that got no response, a proxy, or both at the same time through different cores.
async fn a_repeated_creation_is_one_webhook_with_one_secret() {
    let mut fixture = Fixture::start().await;
    let other = core(&fixture.database, fixture.receiver.settings()).await;
    let token = |subject: &str| {
        let claims = Claims::new(fixture.company, now(), 3600);
        sign(&Claims { sub: Some(subject.to_owned()), scope: Some("webhooks".to_owned()), ..claims })
    };
    let url = Some(format!("{}/repeated", fixture.receiver.url()));
    let webhook = WebhookInput { url, description: Some("Ours".to_owned()), ..WebhookInput::default() };
    let request = CreateWebhookRequest { webhook: Some(webhook) };
    let create = async |core: &TestCore, subject| {
        let created = core.clients(&token(subject)).webhooks.create_webhook(request.clone()).await?.into_inner();
        Ok::<_, Status>((created.webhook.unwrap().id, created.secret))
    };
    let created = join_all((0..6).map(|number| create([&fixture.core, &other][number % 2], "a"))).await;
    let created: Vec<_> = created.into_iter().map(Result::unwrap).collect();
    assert!(created.iter().all(|(id, secret)| (id, secret) == (&created[0].0, &created[0].1)), "there are several");
    let refused = |status: Status| {
        let id = status.get_error_details().error_info().unwrap().metadata["webhook_id"].clone();
        assert_eq!((reason_of(&status), id), ("FAILED_PRECONDITION".to_owned(), created[0].0.to_string()));
    };
    // The secret is for whoever created the webhook.
    refused(create(&other, "b").await.unwrap_err());
    run(&other.pool, "update webhooks set created_at = now() - interval '61 minutes'").await;
    refused(create(&other, "a").await.unwrap_err());
    run(&other.pool, "update webhooks set created_at = now()").await;
    assert_eq!(create(&other, "a").await.unwrap(), created[0]);
    let rotate = RotateWebhookSecretRequest { id: created[0].0 };
    fixture.clients.webhooks.rotate_webhook_secret(rotate).await.unwrap();
    refused(create(&other, "a").await.unwrap_err());
    let listed = fixture.clients.webhooks.list_webhooks(ListWebhooksRequest {}).await.unwrap().into_inner();
    assert_eq!(listed.webhooks.len(), 2);
}

async fn messages_do_not_say_who_made_a_change() {
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

/// Longer than the promised 2 s, since the machine of a test is busy, and shorter than an attempt that hangs.
const PROMPTLY: Duration = Duration::from_secs(12);

/// Of eight companies all endpoints begin to hang, and of a ninth one all but one.
async fn many_endpoints_that_begin_to_hang_delay_no_other() {
    let fixture = Fixture::start().await;
    let receiver = &fixture.receiver;
    let hanging = receiver.react_at("/hang", Reaction::Hang(Arc::new(Notify::new())));
    let (own, healthy) = (receiver.react_at("/own", Reaction::OK), receiver.react_at("/healthy", Reaction::OK));
    let companies: Vec<i64> = (0..8).map(|_| new_company()).collect();
    let (last, healthy_company) = (new_company(), new_company());
    let hang = |companies: &[i64], number: i64| {
        format!(
            "insert into webhooks (company_id, url, types, secret, position)
             select company, '{hanging}?' || number, '{{}}', 'whsec_', 0
             from unnest(array{companies:?}) company, generate_series(1, {number}) number"
        )
    };
    run(&fixture.core.pool, "delete from webhooks").await;
    run(&fixture.core.pool, &hang(&companies, 20)).await;
    run(&fixture.core.pool, &hang(&[last], 19)).await;
    create(&mut fixture.core.company(last), own, &[]).await;
    create(&mut fixture.core.company(healthy_company), healthy, &[]).await;
    let all = [&companies[..], &[last, healthy_company]].concat();
    let count = |path: &str| fixture.receiver.received().iter().filter(|message| message.path == path).count();
    let ended = "select count(*) from webhook_deliveries where duration_ms > 10000";
    for round in 1..=3 {
        let start = Instant::now();
        let change = format!(
            "insert into affiliates (company_id, client_affiliate_id, affiliate_name)
             select company, '{round}', '{round}' from unnest(array{all:?}) company"
        );
        run(&fixture.core.pool, &change).await;
        for path in ["/healthy", "/own"] {
            while count(path) < round {
                // At first, the handshakes of all of them may take the test's processors longer than that.
                let is_late = round > 1 && start.elapsed() > PROMPTLY;
                assert!(!is_late, "{path} waits, while {} hang", count("/hang"));
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            if round == 1 {
                let ended: i64 = sqlx::query_scalar(ended).fetch_one(&fixture.core.pool).await.unwrap();
                assert_eq!(ended, 0, "{path} has waited until attempts ended that hung");
            }
            println!("{path}: {:?}, beside {} that hang", start.elapsed(), count("/hang"));
        }
    }
    assert!(count("/hang") >= 100, "{} hang", count("/hang"));
    // Of the company with 19, not all may hang at the same time. Those that may not are tried again.
    let ended = format!(
        "select count(*) from webhook_deliveries where company_id = {last} and error like 'no response within 0.5 s%'"
    );
    fixture.wait_for_count(&ended, |count| count > 0).await;
}

/// However it keeps the connection: it does not begin with TLS, has no end of its head, or is silent.
async fn whatever_an_endpoint_does_the_attempt_ends() {
    let mut fixture = Fixture::start().await;
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent_url = format!("https://127.0.0.1:{}/", silent.local_addr().unwrap().port());
    let _accepting = tokio::spawn(async move {
        let mut connections = Vec::new();
        loop {
            connections.push(silent.accept().await.unwrap());
        }
    });
    let (drip, head) = (Reaction::Drip, Reaction::EndlessHead);
    let hang = Reaction::Hang(Arc::new(Notify::new()));
    let mut ids = BTreeMap::new();
    for url in [
        silent_url,
        fixture.receiver.react_at("/drip", drip),
        fixture.receiver.react_at("/head", head),
        fixture.receiver.react_at("/hang", hang),
    ] {
        ids.insert(create(&mut fixture.clients, url.clone(), &[]).await.0, url);
    }
    fixture.change(1, 1).await;
    for (id, url) in ids {
        fixture.id = id;
        fixture.wait_until(|webhook| webhook.attempts > 0).await;
        let entry = fixture.deliveries().await.pop().unwrap();
        println!("{url}: {:?} after {} ms", entry.error, entry.duration_ms);
        assert!(entry.error.is_some() && entry.duration_ms < 20_000, "{url}: {entry:?}");
    }
}

async fn an_endpoint_with_a_limit_gets_smaller_messages() {
    const LIMIT: usize = 10_000;
    let mut fixture = Fixture::start().await;
    fixture.receiver.react(Reaction::AtMost(LIMIT));
    fixture.change(1, 250).await;
    fixture.wait_until(|webhook| webhook.position == 250 && webhook.attempts == 0).await;
    let (refused, accepted): (Vec<_>, Vec<_>) =
        fixture.receiver.received().into_iter().partition(|message| message.body.len() > LIMIT);
    assert_eq!(positions(&accepted), (1..=250).collect::<Vec<_>>());
    // What fits is remembered.
    assert!((1..=4).contains(&refused.len()), "{} are too large", refused.len());
    let mut bodies = BTreeMap::new();
    for message in refused.iter().chain(&accepted) {
        let known = bodies.entry(message.header("webhook-id").to_owned()).or_insert_with(|| message.body.clone());
        assert_eq!(*known, message.body);
    }
    assert_eq!(bodies.len(), refused.len() + accepted.len());
    let log = fixture.deliveries().await;
    let errors: Vec<_> = log.iter().filter_map(|entry| entry.error.as_deref()).collect();
    assert_eq!(errors.len(), refused.len());
    assert!(
        errors[errors.len() - 1].starts_with("the endpoint responded 413 to 100 changes, a body of "),
        "{errors:?}"
    );
    assert_eq!(fixture.webhook().await.failing_since, None);
    // Until the webhook is changed.
    fixture.receiver.react(Reaction::OK);
    let webhook = Some(WebhookInput { position: Some(0), ..WebhookInput::default() });
    fixture.clients.webhooks.update_webhook(UpdateWebhookRequest { id: fixture.id, webhook }).await.unwrap();
    fixture.wait_until(|webhook| webhook.position == 250).await;
    assert!(fixture.receiver.received().iter().rev().take(3).any(|message| message.positions().len() == 100));
}

async fn a_change_that_is_too_large_is_named() {
    let mut fixture = Fixture::start().await;
    fixture.receiver.react(Reaction::AtMost(200));
    fixture.change(1, 5).await;
    fixture.wait_until(|webhook| webhook.attempts == 1).await;
    fixture.try_again().await;
    let webhook = fixture.wait_until(|webhook| webhook.attempts == 2).await;
    assert!(webhook.position == 0 && webhook.failing_since.is_some(), "{webhook:?}");
    let received = fixture.receiver.received();
    let [.., first, second] = &received[..] else { panic!("there are fewer messages") };
    assert_eq!((first.positions(), first.header("webhook-id")), (vec![1], second.header("webhook-id")));
    let error = fixture.deliveries().await[0].error.clone().unwrap();
    let bytes = first.body.len();
    assert!(error.starts_with("the endpoint responded 413 to change 1 alone (affiliate "), "{error}");
    assert!(error.ends_with(&format!(", a body of {bytes} bytes")), "{error}");
    fixture.receiver.react(Reaction::OK);
    fixture.try_again().await;
    fixture.wait_until(|webhook| webhook.position == 5).await;
}

async fn a_wait_until_a_date_is_kept() {
    for status in ["503 Service Unavailable", "429 Too Many Requests", "413 Payload Too Large"] {
        let mut fixture = Fixture::start().await;
        let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_mins(10));
        fixture.receiver.react(Reaction::Respond(format!("{status}\r\nretry-after: {date}").leak()));
        fixture.change(1, 1).await;
        let webhook = fixture.wait_until(|webhook| webhook.attempts == 1).await;
        let wait = webhook.next_attempt_at.unwrap().seconds - webhook.failing_since.unwrap().seconds;
        assert!((590..=620).contains(&wait), "{status}: {webhook:?}");
    }
}

/// Every operation on a webhook, and a failure that disables it, is in the audit with who did it. Deliveries are not.
async fn what_is_done_to_webhooks_is_in_the_audit() {
    let mut fixture = Fixture::start().await;
    run(&fixture.core.pool, "alter table webhooks enable trigger user").await;
    let claims = Claims::new(fixture.company, now(), 3600);
    let scope = Some("webhooks".to_owned());
    let mut owner = fixture.core.clients(&sign(&Claims { sub: Some("owner".to_owned()), scope, ..claims }));
    let url = fixture.receiver.react_at("/audited", Reaction::OK);
    let (id, secret) = create(&mut owner, url.clone(), &["affiliate"]).await;
    fixture.id = id;
    fixture.change(1, 1).await;
    fixture.wait_until(|webhook| webhook.position >= 1).await;
    let update = |webhook| UpdateWebhookRequest { id, webhook: Some(webhook) };
    let described = WebhookInput { description: Some("Ours".to_owned()), ..WebhookInput::default() };
    for _ in 0..2 {
        owner.webhooks.update_webhook(update(described.clone())).await.unwrap();
    }
    let rotated = owner.webhooks.rotate_webhook_secret(RotateWebhookSecretRequest { id }).await.unwrap().into_inner();
    owner.webhooks.test_webhook(TestWebhookRequest { id }).await.unwrap();
    fixture.receiver.react_at("/audited", Reaction::Respond("410 Gone"));
    fixture.change(2, 1).await;
    fixture.wait_until(|webhook| webhook.status == "disabled").await;
    owner.webhooks.delete_webhook(DeleteWebhookRequest { id }).await.unwrap();

    let request =
        SearchChangesRequest { resource: Some("webhook".to_owned()), id: Some(id), ..SearchChangesRequest::default() };
    let mut found = fixture.clients.audit.search_changes(request).await.unwrap().into_inner().changes;
    found.reverse();
    let text = format!("{found:?}");
    assert!(!text.contains("whsec_") && !text.contains(&secret) && !text.contains(&rotated.secret), "{text}");
    let done: Vec<_> = found
        .iter()
        .map(|change| {
            let fields: Vec<_> = change.fields.iter().map(|field| &*field.field).collect();
            (&*change.operation, change.subject.as_deref(), fields)
        })
        .collect();
    let owner = Some("owner");
    assert_eq!(
        done,
        [
            ("created", owner, vec!["status", "types", "url"]),
            ("updated", owner, vec!["description"]),
            ("updated", owner, vec!["secret_rotated_at"]),
            ("updated", owner, vec!["tested_at"]),
            ("updated", None, vec!["disabled_reason", "status"]),
            (
                "deleted",
                owner,
                vec!["description", "disabled_reason", "secret_rotated_at", "status", "tested_at", "types", "url"]
            ),
        ]
    );
    assert!(found.iter().all(|change| change.resource == "webhook" && change.id == id));
    // The feed, which needs no scope, and messages have none of it.
    let request = ListChangesRequest { after: Some(0), ..ListChangesRequest::default() };
    let listed = fixture.clients.changes.list_changes(request).await.unwrap().into_inner();
    let resources: Vec<_> = listed.changes.iter().map(|change| &*change.resource).collect();
    assert_eq!((resources, listed.position), (vec!["affiliate"; 2], listed.last_position));
    assert!(fixture.receiver.received().iter().all(|message| !message.body.contains(r#""resource":"webhook""#)));
}

/// As commands have one. A core that serves is the clock: once it has delivered twice, the other one had the time to.
async fn a_core_without_background_work_delivers_nothing() {
    let (database, receiver) = (fresh_database().await.options, WebhookReceiver::start().await);
    let silent = core(&database, WebhookSettings { deliver: false, ..receiver.settings() }).await;
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
