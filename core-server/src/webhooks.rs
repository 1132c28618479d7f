//! Webhooks: company endpoints, and the delivery of changes to them. The record of changes serves as the queue, in which each
//! endpoint has a position.

mod addresses;
mod deliver;
mod dispatch;
mod endpoint;
mod message;
mod send;

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use admission::WorkQueue;
use compliance_api::{
    error::{Error, Reason},
    rules::{Check, Violations, check},
    v1::{
        CreateWebhookRequest, CreateWebhookResponse, DeleteWebhookRequest, DeleteWebhookResponse, GetWebhookRequest,
        ListWebhookDeliveriesRequest, ListWebhookDeliveriesResponse, ListWebhooksRequest, ListWebhooksResponse,
        RotateWebhookSecretRequest, RotateWebhookSecretResponse, TestWebhookRequest, TestWebhookResponse,
        UpdateWebhookRequest, UpdateWebhookResponse, Webhook, WebhookInput, webhook_service_server::WebhookService,
    },
};
use prost::Message as _;
use sha2::{Digest as _, Sha256};
use sqlx::{PgConnection, Postgres, postgres::PgArguments, query::QueryAs, query_as};
use storage::{
    database::{self, Connections},
    error::{from_database, is_contention},
    statement_context::writer,
};
use tonic::{Request, Response};

pub(crate) use self::{dispatch::start, endpoint::statements, send::Sender};
use self::{
    endpoint::{
        CREATE, Created, DELETE, DELIVERIES, Endpoint, LAST_POSITION, NEXT, PREVIOUS_SECRET_TIME, READ, ROTATE, TEST,
        UPDATE, delivery,
    },
    message::{Message, new_id, new_secret},
};
use crate::{
    access::{Served, accept, caller},
    backend::Backend,
    changes::DEFAULT_CHANGES,
};

/// Maximum number of webhooks per company. Each webhook reads the company's changes.
const MAX_WEBHOOKS: i64 = 20;
/// How long a repeated create request returns the first response, with the secret.
const WEBHOOK_REPEATS: Duration = Duration::from_hours(1);
/// Maximum number of concurrent DNS lookups for requests.
const WEBHOOK_CHECKS: usize = 256;
/// Maximum number of concurrent DNS lookups for requests, per company.
const WEBHOOK_COMPANY_CHECKS: usize = 4;
/// Maximum number of previous secrets per webhook.
const WEBHOOK_PREVIOUS_SECRETS: i32 = 5;
/// Maximum number of test messages in flight.
const WEBHOOK_TESTS: usize = 32;
/// Maximum number of test messages in flight, per company.
const WEBHOOK_COMPANY_TESTS: usize = 4;

/// The disabled reason for a webhook that a request disabled.
const DISABLED: &str = "The webhook was disabled through the API.";

pub(crate) struct Webhooks {
    backend: Arc<Backend>,
    sender: Sender,
    /// Test messages in flight.
    tests: WorkQueue,
    /// DNS lookups in progress for requests.
    lookups: WorkQueue,
}

/// A statement that returns webhooks.
type Query = QueryAs<'static, Postgres, Endpoint, PgArguments>;

impl Webhooks {
    pub(crate) fn new(backend: &Arc<Backend>, sender: &Sender) -> Self {
        let tests = WorkQueue::new(WEBHOOK_TESTS, WEBHOOK_COMPANY_TESTS);
        let lookups = WorkQueue::new(WEBHOOK_CHECKS, WEBHOOK_COMPANY_CHECKS);
        Self { backend: Arc::clone(backend), sender: sender.clone(), tests, lookups }
    }

    /// Validates a request's webhook, including its URL and position if present. Reports all violations.
    async fn checked(
        &self,
        company_id: i64,
        request: &impl Check,
        webhook: Option<&WebhookInput>,
    ) -> Result<WebhookInput, Error> {
        let mut webhook = webhook.cloned().unwrap_or_default();
        webhook.url = webhook.url.filter(|url| !url.is_empty());
        let mut violations = check(request);
        if let Some(url) = webhook.url.as_ref().filter(|_| !violations.names("url")) {
            let _lookup = self.lookups.try_enter(company_id)?;
            if let Err(must) = self.sender.check(url).await {
                violations.merge(Violations::one("url", format!("The url field {must}.")));
            }
        }
        if let Some(position) = webhook.position.filter(|_| !violations.names("position")) {
            let read = async |pool| sqlx::query_scalar(LAST_POSITION).bind(company_id).fetch_one(&pool).await;
            let last: i64 = database::read(&self.backend.pool, read).await.map_err(from_database)?;
            if position > last {
                let after = format!("The position field must not be greater than {last}, the last position.");
                violations.merge(Violations::one("position", after));
            }
        }
        if violations.is_empty() { Ok(webhook) } else { Err(Error::invalid(violations)) }
    }

