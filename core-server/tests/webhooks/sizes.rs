//! Tests endpoints that accept only small messages.

use std::collections::BTreeMap;

use compliance_api::v1::{UpdateWebhookRequest, WebhookInput};
use test_support::Reaction;

use super::{Fixture, positions, run};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shortened_messages_are_resent_unchanged() {
    let mut fixture = Fixture::start().await;
    fixture.receiver.react(Reaction::Respond("500 Internal Server Error"));
    fixture.change(1, 3).await;
    fixture.wait_until(|webhook| webhook.attempts == 1).await;
    // Simulates a memory shortage, with room for only two of the changes.
    run(&fixture.core.pool, "update webhooks set message_to = 2").await;
    fixture.try_again().await;
    fixture.wait_until(|webhook| webhook.attempts == 2).await;
    fixture.receiver.react(Reaction::OK);
    fixture.try_again().await;
    fixture.wait_until(|webhook| webhook.position == 3).await;
    let [_, second, third, rest] = &fixture.receiver.received()[..] else { panic!("expected four messages") };
    assert_eq!((second.header("webhook-id"), &second.body), (third.header("webhook-id"), &third.body));
    assert_eq!((second.positions(), rest.positions()), (vec![1, 2], vec![3]));
    assert_eq!(rest.json()["data"]["after"], 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endpoints_with_size_limits_get_smaller_messages() {
    const LIMIT: usize = 10_000;
    let mut fixture = Fixture::start().await;
    fixture.receiver.react(Reaction::AtMost(LIMIT));
    fixture.change(1, 250).await;
    fixture.wait_until(|webhook| webhook.position == 250 && webhook.attempts == 0).await;
    let (refused, accepted): (Vec<_>, Vec<_>) =
        fixture.receiver.received().into_iter().partition(|message| message.body.len() > LIMIT);
    assert_eq!(positions(&accepted), (1..=250).collect::<Vec<_>>());
    // The service remembers the size that the endpoint accepts.
    assert!((1..=4).contains(&refused.len()), "{} messages were too large", refused.len());
    let mut bodies = BTreeMap::new();
    for message in refused.iter().chain(&accepted) {
        let known = bodies.entry(message.header("webhook-id").to_owned()).or_insert_with(|| message.body.clone());
        assert_eq!(*known, message.body);
    }
    assert_eq!(bodies.len(), refused.len() + accepted.len());
    let log = fixture.deliveries().await;
    let errors: Vec<_> = log.iter().filter_map(|entry| entry.error.as_deref()).collect();
    assert_eq!(errors.len(), refused.len());
    assert!(errors[errors.len() - 1].starts_with("the endpoint responded 413 to 100 changes ("), "{errors:?}");
    assert_eq!(fixture.webhook().await.failing_since, None);
    // The service forgets the size when the webhook changes.
    fixture.receiver.react(Reaction::OK);
    let webhook = Some(WebhookInput { position: Some(0), ..WebhookInput::default() });
    fixture.clients.webhooks.update_webhook(UpdateWebhookRequest { id: fixture.id, webhook }).await.unwrap();
    fixture.wait_until(|webhook| webhook.position == 250).await;
    assert!(fixture.receiver.received().iter().rev().take(3).any(|message| message.positions().len() == 100));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oversized_changes_are_reported() {
    let mut fixture = Fixture::start().await;
    fixture.receiver.react(Reaction::AtMost(200));
    fixture.change(1, 5).await;
    fixture.wait_until(|webhook| webhook.attempts == 1).await;
    fixture.try_again().await;
    let webhook = fixture.wait_until(|webhook| webhook.attempts == 2).await;
    assert!(webhook.position == 0 && webhook.failing_since.is_some(), "{webhook:?}");
    let received = fixture.receiver.received();
    let [.., first, second] = &received[..] else { panic!("expected two messages") };
    assert_eq!((first.positions(), first.header("webhook-id")), (vec![1], second.header("webhook-id")));
    let error = fixture.deliveries().await[0].error.clone().unwrap();
    let bytes = first.body.len();
    assert!(
        error.starts_with("the endpoint responded 413 to a message that contains only change 1 (affiliate "),
        "{error}"
    );
    assert!(error.ends_with(&format!(": {bytes} bytes")), "{error}");
    fixture.receiver.react(Reaction::OK);
    fixture.try_again().await;
    fixture.wait_until(|webhook| webhook.position == 5).await;
}
