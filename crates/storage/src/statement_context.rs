//! Statement context: the operation or batch, the requests served, and the call's deadline.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use compliance_api::token::VerifiedToken;
use http::HeaderValue;
use telemetry::{MAX_REQUEST_ID, trace::Span};

/// Maximum number of request IDs in a slow statement's log line.
const LOGGED_REQUESTS: usize = 10;

/// Minimum duration of a statement that is logged as slow.
const SLOW_STATEMENT: Duration = Duration::from_secs(1);

tokio::task_local! {
    static CURRENT: Statement;
}

/// Name and request of a statement.
#[derive(Clone, Debug)]
pub struct StatementContext {
    /// Name of the operation or batch.
    pub name: &'static str,
    /// The call's request ID.
    pub request_id: Option<HeaderValue>,
    /// The call's token.
    pub token: Option<VerifiedToken>,
}

struct Statement {
    context: StatementContext,
    /// Time spent waiting for and borrowing connections since a [`Watch`] began.
    waited: Cell<Duration>,
    attempts: Cell<u32>,
}

impl StatementContext {
    /// Creates the context of a batch, or of work that no request waits for.
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

    /// Returns the writer of changes: a JSON array of the request ID and the token's subject.
    pub(crate) fn writer(&self) -> String {
        // PostgreSQL cannot store this character.
        let subject = self.token.as_ref().and_then(|token| token.sub.as_ref()).map(|sub| sub.replace('\0', ""));
        serde_json::json!([shown(self.request_id.as_ref()), subject]).to_string()
    }
}

/// Wraps work for a different task, keeping the current context.
pub fn inherit<F: Future>(work: F) -> impl Future<Output = F::Output> {
    StatementContext::current().run(work)
}

/// A wait for a connection. Dropping it records the wait, even if no connection was obtained.
pub(crate) struct ConnectionWait(Instant);

impl ConnectionWait {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Ends the wait once a connection is available. Counts an attempt of the current statement and returns the attempt's span.
    pub(crate) fn end(self) -> Span {
        let begin = |statement: &Statement| {
            statement.attempts.set(statement.attempts.get() + 1);
            statement.context.name
        };
        let span = Span::of_statement("statement");
        span.set("db.query.summary", CURRENT.try_with(begin).unwrap_or("internal"));
        span.set("compliance.connection_wait_ms", milliseconds(self.0.elapsed()));
        span
    }
}

impl Drop for ConnectionWait {
    fn drop(&mut self) {
        let _ = CURRENT.try_with(|statement| statement.waited.set(statement.waited.get() + self.0.elapsed()));
    }
}

/// A request waiting for a batch.
#[derive(Clone, Debug)]
pub struct RequestContext {
    pub(crate) context: StatementContext,
    /// Span from the call to its result.
    pub span: Span,
    since: Instant,
}

impl RequestContext {
    /// Creates a request with this ID. Its wait begins now.
    pub fn new(request_id: Option<HeaderValue>, span: Span) -> Self {
        let context = StatementContext { request_id, ..StatementContext::of("request") };
        Self { context, span, since: Instant::now() }
    }

    /// Returns the current request, with a new span of this name.
    pub fn current(span: &'static str) -> Self {
        Self { context: StatementContext::current(), span: Span::of_statement(span), since: Instant::now() }
    }

    /// Returns the request ID, if it is safe to log.
    pub fn id(&self) -> Option<&str> {
        shown(self.context.request_id.as_ref())
    }
}

/// Returns the writer of the current request, for the record of changes.
pub fn writer() -> String {
    StatementContext::current().writer()
}

/// Starts a batch's span, linked to its requests' spans.
pub(crate) fn batch_span<'r>(name: &'static str, requests: impl Iterator<Item = &'r RequestContext> + Clone) -> Span {
    let span = Span::shared(name, requests.clone().map(|request| &request.span));
    for request in requests {
        request.span.set("compliance.queue_wait_ms", milliseconds(request.since.elapsed()));
    }
    span
}

