//! What statements are for, known to what runs them: the name of their operation or batch, and the requests that they serve. A
//! statement that takes long is logged once, with all its attempts.

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

/// The name and the request of statements.
#[derive(Clone, Debug)]
pub struct StatementContext {
    /// The operation, or what a batch does.
    pub name: &'static str,
    /// Of a call.
    pub request_id: Option<HeaderValue>,
    /// Of a call: what its token says.
    pub token: Option<VerifiedToken>,
}

struct Statement {
    purpose: StatementContext,
    /// How long connections were waited for, and how many were borrowed, since a [`Watch`] began.
    waited: Cell<Duration>,
    attempts: Cell<u32>,
}

impl StatementContext {
    /// That of a batch, or of work that no request waits for.
    pub fn of(name: &'static str) -> Self {
        Self { name, request_id: None, token: None }
    }

    /// That of what runs here.
    pub fn current() -> Self {
        CURRENT.try_with(|statement| statement.purpose.clone()).unwrap_or_else(|_| Self::of("internal"))
    }

    /// Runs work whose statements are for this.
    pub fn run<F: Future>(self, work: F) -> impl Future<Output = F::Output> {
        let statement = Statement { purpose: self, waited: Cell::default(), attempts: Cell::default() };
        CURRENT.scope(statement, work)
    }
}

/// Runs work in a task of its own for what runs here.
pub fn inherit<F: Future>(work: F) -> impl Future<Output = F::Output> {
    StatementContext::current().run(work)
}

/// The name of the statements that run here.
pub fn name() -> &'static str {
    CURRENT.try_with(|statement| statement.purpose.name).unwrap_or("internal")
}

/// Records that a connection was borrowed for an attempt.
pub fn begin_attempt() {
    // Statements without a name are counted by nobody.
    let _ = CURRENT.try_with(|statement| statement.attempts.set(statement.attempts.get() + 1));
}

/// A wait for a connection. It is recorded when this is dropped, also if there was none in time.
pub struct ConnectionWait(Instant);

impl ConnectionWait {
    /// Begins to wait.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// For how long it waits.
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
    /// From its call to its result.
    pub span: Span,
    since: Instant,
}

impl RequestContext {
    /// A request with this ID, whose wait begins now.
    pub fn new(id: Option<HeaderValue>, span: Span) -> Self {
        Self { id, token: None, span, since: Instant::now() }
    }

    /// That of the call that runs here, with a span of this name.
    pub fn current(span: &'static str) -> Self {
        let StatementContext { request_id, token, .. } = StatementContext::current();
        Self { token, ..Self::new(request_id, Span::of_statement(span)) }
    }

    /// Who changes records by it; see [`writer`].
    pub fn writer(&self) -> String {
        encode_writer(self.id(), self.token.as_ref())
    }

    /// Its ID, unless that is unsafe in a log.
    pub fn id(&self) -> Option<&str> {
        shown(self.id.as_ref())
    }
}

/// Who changes records by the statements that run here, as the record of changes keeps it: the ID of the request and the subject of
/// its token, as JSON.
pub fn writer() -> String {
    let StatementContext { request_id, token, .. } = StatementContext::current();
    encode_writer(shown(request_id.as_ref()), token.as_ref())
}

fn encode_writer(request_id: Option<&str>, token: Option<&VerifiedToken>) -> String {
    // The database has no text with this character.
    let subject = token.and_then(|token| token.sub.as_ref()).map(|subject| subject.replace('\0', ""));
    serde_json::json!([request_id, subject]).to_string()
}

/// The span of a batch that begins now, linked with those of the requests that it serves.
pub fn batch_span<'r>(name: &'static str, requests: impl Iterator<Item = &'r RequestContext> + Clone) -> Span {
    let span = Span::shared(name, requests.clone().map(|request| &request.span));
    for request in requests {
        request.span.set("compliance.queue_wait_ms", milliseconds(request.since.elapsed()));
    }
    span
}

/// What the statements of a request took so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// Without the waits for connections.
    pub duration: Duration,
    waited: Duration,
    attempts: u32,
}

impl Spent {
    /// With what the statements that run here took, which began then.
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

/// Watches a statement with all its attempts, until this is dropped.
pub struct Watch(Instant);

impl Watch {
    /// Begins to watch the statement that runs here.
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

/// Logs a statement for requests with these IDs, if it took long without the wait for a connection.
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

/// Milliseconds, as logs and traces have them.
pub fn milliseconds(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1e3
}

/// A request ID, unless it is unsafe in a log.
pub fn shown(id: Option<&HeaderValue>) -> Option<&str> {
    id.and_then(|id| id.to_str().ok()).filter(|id| id.len() <= MAX_REQUEST_ID)
}

#[cfg(test)]
mod tests {
    use std::{future::pending, time::Duration};

    use tokio::time::timeout;

    use super::{CURRENT, ConnectionWait, StatementContext};

    #[tokio::test]
    async fn a_wait_without_a_connection_is_not_time_of_the_statement() {
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
