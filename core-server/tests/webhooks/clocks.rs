//! Tests webhooks with wrong stored times, from a clock that was ahead or a manual change with `psql`.

use std::time::Duration;

use compliance_api::v1::{
    CreateWebhookRequest, ListWebhooksRequest, RotateWebhookSecretRequest, TestWebhookRequest, UpdateWebhookRequest,
    WebhookInput,
};
use test_support::{Reaction, now, reason_of};
use tokio::time::timeout;

use super::{Fixture, run};

/// Sets columns to a time that is 400 days ahead.
async fn ahead(fixture: &Fixture, columns: &[&str]) {
    let later = |column: &&str| format!("{column} = now() + interval '400 days'");
    let columns = columns.iter().map(later).collect::<Vec<_>>().join(", ");
    run(&fixture.core.pool, &format!("update webhooks set {columns}")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clock_jumps_do_not_delay_deliveries() {
    let mut fixture = Fixture::start().await;
    for (position, columns) in
        (1..).zip([&["next_attempt_at"][..], &["leased_until"], &["next_attempt_at", "leased_until"]])
    {
        ahead(&fixture, columns).await;
        fixture.change(position, 1).await;
        fixture.wait_until(|webhook| webhook.position == position).await;
    }
    // The next attempt still waits for its scheduled time.
    run(&fixture.core.pool, "update webhooks set next_attempt_at = now() + interval '3 hours'").await;
    fixture.change(4, 1).await;
    timeout(Duration::from_secs(2), fixture.wait_until(|webhook| webhook.position == 4)).await.unwrap_err();
    // The start of the failures follows the correct clock again.
    fixture.receiver.react(Reaction::Respond("500 Internal Server Error"));
    fixture.try_again().await;
    fixture.wait_until(|webhook| webhook.attempts == 1).await;
    ahead(&fixture, &["failing_since", "next_attempt_at"]).await;
    let webhook = fixture.wait_until(|webhook| webhook.attempts == 2).await;
    assert!((webhook.failing_since.unwrap().seconds - now()).abs() < 60, "{webhook:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clock_jumps_do_not_keep_old_secrets_valid() {
    let mut fixture = Fixture::start().await;
    let rotate = RotateWebhookSecretRequest { id: fixture.id };
    let rotated = fixture.clients.webhooks.rotate_webhook_secret(rotate).await.unwrap().into_inner();
    assert!(rotated.webhook.unwrap().previous_secret_until.is_some());
    run(&fixture.core.pool, "update webhooks set previous_secret_until = array[now() + interval '401 days']").await;
    assert_eq!(fixture.webhook().await.previous_secret_until, None);
    fixture.clients.webhooks.test_webhook(TestWebhookRequest { id: fixture.id }).await.unwrap();
    let message = fixture.receiver.received().pop().unwrap();
    assert!(message.is_signed_with(&rotated.secret) && !message.is_signed_with(&fixture.secret));
    // A repeated create does not return the secret again.
    let webhook = WebhookInput { url: Some(format!("{}/other", fixture.receiver.url())), ..WebhookInput::default() };
    let create = CreateWebhookRequest { webhook: Some(webhook) };
    fixture.clients.webhooks.create_webhook(create.clone()).await.unwrap();
    ahead(&fixture, &["created_at"]).await;
    let error = fixture.clients.webhooks.create_webhook(create).await.unwrap_err();
    assert_eq!(reason_of(&error), "FAILED_PRECONDITION");
}

/// Sets all webhook times to `{value}`, which no response can show. Simulates rows from before the constraints.
const TIMES: &str = "
    do $$
    declare
        of_table text; times text;
    begin
        foreach of_table in array array['webhooks', 'webhook_deliveries'] loop
            execute format('alter table %1$I drop constraint %1$s_dates_check, disable trigger user', of_table);
            select string_agg(format('%I = %L', attname, case atttypid when 'timestamptz'::regtype then '{value}' else '{{value}}' end), ', ')
                into times from pg_attribute
            where attrelid = of_table::regclass and attnum > 0 and atttypid in ('timestamptz'::regtype, 'timestamptz[]'::regtype);
            execute format('update %I set %s', of_table, times);
        end loop;
    end $$";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unrepresentable_dates_do_not_stop_webhooks() {
    let mut fixture = Fixture::start().await;
    let pool = fixture.core.pool.clone();
    let constraints = "select format('alter table %s add constraint %I %s not valid', conrelid::regclass, conname,
            replace(pg_get_constraintdef(oid), ' NOT VALID', '')) from pg_constraint
        where conname in ('webhooks_dates_check', 'webhook_deliveries_dates_check')";
    let constraints: Vec<String> = sqlx::query_scalar(constraints).fetch_all(&pool).await.unwrap();
    assert_eq!(constraints.len(), 2);
    for (position, value) in (1..).zip(["infinity", "-infinity", "10000-01-01", "0044-03-15 BC"]) {
        fixture.change(position * 10, 1).await;
        fixture.wait_until(|webhook| webhook.position == position * 2 - 1).await;
        let spoil = async || {
            run(&pool, &TIMES.replace("{value}", value)).await;
            for constraint in &constraints {
                run(&pool, constraint).await;
            }
            run(&pool, "alter table webhooks enable trigger dates_are_mended").await;
        };
        spoil().await;
        let webhook = fixture.webhook().await;
        assert_eq!(
            (webhook.created_at, webhook.failing_since, webhook.previous_secret_until),
            (None, None, None),
            "{value}"
        );
        let listed = fixture.clients.webhooks.list_webhooks(ListWebhooksRequest {}).await.unwrap().into_inner();
        assert_eq!(listed.webhooks, [webhook]);
        assert_eq!(fixture.deliveries().await[0].time, None, "{value}");
        // The core still delivers new changes.
        fixture.change(position * 10 + 1, 1).await;
        fixture.wait_until(|webhook| webhook.position == position * 2).await;
        spoil().await;
        fixture.clients.webhooks.test_webhook(TestWebhookRequest { id: fixture.id }).await.unwrap();
        spoil().await;
        let rotate = RotateWebhookSecretRequest { id: fixture.id };
        let rotated = fixture.clients.webhooks.rotate_webhook_secret(rotate).await.unwrap().into_inner();
        assert!(rotated.webhook.unwrap().previous_secret_until.is_some(), "{value}");
        spoil().await;
        let webhook = WebhookInput { description: Some(value.to_owned()), ..WebhookInput::default() };
        let update = UpdateWebhookRequest { id: fixture.id, webhook: Some(webhook) };
        fixture.clients.webhooks.update_webhook(update).await.unwrap();
    }
}
