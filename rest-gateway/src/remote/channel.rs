//! Sends calls to the least busy core, or to another core if the first did not process the call.

use std::{
    error::Error,
    iter::successors,
    sync::{Arc, Weak},
    time::Duration,
};

use bytes::Bytes;
use compliance_api::{
    client::{CORES, grpc_timeout},
    wire::Operation,
};
use futures::FutureExt as _;
use http::{HeaderValue, request::Parts};
use http_body_util::{BodyExt as _, Full};
use telemetry::{
    background,
    metrics::{count, describe},
};
use tokio::time::Instant;
use tonic::{Status, body::Body};
use tower::{service_fn, util::BoxCloneSyncService};

use super::{
    address::{Address, RemoteError, describe_failures, failure_reason},
    cores::{self, Cores},
};
use crate::settings::Settings;

/// Returns a channel to the cores at `core_urls`.
///
/// The URLs have the form `http://host:port` or `https://host:port`, separated by commas. A name can have several addresses. Call this
/// function within a Tokio runtime, where a task watches the cores.
pub fn connect(core_urls: &str, settings: &Settings) -> Result<CoreChannel, RemoteError> {
    Ok(channel(connect_to_all(core_urls, settings)?))
}

/// Returns a channel that sends each call to one of these cores.
pub(super) fn channel(cores: Arc<Cores>) -> CoreChannel {
    CoreChannel::new(service_fn(move |request| call(Arc::clone(&cores), request)))
}

/// Returns the cores at `core_urls`, and starts the task that watches them.
pub(super) fn connect_to_all(core_urls: &str, settings: &Settings) -> Result<Arc<Cores>, RemoteError> {
    let addresses = Address::parse_all(core_urls, settings)?;
    let cores = Arc::new(Cores::new(&addresses, settings));
    let reasons = [Failure::NotConnected, Failure::NotProcessed, Failure::Broken].map(Failure::reason);
    describe_failures();
    describe(RETRIES, "Retried calls to cores, by reason.", "reason", &reasons);
    let weak = Arc::downgrade(&cores);
    cores::report(&weak, &addresses);
    let keep = move |task| cores::keep_up_to_date(Weak::clone(&weak), addresses.clone(), task);
    background::spawn("core discovery", keep);
    Ok(cores)
}

const RETRIES: &str = "compliance_gateway_call_retries_total";

/// Connections to all cores, shared by all clones.
pub type CoreChannel = BoxCloneSyncService<http::Request<Body>, http::Response<Body>, Status>;

/// Sends a call until it receives a response, cannot be retried, or runs out of attempts.
///
/// A call gets one attempt per core, plus one per connection to a core. All connections to a core often close together, and the gateway
/// notices a closed connection only when it uses it.
async fn call(cores: Arc<Cores>, mut request: http::Request<Body>) -> Result<http::Response<Body>, Status> {
    // All attempts share the caller's deadline.
    let deadline = grpc_timeout(request.headers()).map(|timeout| Instant::now() + timeout);
    request.headers_mut().insert(CORES, HeaderValue::from(cores.in_use()));
    let mut replay = Replay::new(request)?;
    let mut unreachable = Vec::new();
    let mut last_error = None;
    let mut attempts = cores.all().len() + cores.connections;
    while attempts > 0
        && let Some(core) = cores.pick(&unreachable)
        && let Some(request) =
            replay.request(last_error.as_ref().and(deadline).map(|deadline| deadline - Instant::now()))
    {
        attempts -= 1;
        match core.call(request).await {
            Ok(response) => return Ok(response),
            Err(error) => {
                let failure = Failure::of(&error);
                if failure == Failure::Deadline {
                    return Err(Status::deadline_exceeded("the deadline passed"));
                }
                cores.failed(&core);
                if failure == Failure::NotConnected {
                    core.address.report_failure(&core.name, failure_reason(&error), &error);
                }
                let error = Status::unavailable(format!("{}: {}", core.name, tls::describe(&error)));
                if !failure.allows_retry(replay.parts.uri.path()) {
                    return Err(error);
                }
                count(RETRIES, "reason", failure.reason());
                tracing::debug!(error = error.message(), path = replay.parts.uri.path(), "retrying a call");
                if failure == Failure::NotConnected {
                    unreachable.push(core);
                }
                last_error = Some(error);
            }
        }
    }
    Err(last_error.unwrap_or_else(|| Status::unavailable("no core is available")))
}

/// Why a call failed without a response.
///
/// The gateway retries a call if no core has processed it. If a core may have processed it, the gateway retries only reads: a second
/// write could change records twice, or report the first success as a duplicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    /// The gateway has no connection to the core.
    NotConnected,
    /// The call was not sent, or the core reports that it did not process it.
    NotProcessed,
    /// The connection broke. The core may have processed the call.
    Broken,
    /// The deadline passed.
    Deadline,
}

