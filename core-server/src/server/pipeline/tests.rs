//! Tests the order of the steps with calls that fail at several steps. The first failing step refuses the call, so a missing or moved step
//! changes the result.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use compliance_api::{
    client::Middleware as _,
    error::{Error, Reason, meaning},
    token::{Claims, KeySource, Secret, Verifier, issue},
    v1::ListComplianceUrlsRequest,
    wire::Operation,
};
use futures::{poll, stream};
use http::{HeaderMap, Method, Request, header};
use http_body::Frame;
use http_body_util::{Either, Full, StreamBody};
use tonic::{Code, Response, Status, body::Body, metadata::MetadataMap};
use tower::{Service as _, service_fn};
use tracing::{Metadata, field::Visit, span, subscriber::set_default};

use super::{Arrival, Origin, Pipeline};
use crate::{
    CoreSettings,
    access::{AccessPolicy, Limiters, RateLimit},
    quotas::{DatabaseWork, Quotas},
    server::{call::Called, network::NetworkService},
};

/// The steps that refuse network calls, in order, each with its reason.
const NETWORK: [(&str, Reason); 7] = [
    ("head", Reason::MethodNotAllowed),
    ("permit", Reason::Overloaded),
    ("access", Reason::TokenMissing),
    ("quota", Reason::RateLimited),
    ("deadline", Reason::DeadlineExceeded),
    ("message", Reason::InvalidFields),
    ("work", Reason::DeadlineExceeded),
];
/// The steps that refuse in-process calls, which have no head and a decoded message.
const IN_PROCESS: [(&str, Reason); 5] = [NETWORK[1], NETWORK[2], NETWORK[3], NETWORK[4], NETWORK[6]];
/// The steps that refuse a read in a batch.
const BATCH: [(&str, Reason); 3] = [NETWORK[1], NETWORK[2], NETWORK[3]];

const COMPANY: i64 = 7;
const OPERATION: &Operation = &Operation::LIST_COMPLIANCE_URLS;
/// Timeout that detects hanging calls.
const SOON: Duration = Duration::from_mins(1);

/// A pipeline and the steps at which a call fails.
struct World {
    pipeline: Pipeline,
    token: String,
    faults: Vec<&'static str>,
}