/// Time and attempts that a request's statements have used so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    /// Time spent, excluding waits for connections.
    pub(crate) duration: Duration,
    waited: Duration,
    attempts: u32,
}

impl Spent {
    /// Adds the current statements, which began at `start`.
    pub(crate) fn since(self, start: Instant) -> Self {
        let read = |statement: &Statement| (statement.waited.get(), statement.attempts.get());
        let (waited, attempts) = CURRENT.try_with(read).unwrap_or_default();
        Self {
            duration: self.duration + start.elapsed().saturating_sub(waited),
            waited: self.waited + waited,
            attempts: self.attempts + attempts,
        }
    }
}

/// Measures a statement and all its attempts. On drop, logs the statement if it is slow.
pub struct Watch(Instant);

impl Watch {
    /// Starts measuring the current statement.
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
            let context = StatementContext::current();
            let request_ids = [shown(context.request_id.as_ref())].into_iter();
            log_if_slow(context.name, Spent::default().since(self.0), request_ids);
        }
    }
}

/// Logs a slow statement once, with all its attempts and request IDs. Ignores waits for connections.
pub(crate) fn log_if_slow<'r>(name: &'static str, spent: Spent, request_ids: impl Iterator<Item = Option<&'r str>>) {
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

/// Converts a duration to milliseconds, for logs and traces.
pub fn milliseconds(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1e3
}

/// Returns a request ID, if it is safe to log.
pub fn shown(id: Option<&HeaderValue>) -> Option<&str> {
    id.and_then(|id| id.to_str().ok()).filter(|id| id.len() <= MAX_REQUEST_ID)
}

/// Deadline of the current call.
pub mod deadline {
    use std::time::Duration;

    use compliance_api::wire::grpc_timeout;
    use http::HeaderMap;
    use tokio::{
        task::yield_now,
        time::{Instant, error::Elapsed, timeout_at},
    };

    tokio::task_local! {
        static DEADLINE: Instant;
    }

    /// Returns how long a call's caller waits, at most `longest`.
    pub fn timeout(headers: &HeaderMap, longest: Duration) -> Duration {
        grpc_timeout(headers).map_or(longest, |wanted| wanted.min(longest))
    }

    /// Runs a call until its deadline.
    pub fn until<F: Future>(deadline: Instant, call: F) -> impl Future<Output = Result<F::Output, Elapsed>> {
        // An `async fn` would store the call twice in its future.
        timeout_at(deadline, DEADLINE.scope(deadline, call))
    }

    /// Returns the deadline of the current call, if any.
    pub fn current() -> Option<Instant> {
        DEADLINE.try_with(|deadline| *deadline).ok()
    }

    /// Stops a call whose caller has disconnected or whose deadline has passed. Await it right before a statement that writes.
    pub async fn check_caller() {
        // The runtime reads the caller's connection only while the call yields. Without yielding, a call could still write for a disconnected caller
        // after a long computation or a process pause. The first yield lets the runtime read the connection, and the second lets it drop this call.
        yield_now().await;
        yield_now().await;
        if current().is_some_and(|deadline| deadline <= Instant::now()) {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, time::Duration};

    use tokio::time::{Instant, advance, timeout};

    use super::{
        CURRENT, ConnectionWait, StatementContext,
        deadline::{check_caller, current, until},
    };

    #[tokio::test]
    async fn statement_time_excludes_connection_waits() {
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

    #[tokio::test(start_paused = true)]
    async fn check_caller_stops_expired_calls() {
        let deadline = Instant::now() + Duration::from_secs(1);
        let call = async |time| {
            // A long computation.
            advance(Duration::from_millis(time)).await;
            check_caller().await;
            current()
        };
        assert_eq!(until(deadline, call(999)).await.unwrap(), Some(deadline));
        assert!(until(deadline, call(1)).await.is_err());
        check_caller().await;
        assert_eq!(current(), None, "no call is running");
    }
}
