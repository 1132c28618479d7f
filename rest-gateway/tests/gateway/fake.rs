//! A fake core that records its calls. Its responses depend on the IDs and names in the request.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use compliance_api::{
    error::Error,
    rules::{self, Check},
    v1::{self, Affiliate, read_service_server::ReadServiceServer},
};
use tokio::sync::Notify;
use tonic::{Request, Response, Status, metadata::MetadataMap, service::Routes};
use tonic_health::server::HealthReporter;

/// A step of a streamed list.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// A message with this number of records.
    Records(i64),
    /// An error, after [`Fake::release`].
    Fail,
    /// No more messages, and the stream stays open.
    Hang,
}

/// The fake core.
#[derive(Clone, Default)]
pub(crate) struct Fake(pub(crate) Arc<State>);

#[derive(Default)]
pub(crate) struct State {
    pub(crate) calls: Mutex<Vec<&'static str>>,
    called: Notify,
    released: Notify,
    pub(crate) metadata: Mutex<MetadataMap>,
    pub(crate) list: Mutex<Vec<Step>>,
    /// If set, the core receives the next write, but never responds.
    pub(crate) hangs: AtomicBool,
    /// Number of list messages that were read.
    pub(crate) messages_read: Mutex<usize>,
    /// Number of read batches.
    pub(crate) batches: AtomicUsize,
}

/// Returns a record with a typical amount of text.
pub(crate) fn affiliate(id: i64) -> Affiliate {
    let etag = "1".to_owned();
    Affiliate { id, client_id: 7, notes: Some("n".repeat(200)), country: Some(840), etag, ..Affiliate::default() }
}

impl Fake {
    pub(crate) fn listing(steps: &[Step]) -> Self {
        let fake = Self::default();
        *fake.0.list.lock().unwrap() = steps.to_vec();
        fake
    }

    /// Waits for a call.
    pub(crate) async fn called(&self) {
        self.0.called.notified().await;
    }

    /// Releases one waiting call or step, or the next call or step that would wait.
    pub(crate) fn release(&self) {
        self.0.released.notify_one();
    }

    /// Waits for [`Self::release`].
    pub(crate) async fn wait(&self) {
        self.0.released.notified().await;
    }

    /// Returns the operations called since this function was last called.
    pub(crate) fn calls(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.0.calls.lock().unwrap())
    }

    pub(crate) fn metadata(&self, name: &str) -> Option<String> {
        let metadata = self.0.metadata.lock().unwrap();
        metadata.get(name).map(|value| value.to_str().unwrap().to_owned())
    }

    /// Returns all services, as the core serves them.
    pub(crate) fn routes(&self) -> Routes {
        self.routes_with_health().1
    }

    /// Like [`Self::routes`], and returns a reporter for the health service.
    pub(crate) fn routes_with_health(&self) -> (HealthReporter, Routes) {
        const MAX_MESSAGE: usize = 1 << 30;
        let (reporter, health) = tonic_health::server::health_reporter();
        let routes = Routes::new(health)
            .add_service(v1::access_service_server::AccessServiceServer::new(self.clone()))
            .add_service(
                v1::affiliate_service_server::AffiliateServiceServer::new(self.clone())
                    .max_decoding_message_size(MAX_MESSAGE),
            )
            .add_service(
                v1::compliance_url_service_server::ComplianceUrlServiceServer::new(self.clone())
                    .max_decoding_message_size(MAX_MESSAGE),
            )
            .add_service(ReadServiceServer::new(self.clone()))
            .prepare();
        (reporter, routes)
    }

    /// Records a call, and returns its message.
    pub(crate) fn enter<M>(&self, name: &'static str, request: Request<M>) -> M {
        let (metadata, _, message) = request.into_parts();
        self.0.calls.lock().unwrap().push(name);
        self.0.called.notify_one();
        *self.0.metadata.lock().unwrap() = metadata;
        message
    }

    /// Like [`Self::enter_checked`], for a write.
    pub(crate) async fn write<M: Check>(&self, name: &'static str, request: Request<M>) -> Result<M, Status> {
        let message = self.enter_checked(name, request)?;
        if self.0.hangs.swap(false, Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        Ok(message)
    }

    /// Like [`Self::enter`], and checks the rules.
    pub(crate) fn enter_checked<M: Check>(&self, name: &'static str, request: Request<M>) -> Result<M, Status> {
        let message = self.enter(name, request);
        let violations = rules::check(&message);
        if violations.is_empty() { Ok(message) } else { Err(failure(Error::invalid(violations))) }
    }

    /// Returns the affiliate with this ID, or the error that the ID represents.
    pub(crate) async fn affiliate(&self, id: i64) -> Result<Affiliate, Status> {
        match id {
            202 => {
                self.wait().await;
                Ok(affiliate(id))
            }
            404 => Err(failure(Error::affiliate_not_found(id))),
            500 => panic!("a secret"),
            501 => Err(Status::internal("a secret of the database")),
            503 => Err(failure(Error::database_unavailable())),
            504 => std::future::pending().await,
            _ => Ok(affiliate(id)),
        }
    }
}

fn rate(metadata: &mut MetadataMap) {
    metadata.insert("x-ratelimit-limit", "1000".parse().unwrap());
    metadata.insert("x-ratelimit-remaining", "999".parse().unwrap());
    metadata.insert("x-ratelimit-reset", "1".parse().unwrap());
}

pub(crate) fn success<M>(message: M) -> Response<M> {
    let mut response = Response::new(message);
    rate(response.metadata_mut());
    response
}

pub(crate) fn failure(error: Error) -> Status {
    let mut status = Status::from(error);
    rate(status.metadata_mut());
    status
}