impl World {
    async fn new(faults: &[(&'static str, Reason)]) -> Self {
        let secret = || Secret::new([1; 32]).unwrap();
        let source = KeySource { secret: Some(secret()), ..KeySource::default() };
        let access = AccessPolicy::new(
            Arc::new(Verifier::new(source, None).await.unwrap()),
            Arc::new(Limiters::new(RateLimit::Off, HashMap::new())),
        );
        let settings = CoreSettings { max_in_flight: 100, rate_limit: RateLimit::Off, ..CoreSettings::default() };
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs() as i64;
        Self {
            pipeline: Pipeline::new(access, Quotas::new(&settings, 20), &settings),
            token: issue(&secret(), &Claims::new(COMPANY, now, 3600)).unwrap(),
            faults: faults.iter().map(|(step, _)| *step).collect(),
        }
    }

    fn fails_at(&self, step: &str) -> bool {
        self.faults.contains(&step)
    }

    fn headers(&self) -> HeaderMap {
        let timeout = if self.fails_at("deadline") { "1m" } else { "1H" };
        let mut headers = HeaderMap::from_iter([(header::CONTENT_TYPE, "application/grpc".parse().unwrap())]);
        headers.insert("grpc-timeout", timeout.parse().unwrap());
        if !self.fails_at("access") {
            headers.insert(header::AUTHORIZATION, format!("Bearer {}", self.token).parse().unwrap());
        }
        headers
    }

    /// Makes a call while other calls exhaust the limits of the failing steps.
    async fn make<F: Future>(&self, call: F) -> F::Output {
        let quotas = self.pipeline.quotas();
        let in_flight = Arc::clone(&self.pipeline.0.in_flight);
        let _permits = self.fails_at("permit").then(|| in_flight.try_acquire_many_owned(100).unwrap());
        let mut counts = Vec::new();
        while self.fails_at("quota")
            && let Ok(count) = quotas.call(COMPANY)
        {
            counts.push(count);
        }
        let (mut permits, mut waiting) = (Vec::new(), None);
        while self.fails_at("work") && waiting.is_none() {
            let mut entering = Box::pin(quotas.enter(COMPANY, DatabaseWork::Statement));
            match poll!(entering.as_mut()) {
                std::task::Poll::Ready(permit) => permits.push(permit),
                std::task::Poll::Pending => waiting = Some(entering),
            }
        }
        tokio::time::timeout(SOON, call).await.expect("the call hung")
    }

    async fn call_over_network(&self) -> Result<(), Reason> {
        let message = Full::from(if self.fails_at("message") { vec![1; 5] } else { vec![0; 5] });
        let pending = StreamBody::new(stream::pending::<Result<Frame<_>, std::convert::Infallible>>());
        let body = if self.fails_at("deadline") { Either::Left(pending) } else { Either::Right(message) };
        let mut request = Request::new(Body::new(body));
        *request.method_mut() = if self.fails_at("head") { Method::GET } else { Method::POST };
        *request.uri_mut() = OPERATION.path.parse().unwrap();
        *request.headers_mut() = self.headers();
        let services = service_fn(async |_| Ok(Status::new(Code::Ok, "").into_http()));
        let mut network = NetworkService::new(self.pipeline.clone(), services);
        let Ok(response) = self.make(network.call(request)).await;
        reason(&Status::from_header_map(response.headers()).unwrap())
    }

    async fn call_in_process(&self) -> Result<(), Reason> {
        let headers = MetadataMap::from_headers(self.headers());
        let request =
            tonic::Request::from_parts(headers, http::Extensions::new(), ListComplianceUrlsRequest::default());
        let call = self.pipeline.call(OPERATION.path, request, async |_| Ok(Response::new(())));
        self.make(Box::pin(call)).await.map_or_else(|status| reason(&status), |_| Ok(()))
    }

    async fn read_in_batch(&self) -> Result<(), Reason> {
        let (called, headers) = (Called::at(OPERATION.path), self.headers());
        let arrival = Arrival { called, headers: &headers, origin: Origin::Batch, verified: None };
        let checked = self.make(async { self.pipeline.check(arrival) }).await;
        checked.map(|mut call| call.record.code = Code::Ok).map_err(|refused| refused.error.reason)
    }
}

fn reason(status: &Status) -> Result<(), Reason> {
    if status.code() == Code::Ok { Ok(()) } else { Err(Error::from(status).reason) }
}

/// Makes a call that fails at every step, then a call that passes the first step, and so on. Checks each result and its log line.
async fn assert_order(
    steps: &[(&'static str, Reason)],
    is_logged: bool,
    call: impl AsyncFn(&World) -> Result<(), Reason>,
) {
    for (passed, faults) in (0..=steps.len()).map(|passed| (passed, &steps[passed..])) {
        let recorded = Recorded::default();
        let _recording = set_default(recorded.clone());
        let expected = faults.first().map_or(Ok(()), |(_, reason)| Err(*reason));
        assert_eq!(call(&World::new(faults).await).await, expected, "after {:?}", &steps[..passed]);
        let code = expected.err().map_or(Code::Ok, |reason| meaning(reason).grpc);
        let lines: Vec<String> = recorded.0.lock().unwrap().iter().map(|code| code.replace('_', "")).collect();
        let expected = is_logged.then(|| format!("{code:?}").to_uppercase());
        assert_eq!(lines, expected.into_iter().collect::<Vec<_>>(), "after {:?}", &steps[..passed]);
    }
}

/// All cases share one test, because the first thread that reaches a log line decides for all threads whether to write it.
#[tokio::test(start_paused = true)]
async fn calls_pass_pipeline_steps_in_order() {
    assert_order(&NETWORK, true, World::call_over_network).await;
    assert_order(&IN_PROCESS, false, World::call_in_process).await;
    assert_order(&BATCH, true, World::read_in_batch).await;
}

/// The status codes in the access log.
#[derive(Clone, Default)]
struct Recorded(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Recorded {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "access"
    }

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut &*self);
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

impl Visit for &Recorded {
    fn record_str(&mut self, field: &tracing::field::Field, value: &str) {
        if field.name() == "status" {
            self.0.lock().unwrap().push(value.to_owned());
        }
    }

    fn record_debug(&mut self, _: &tracing::field::Field, _: &dyn fmt::Debug) {}
}