    /// Returns all webhooks, or the webhook with this ID.
    async fn read(&self, company_id: i64, id: Option<i64>) -> Result<Vec<Endpoint>, Error> {
        let read = async |pool| query_as(*READ).bind(company_id).bind(id).fetch_all(&pool).await;
        database::read(&self.backend.pool, read).await.map_err(from_database)
    }

    async fn get(&self, company_id: i64, id: i64) -> Result<Endpoint, Error> {
        self.read(company_id, Some(id)).await?.pop().ok_or_else(|| Error::webhook_not_found(id))
    }

    /// Runs a statement that changes or deletes a webhook.
    async fn change(&self, company_id: i64, id: i64, change: impl Fn() -> Query) -> Result<Endpoint, Error> {
        let run = |pool: Connections, _| {
            let change = change();
            async move { change.fetch_optional(&pool).await }
        };
        let permit = self.backend.queues.webhooks.one(company_id).await?;
        let changed = permit.write(&self.backend.pool, is_contention, run).await?;
        changed.ok_or_else(|| Error::webhook_not_found(id))
    }
}

/// Returns the error for the URL and the types of an existing webhook.
fn exists(id: i64) -> Error {
    let message =
        format!("Webhook {id} already has this URL and these types. Update that webhook, or rotate its secret.");
    Error::new(Reason::FailedPrecondition, message).with("webhook_id", id)
}

/// Returns a digest that identifies a create request. Includes the caller, because no other caller may receive the secret.
fn digest(subject: Option<&str>, webhook: &WebhookInput) -> [u8; 32] {
    let mut webhook = webhook.clone();
    webhook.types.sort();
    let request = [subject.unwrap_or_default().as_bytes(), &[0], &webhook.encode_to_vec()].concat();
    Sha256::digest(request).into()
}

#[tonic::async_trait]
impl WebhookService for Webhooks {
    async fn create_webhook(&self, request: Request<CreateWebhookRequest>) -> Served<CreateWebhookResponse> {
        let caller = caller(&request)?.clone();
        let company_id = caller.company_id;
        let request = request.into_inner();
        let webhook = self.checked(company_id, &request, request.webhook.as_ref()).await?;
        let digest = digest(caller.sub.as_deref(), &webhook);
        let WebhookInput { url, types, description, status, position } = webhook;
        // The rules require a URL.
        let url = url.unwrap_or_default();
        let secret = new_secret().map_err(|_| Error::internal())?;
        let (url, types, description, secret, status) = (&url, &types, &description, &secret, &status);
        let create = async |connection: &mut PgConnection| {
            let id: i64 = sqlx::query_scalar(NEXT).bind(company_id).fetch_one(&mut *connection).await?;
            let create = query_as::<_, Created>(*CREATE).bind(company_id).bind(url).bind(types).bind(description);
            let create = create.bind(secret).bind(position).bind(MAX_WEBHOOKS).bind(status).bind(DISABLED);
            create.bind(id).bind(digest).bind(WEBHOOK_REPEATS.as_secs_f64()).fetch_optional(connection).await
        };
        let create = |pool: Connections, _| async move { pool.in_transaction(Option::is_some, create).await };
        let permit = self.backend.queues.webhooks.one(company_id).await?;
        let created = permit.write(&self.backend.pool, is_contention, create).await?;
        let full = || format!("A company can have at most {MAX_WEBHOOKS} webhooks.");
        let created = created.ok_or_else(|| Error::new(Reason::FailedPrecondition, full()))?;
        if !created.is_of_request {
            return Err(exists(created.endpoint.id).into());
        }
        let (webhook, secret) = created.endpoint.with_secret();
        Ok(Response::new(CreateWebhookResponse { webhook: Some(webhook), secret }))
    }

