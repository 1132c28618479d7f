//! The deadline of a call, known to what the call runs.

use std::time::Duration;

use compliance_api::client::grpc_timeout;
use http::HeaderMap;
use tokio::{
    task::yield_now,
    time::{Instant, error::Elapsed, timeout_at},
};

tokio::task_local! {
    static DEADLINE: Instant;
}

/// How long a call with these headers may take: as long as its caller waits, and no longer than `longest`.
pub fn timeout(headers: &HeaderMap, longest: Duration) -> Duration {
    grpc_timeout(headers).map_or(longest, |wanted| wanted.min(longest))
}

/// Runs a call until its deadline.
pub fn until<F: Future>(deadline: Instant, call: F) -> impl Future<Output = Result<F::Output, Elapsed>> {
    // No `async fn`, which would have the call twice in its future.
    timeout_at(deadline, DEADLINE.scope(deadline, call))
}

/// The deadline of the call that runs here, if one does.
pub fn current() -> Option<Instant> {
    DEADLINE.try_with(|deadline| *deadline).ok()
}

/// To be awaited right before a call begins a statement that writes. A call whose caller has left, or whose deadline has
/// passed, goes no further: it is dropped here.
pub async fn check_caller() {
    // The connection that the call came by is looked at whenever the call waits. Without a wait, a long computation or a
    // process that was stopped could go on for a caller that left meanwhile. The first wait lets the connection be read; at
    // the second one, what was read of this call is noticed.
    yield_now().await;
    yield_now().await;
    if current().is_some_and(|deadline| deadline <= Instant::now()) {
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{Instant, advance};

    use super::{check_caller, current, until};

    #[tokio::test(start_paused = true)]
    async fn nothing_begins_after_the_deadline() {
        let deadline = Instant::now() + Duration::from_secs(1);
        let call = async |time| {
            // A long computation, which ends as the deadline is noticed.
            advance(Duration::from_millis(time)).await;
            check_caller().await;
            current()
        };
        assert_eq!(until(deadline, call(999)).await.unwrap(), Some(deadline));
        assert!(until(deadline, call(1)).await.is_err());
        check_caller().await;
        assert_eq!(current(), None, "there is no call");
    }
}
