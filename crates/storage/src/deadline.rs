//! The deadline of the current call.

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

/// Returns how long the caller of a call waits, at most `longest`.
pub fn timeout(headers: &HeaderMap, longest: Duration) -> Duration {
    grpc_timeout(headers).map_or(longest, |wanted| wanted.min(longest))
}

/// Runs a call until its deadline.
pub fn until<F: Future>(deadline: Instant, call: F) -> impl Future<Output = Result<F::Output, Elapsed>> {
    // An `async fn` would store the call twice in its future.
    timeout_at(deadline, DEADLINE.scope(deadline, call))
}

/// Returns the deadline of the current call, if there is one.
pub fn current() -> Option<Instant> {
    DEADLINE.try_with(|deadline| *deadline).ok()
}

/// Stops a call whose caller has left, or whose deadline has passed. Await this right before a statement that writes.
///
/// The call is dropped while it waits here.
pub async fn check_caller() {
    // The runtime reads the caller's connection only while the call waits. Without a wait, a long computation or a stopped process could
    // write for a caller that has left. The first wait lets the runtime read the connection, and the second lets it drop this call.
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
            // A long computation.
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
