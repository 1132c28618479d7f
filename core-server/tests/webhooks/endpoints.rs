//! Tests webhook operations: creating, changing, testing and deleting webhooks, and rotating secrets.

use std::time::Duration;

use compliance_api::{
    token::Claims,
    v1::{
        CreateWebhookRequest, DeleteWebhookRequest, ListChangesRequest, ListWebhooksRequest,
        RotateWebhookSecretRequest, SearchChangesRequest, TestWebhookRequest, UpdateWebhookRequest, WebhookInput,
    },
};
use core_server::WebhookSettings;
use futures::future::join_all;
use test_support::{Reaction, TestCore, WebhookReceiver, fresh_database, new_company, now, reason_of, sign};
use tokio::{io::AsyncWriteExt as _, net::TcpListener, time::timeout};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use super::{Fixture, PATIENCE, REFUSED, affiliates, core, create, run};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_secrets_sign_during_rotation() {
    let mut fixture = Fixture::start().await;
    let request = RotateWebhookSecretRequest { id: fixture.id };
    let rotated = fixture.clients.webhooks.rotate_webhook_secret(request).await.unwrap().into_inner();
    assert!(rotated.webhook.unwrap().previous_secret_until.is_some() && rotated.secret != fixture.secret);
    let test = TestWebhookRequest { id: fixture.id };
    let tested = fixture.clients.webhooks.test_webhook(test).await.unwrap().into_inner();
    assert_eq!((tested.http_status, tested.error), (Some(204), None));
    run(&fixture.core.pool, "update webhooks set previous_secret_until = array[now()]").await;
    fixture.clients.webhooks.test_webhook(test).await.unwrap();
    let [first, second] = &fixture.receiver.received()[..] else { panic!("expected two messages") };
    assert_eq!((first.header("webhook-id"), &first.json()["type"]), (&*tested.message_id, &"test".into()));
    assert!(first.is_signed_with(&rotated.secret) && first.is_signed_with(&fixture.secret));
    assert!(second.is_signed_with(&rotated.secret) && !second.is_signed_with(&fixture.secret));
    assert_eq!(fixture.webhook().await.previous_secret_until, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rotation_keeps_the_last_six_secrets() {
    let mut fixture = Fixture::start().await;
    let mut secrets = vec![fixture.secret.clone()];
    for rotations in 1..=6 {
        let request = RotateWebhookSecretRequest { id: fixture.id };
        secrets.push(fixture.clients.webhooks.rotate_webhook_secret(request).await.unwrap().into_inner().secret);
        fixture.clients.webhooks.test_webhook(TestWebhookRequest { id: fixture.id }).await.unwrap();
        let message = fixture.receiver.received().pop().unwrap();
        let signing: Vec<_> = secrets.iter().filter(|secret| message.is_signed_with(secret)).collect();
        // The last six secrets sign, including the current one.
        assert_eq!(signing, secrets.iter().skip(rotations / 6).collect::<Vec<_>>());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unsafe_webhook_urls_are_rejected() {
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
        ("https://user:password@partner.example/", "must not contain a username or password"),
    ] {
        let webhook = WebhookInput { url: Some(url.to_owned()), ..WebhookInput::default() };
        let request = CreateWebhookRequest { webhook: Some(webhook) };
        let error = clients.webhooks.create_webhook(request).await.unwrap_err();
        assert_eq!((error.code(), &*reason_of(&error)), (Code::InvalidArgument, "INVALID_FIELDS"), "{url}");
        assert_eq!(error.message(), format!("The url field {must}."), "{url}");
    }
    // Simulates a name that resolves to a different address at delivery.
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connection_failures_are_explained() {
    let receiver = WebhookReceiver::start().await;
    let settings = WebhookSettings { ca: None, ..receiver.settings() };
    let core = core(&fresh_database().await.options, settings).await;
    let mut clients = core.company(new_company());
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let plain_port = plain.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = plain.accept().await {
            connection.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        }
    });
    for (port, reason) in [
        (closed, "the endpoint refused the connection"),
        (plain_port, "the endpoint does not use TLS on this port"),
        (
            receiver.port,
            "the endpoint's certificate is not from a trusted authority, or its intermediate certificates are missing",
        ),
    ] {
        let (id, _) = create(&mut clients, format!("https://localhost:{port}/"), &[]).await;
        let tested = clients.webhooks.test_webhook(TestWebhookRequest { id }).await.unwrap().into_inner();
        assert_eq!((tested.http_status, tested.error.as_deref()), (None, Some(reason)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_creates_respect_the_webhook_limit() {
    let fixture = Fixture::start().await;
    let created = join_all((0..30).map(async |number| {
        let mut clients = fixture.core.company(fixture.company);
        loop {
            let url = Some(format!("{}/{number}", fixture.receiver.url()));
            let webhook = WebhookInput { url, ..WebhookInput::default() };
            let created = clients.webhooks.create_webhook(CreateWebhookRequest { webhook: Some(webhook) }).await;
            match created.map_err(|status| reason_of(&status)).err().as_deref() {
                // The service limits concurrent name lookups.
                Some("RATE_LIMITED") => tokio::task::yield_now().await,
                refused => return refused.map(str::to_owned),
            }
        }
    }));
    let refused: Vec<String> = created.await.into_iter().flatten().collect();
    // One webhook already existed.
    assert_eq!(refused, vec!["FAILED_PRECONDITION"; 30 - 19]);
}

/// A client or a proxy can repeat a request, even concurrently through different cores.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeated_requests_create_one_webhook() {
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
    assert!(
        created.iter().all(|(id, secret)| (id, secret) == (&created[0].0, &created[0].1)),
        "the requests created several webhooks"
    );
    let refused = |status: Status| {
        let id = status.get_error_details().error_info().unwrap().metadata["webhook_id"].clone();
        assert_eq!((reason_of(&status), id), ("FAILED_PRECONDITION".to_owned(), created[0].0.to_string()));
    };
    // Only the webhook's creator receives the secret, and only for an hour.
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn update_that_duplicates_a_webhook_is_rejected() {
    let mut fixture = Fixture::start().await;
    let url = format!("{}/second", fixture.receiver.url());
    let (id, _) = create(&mut fixture.clients, url.clone(), &["affiliate", "url"]).await;
    let (other, _) = create(&mut fixture.clients, url.clone(), &["case"]).await;
    let types = vec!["url".to_owned(), "affiliate".to_owned()];
    let equal = WebhookInput { url: Some(url), types, ..WebhookInput::default() };
    for webhook in [equal.clone(), WebhookInput { url: None, ..equal.clone() }] {
        let request = UpdateWebhookRequest { id: other, webhook: Some(webhook) };
        let refused = fixture.clients.webhooks.update_webhook(request).await.unwrap_err();
        let named = refused.get_error_details().error_info().unwrap().metadata["webhook_id"].clone();
        assert_eq!((reason_of(&refused), named), ("FAILED_PRECONDITION".to_owned(), id.to_string()));
    }
    let listed = fixture.clients.webhooks.list_webhooks(ListWebhooksRequest {}).await.unwrap().into_inner();
    assert_eq!(listed.webhooks.last().unwrap().types, ["case"]);
    // Repeating a webhook's own values is not a conflict, and webhooks that are already equal can still change.
    fixture.clients.webhooks.update_webhook(UpdateWebhookRequest { id, webhook: Some(equal.clone()) }).await.unwrap();
    run(&fixture.core.pool, &format!("update webhooks set types = array['affiliate', 'url'] where id = {other}")).await;
    let request = UpdateWebhookRequest { id: other, webhook: Some(equal) };
    let updated = fixture.clients.webhooks.update_webhook(request).await.unwrap().into_inner();
    assert_eq!(updated.webhook.unwrap().id, other);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn position_after_the_last_change_is_rejected() {
    let mut fixture = Fixture::start().await;
    let clients = &mut fixture.clients;
    let last = clients.changes.list_changes(ListChangesRequest::default()).await.unwrap().into_inner().last_position;
    let at = |position| Some(WebhookInput { position: Some(position), ..WebhookInput::default() });
    let update = |position| UpdateWebhookRequest { id: fixture.id, webhook: at(position) };
    clients.webhooks.update_webhook(update(last)).await.unwrap();
    let updated = clients.webhooks.update_webhook(update(last + 1)).await.unwrap_err();
    let webhook = at(last + 1).map(|webhook| WebhookInput { url: Some(fixture.receiver.url()), ..webhook });
    let created = clients.webhooks.create_webhook(CreateWebhookRequest { webhook }).await.unwrap_err();
    let message = format!("The position field must not be greater than {last}, the last position.");
    assert_eq!((updated.message(), created.message()), (&*message, &*message));
}

/// The audit shows every webhook operation with its author, and failures that disable a webhook. The audit omits deliveries.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhook_changes_appear_in_the_audit() {
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
    let moved = WebhookInput { position: Some(0), ..WebhookInput::default() };
    owner.webhooks.update_webhook(update(moved)).await.unwrap();
    fixture.wait_until(|webhook| webhook.position >= 1).await;
    let rotated = owner.webhooks.rotate_webhook_secret(RotateWebhookSecretRequest { id }).await.unwrap().into_inner();
    owner.webhooks.test_webhook(TestWebhookRequest { id }).await.unwrap();
    fixture.receiver.react_at("/audited", Reaction::Respond("410 Gone"));
    fixture.change(2, 1).await;
    fixture.wait_until(|webhook| webhook.status == "disabled").await;
    let by_hand = format!("update webhooks set secret = 'whsec_AAAA', position = 0 where id = {id}");
    run(&fixture.core.pool, &by_hand).await;
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
            ("created", owner, vec!["position", "status", "types", "url"]),
            ("updated", owner, vec!["description"]),
            ("updated", owner, vec!["position"]),
            ("updated", owner, vec!["secret_rotated_at"]),
            ("updated", owner, vec!["tested_at"]),
            ("updated", None, vec!["disabled_reason", "status"]),
            ("updated", None, vec!["position", "secret"]),
            (
                "deleted",
                owner,
                vec![
                    "description",
                    "disabled_reason",
                    "position",
                    "secret_rotated_at",
                    "status",
                    "tested_at",
                    "types",
                    "url"
                ]
            ),
        ]
    );
    assert!(found.iter().all(|change| change.resource == "webhook" && change.id == id));
    // Messages and the feed, which needs no scope, omit these entries.
    let request = ListChangesRequest { after: Some(0), ..ListChangesRequest::default() };
    let listed = fixture.clients.changes.list_changes(request).await.unwrap().into_inner();
    let resources: Vec<_> = listed.changes.iter().map(|change| &*change.resource).collect();
    assert_eq!((resources, listed.position), (vec!["affiliate"; 2], listed.last_position));
    assert!(fixture.receiver.received().iter().all(|message| !message.body.contains(r#""resource":"webhook""#)));
}
