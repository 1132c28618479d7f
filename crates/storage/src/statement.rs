//! Context of statements: the name of their operation or batch, and the requests that they serve.
//!
//! A slow statement is logged once, with all its attempts.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use compliance_api::token::VerifiedToken;
use http::HeaderValue;
use telemetry::{MAX_REQUEST_ID, trace::Span};

/// Request IDs that the log shows for a slow statement.
const LOGGED_REQUESTS: usize = 10;

/// A statement that takes longer is logged.
const SLOW_STATEMENT: Duration = Duration::from_secs(1);

tokio::task_local! {
    static CURRENT: Statement;
}

/// Name and request of statements.
#[derive(Clone, Debug)]
pub struct StatementContext {
    /// Name of the operation or batch.
    pub name: &'static str,
    /// Request ID of a call.
    pub request_id: Option<HeaderValue>,
    /// Token of a call.
    pub token: Option<VerifiedToken>,
}

struct Statement {
    context: StatementContext,
    /// Waits for connections, and borrowed connections, since a [`Watch`] began.
    waited: Cell<Duration>,
    attempts: Cell<u32>,
}

impl StatementContext {
    /// Context of a batch, or of work that no request waits for.
    pub fn of(name: &'static str) -> Self {
        Self { name, request_id: None, token: None }
    }

    /// Returns the current context.
    pub fn current() -> Self {
        CURRENT.try_with(|statement| statement.context.clone()).unwrap_or_else(|_| Self::of("internal"))
    }

    /// Runs work with this context.
    pub fn run<F: Future>(self, work: F) -> impl Future<Output = F::Output> {
        let statement = Statement { context: self, waited: Cell::default(), attempts: Cell::default() };
        CURRENT.scope(statement, work)
    }
}

/// Passes the current context to another task.
pub fn inherit<F: Future>(work: F) -> impl Future<Output = F::Output> {
    StatementContext::current().run(work)
}

/// Returns the name of the current context.
pub fn name() -> &'static str {
    CURRENT.try_with(|statement| statement.context.name).unwrap_or("internal")
}

/// Counts an attempt of the current statement.
pub fn begin_attempt() {
    // Statements without a context are not counted.
    let _ = CURRENT.try_with(|statement| statement.attempts.set(statement.attempts.get() + 1));
}

/// A wait for a connection. It counts when this is dropped, even without a connection.
pub struct ConnectionWait(Instant);

impl ConnectionWait {
    /// Begins a wait.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Returns the time since the beginning.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

impl Drop for ConnectionWait {
    fn drop(&mut self) {
        let _ = CURRENT.try_with(|statement| statement.waited.set(statement.waited.get() + self.elapsed()));
    }
}

/// A request that waits for a batch.
#[derive(Clone, Debug)]
pub struct RequestContext {
    id: Option<HeaderValue>,
    token: Option<VerifiedToken>,
    /// Span from its call to its result.
    pub span: Span,
    since: Instant,
}

impl RequestContext {
    /// Creates a request whose wait begins now.
    pub fn new(id: Option<HeaderValue>, span: Span) -> Self {
        Self { id, token: None, span, since: Instant::now() }
    }

    /// Returns the current request, with a new span of this name.
    pub fn current(span: &'static str) -> Self {
        let StatementContext { request_id, token, .. } = StatementContext::current();
        Self { token, ..Self::new(request_id, Span::of_statement(span)) }
    }

    /// Returns who changes records with this request; see [`writer`].
    pub fn writer(&self) -> String {
        encode_writer(self.id(), self.token.as_ref())
    }