    async fn list_webhooks(&self, request: Request<ListWebhooksRequest>) -> Served<ListWebhooksResponse> {
        let (company_id, _) = accept(request)?;
        let webhooks = self.read(company_id, None).await?.into_iter().map(Webhook::from).collect();
        Ok(Response::new(ListWebhooksResponse { webhooks }))
    }

    async fn get_webhook(&self, request: Request<GetWebhookRequest>) -> Served<Webhook> {
        let (company_id, request) = accept(request)?;
        Ok(Response::new(self.get(company_id, request.id).await?.into()))
    }

    async fn update_webhook(&self, request: Request<UpdateWebhookRequest>) -> Served<UpdateWebhookResponse> {
        let company_id = caller(&request)?.company_id;
        let request = request.into_inner();
        let webhook = self.checked(company_id, &request, request.webhook.as_ref()).await?;
        let (id, WebhookInput { url, types, description, status, position }) = (request.id, webhook);
        let (url, types, description, status) = (&url, &types, &description, &status);
        let update = || {
            let update = query_as(*UPDATE).bind(company_id).bind(id).bind(url.clone()).bind(types.clone());
            let update = update.bind(description.clone()).bind(status.clone());
            update.bind(position).bind(DISABLED).bind(writer())
        };
        let endpoint = self.change(company_id, id, update).await?;
        if endpoint.id != id {
            return Err(exists(endpoint.id).into());
        }
        Ok(Response::new(UpdateWebhookResponse { webhook: Some(endpoint.into()) }))
    }

    async fn delete_webhook(&self, request: Request<DeleteWebhookRequest>) -> Served<DeleteWebhookResponse> {
        let (company_id, DeleteWebhookRequest { id }) = accept(request)?;
        let delete = || query_as(*DELETE).bind(company_id).bind(id).bind(writer());
        self.change(company_id, id, delete).await?;
        Ok(Response::new(DeleteWebhookResponse {}))
    }

    async fn rotate_webhook_secret(
        &self,
        request: Request<RotateWebhookSecretRequest>,
    ) -> Served<RotateWebhookSecretResponse> {
        let (company_id, RotateWebhookSecretRequest { id }) = accept(request)?;
        let secret = new_secret().map_err(|_| Error::internal())?;
        let rotate = || {
            let rotate = query_as(*ROTATE).bind(company_id).bind(id).bind(secret.clone());
            rotate.bind(PREVIOUS_SECRET_TIME.as_secs_f64()).bind(WEBHOOK_PREVIOUS_SECRETS).bind(writer())
        };
        let rotated = self.change(company_id, id, rotate).await?;
        let (webhook, secret) = rotated.with_secret();
        Ok(Response::new(RotateWebhookSecretResponse { webhook: Some(webhook), secret }))
    }

    async fn test_webhook(&self, request: Request<TestWebhookRequest>) -> Served<TestWebhookResponse> {
        let (company_id, request) = accept(request)?;
        let _sending = self.tests.try_enter(company_id).map_err(Error::from)?;
        let test = || query_as(*TEST).bind(company_id).bind(request.id).bind(writer());
        let endpoint = self.change(company_id, request.id, test).await?;
        let message_id = new_id();
        let message = Message::of_test(message_id.clone(), SystemTime::now().into()).map_err(|_| Error::internal())?;
        let attempt = self.sender.send(&endpoint.url, message, endpoint.secrets()).await;
        Ok(Response::new(TestWebhookResponse {
            message_id,
            http_status: attempt.status.map(|status| status.as_u16().into()),
            error: attempt.error,
            duration_ms: attempt.duration.as_millis() as i64,
        }))
    }

    async fn list_webhook_deliveries(
        &self,
        request: Request<ListWebhookDeliveriesRequest>,
    ) -> Served<ListWebhookDeliveriesResponse> {
        let (company_id, request) = accept(request)?;
        let (id, limit) = (request.id, request.limit.unwrap_or(DEFAULT_CHANGES));
        let read = async |pool| sqlx::query(DELIVERIES).bind(company_id).bind(id).bind(limit).fetch_all(&pool).await;
        let rows = database::read(&self.backend.pool, read).await.map_err(from_database)?;
        if rows.is_empty() {
            return Err(Error::webhook_not_found(id).into());
        }
        let deliveries = rows.iter().filter_map(|row| delivery(row).transpose()).collect::<Result<_, _>>();
        let deliveries = deliveries.map_err(from_database)?;
        Ok(Response::new(ListWebhookDeliveriesResponse { deliveries }))
    }
}