impl Failure {
    /// Classifies a transport error.
    fn of(error: &(dyn Error + 'static)) -> Self {
        for error in successors(Some(error), |error| (*error).source()) {
            if error.is::<tonic::TimeoutExpired>() {
                return Self::Deadline;
            }
            if error.is::<tonic::ConnectError>() {
                return Self::NotConnected;
            }
            // The connection closed before the request was sent.
            if error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_canceled) {
                return Self::NotProcessed;
            }
            if let Some(error) = error.downcast_ref::<h2::Error>() {
                // RFC 9113, 6.8 and 8.7: refused streams, and streams after the last one in a GOAWAY frame, were not processed.
                // h2 reports a peer's GOAWAY for these streams only.
                let refused = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
                return if error.is_remote() && (error.is_go_away() || refused) {
                    Self::NotProcessed
                } else {
                    Self::Broken
                };
            }
        }
        Self::Broken
    }

    /// Returns the label for the metric.
    fn reason(self) -> &'static str {
        match self {
            Self::NotConnected => "not_connected",
            Self::NotProcessed => "not_processed",
            Self::Broken => "broken",
            Self::Deadline => "deadline",
        }
    }

    /// Returns whether a call to `path` can be retried.
    fn allows_retry(self, path: &str) -> bool {
        match self {
            Self::NotConnected | Self::NotProcessed => true,
            Self::Broken => Operation::at(path).is_some_and(|operation| operation.is_read),
            Self::Deadline => false,
        }
    }
}

/// A request that can be resent if it is a single message.
struct Replay {
    parts: Parts,
    /// `None` for a stream of messages.
    message: Option<Bytes>,
    /// The stream of messages, until it is sent.
    stream: Option<Body>,
}

impl Replay {
    fn new(request: http::Request<Body>) -> Result<Self, Status> {
        let (parts, body) = request.into_parts();
        if Operation::at(parts.uri.path()).is_some_and(|operation| operation.streams) {
            return Ok(Self { parts, message: None, stream: Some(body) });
        }
        // A single message is ready at the first poll.
        let message = body.collect().now_or_never().ok_or_else(|| Status::internal("the message is not ready"))?;
        Ok(Self { parts, message: Some(message?.to_bytes()), stream: None })
    }

    /// Returns the request, or `None` if it cannot be resent. `timeout` replaces the request's timeout.
    fn request(&mut self, timeout: Option<Duration>) -> Option<http::Request<Body>> {
        if let Some(timeout) = timeout {
            let mut timed = tonic::Request::new(());
            timed.set_timeout(timeout);
            self.parts.headers.extend(timed.into_parts().0.into_headers());
        }
        let body = match &self.message {
            Some(message) => Body::new(Full::new(message.clone())),
            None => self.stream.take()?,
        };
        Some(http::Request::from_parts(self.parts.clone(), body))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use compliance_api::wire::Operation;
    use futures::{StreamExt as _, stream};
    use http_body::Frame;
    use http_body_util::{BodyExt as _, Full, StreamBody};
    use tonic::{Status, body::Body};

    use super::{Failure, Replay};

    async fn sent(replay: &mut Replay) -> Option<Bytes> {
        Some(replay.request(None)?.into_body().collect().await.unwrap().to_bytes())
    }

    #[tokio::test]
    async fn single_messages_can_be_resent() {
        for message in ["", "a message"] {
            let request = http::Request::new(Body::new(Full::new(Bytes::from(message))));
            let mut replay = Replay::new(request).unwrap();
            for _ in 0..2 {
                assert_eq!(sent(&mut replay).await.unwrap(), message);
            }
        }
    }

    fn request(body: Body) -> http::Request<Body> {
        http::Request::builder().uri(Operation::STREAM_URL_OBSERVATIONS.path).body(body).unwrap()
    }

    #[tokio::test]
    async fn streams_are_complete_and_never_resent() {
        let frame = |text: &'static str| Ok::<_, Status>(Frame::data(Bytes::from(text)));
        for ready in 0..4 {
            let (first, later) = (["a", "b", "c"].into_iter().take(ready), ["a", "b", "c"].into_iter().skip(ready));
            let later = stream::iter(later.map(frame)).then(async |frame| {
                tokio::task::yield_now().await;
                frame
            });
            let body = StreamBody::new(stream::iter(first.map(frame)).chain(Box::pin(later)));
            let mut replay = Replay::new(request(Body::new(body))).unwrap();
            assert_eq!(sent(&mut replay).await.unwrap(), "abc", "{ready}");
            assert_eq!(sent(&mut replay).await, None);
        }
    }

    #[test]
    fn only_unprocessed_writes_are_retried() {
        let (read, write) = (Operation::BATCH_GET_COMPLIANCE_URLS.path, Operation::CREATE_AFFILIATE.path);
        assert!(Failure::NotConnected.allows_retry(write) && Failure::NotProcessed.allows_retry(write));
        assert!(!Failure::Broken.allows_retry(write) && Failure::Broken.allows_retry(read));
        assert!(!Failure::Deadline.allows_retry(read));
    }

    #[test]
    fn errors_are_classified_by_type() {
        let refused = tonic::ConnectError("refused".into());
        assert_eq!(Failure::of(&refused), Failure::NotConnected);
        assert_eq!(Failure::of(&h2::Error::from(h2::Reason::REFUSED_STREAM)), Failure::Broken);
        assert_eq!(Failure::of(&std::io::Error::other("a reset")), Failure::Broken);
    }
}