    /// Returns its ID, unless it is unsafe in a log.
    pub fn id(&self) -> Option<&str> {
        shown(self.id.as_ref())
    }
}

/// Returns who makes the current request, for the record of changes.
///
/// A JSON array of the request ID and the subject of the token.
pub fn writer() -> String {
    let StatementContext { request_id, token, .. } = StatementContext::current();
    encode_writer(shown(request_id.as_ref()), token.as_ref())
}

fn encode_writer(request_id: Option<&str>, token: Option<&VerifiedToken>) -> String {
    // PostgreSQL does not store this character.
    let subject = token.and_then(|token| token.sub.as_ref()).map(|subject| subject.replace('\0', ""));
    serde_json::json!([request_id, subject]).to_string()
}

/// Begins a batch's span, linked with the spans of its requests.
pub fn batch_span<'r>(name: &'static str, requests: impl Iterator<Item = &'r RequestContext> + Clone) -> Span {
    let span = Span::shared(name, requests.clone().map(|request| &request.span));
    for request in requests {
        request.span.set("compliance.queue_wait_ms", milliseconds(request.since.elapsed()));
    }
    span
}

/// Time and attempts of a request's statements so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// Time without waits for connections.
    pub duration: Duration,
    waited: Duration,
    attempts: u32,
}

impl Spent {
    /// Adds the current statements, which began at `start`.
    #[must_use]
    pub fn since(self, start: Instant) -> Self {
        let read = |statement: &Statement| (statement.waited.get(), statement.attempts.get());
        let (waited, attempts) = CURRENT.try_with(read).unwrap_or_default();
        Self {
            duration: self.duration + start.elapsed().saturating_sub(waited),
            waited: self.waited + waited,
            attempts: self.attempts + attempts,
        }
    }
}

/// Measures a statement with all its attempts.
///
/// When dropped, it logs the statement if it was slow.
pub struct Watch(Instant);

impl Watch {
    /// Begins with the current statement.
    pub fn start() -> Self {
        let _ = CURRENT.try_with(|statement| {
            statement.waited.set(Duration::ZERO);
            statement.attempts.set(0);
        });
        Self(Instant::now())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if self.0.elapsed() >= SLOW_STATEMENT {
            let request_id = StatementContext::current().request_id;
            log_if_slow(name(), Spent::default().since(self.0), [shown(request_id.as_ref())].into_iter());
        }
    }
}

/// Logs a slow statement and the IDs of its requests. Waits for connections do not count.
pub fn log_if_slow<'r>(name: &'static str, spent: Spent, request_ids: impl Iterator<Item = Option<&'r str>>) {
    let Spent { duration, waited, attempts } = spent;
    if duration < SLOW_STATEMENT {
        return;
    }
    let (mut ids, mut requests) = (String::new(), 0);
    for id in request_ids {
        requests += 1;
        if let Some(id) = id.filter(|_| requests <= LOGGED_REQUESTS) {
            ids.extend([if ids.is_empty() { "" } else { "," }, id]);
        }
    }
    tracing::warn!(
        target: "statement",
        statement = name,
        duration_ms = milliseconds(duration),
        connection_wait_ms = milliseconds(waited),
        attempts,
        requests,
        request_ids = ids,
        "slow statement"
    );
}

/// Returns milliseconds for logs and traces.
pub fn milliseconds(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1e3
}

/// Returns a request ID, unless it is unsafe in a log.
pub fn shown(id: Option<&HeaderValue>) -> Option<&str> {
    id.and_then(|id| id.to_str().ok()).filter(|id| id.len() <= MAX_REQUEST_ID)
}

#[cfg(test)]
mod tests {
    use std::{future::pending, time::Duration};

    use tokio::time::timeout;

    use super::{CURRENT, ConnectionWait, StatementContext};

    #[tokio::test]
    async fn a_wait_without_a_connection_does_not_count_as_statement_time() {
        let statement = async {
            let borrowed = async {
                let _wait = ConnectionWait::start();
                pending::<()>().await;
            };
            assert!(timeout(Duration::from_millis(1), borrowed).await.is_err());
            CURRENT.with(|statement| (statement.waited.get() > Duration::ZERO, statement.attempts.get()))
        };
        assert_eq!(StatementContext::of("test").run(statement).await, (true, 0));
    }
}
