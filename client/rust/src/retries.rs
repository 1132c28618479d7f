//! Decides how often and when the client retries a call.

use std::time::Duration;

use crate::Error;

/// How often the client retries calls after temporary errors.
///
/// An error is temporary if the service is busy or unreachable, the connection broke, the deadline passed, or the rate limit is
/// exceeded. If the first try of an update changed the record, a retry with an etag fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retries {
    /// Maximum number of tries, including the first; 30 by default, which take more than a minute. For a list, each new record
    /// resets the count. After a failed try, a passed deadline is final.
    pub tries: u32,
    /// The wait before the second try; 100 ms by default. The wait doubles with each subsequent try, with random jitter. The client
    /// adds the wait that the service asks for.
    pub first_wait: Duration,
    /// Maximum wait before jitter; five seconds by default.
    pub longest_wait: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Self { tries: 30, first_wait: Duration::from_millis(100), longest_wait: Duration::from_secs(5) }
    }
}

impl Retries {
    /// Disables retries.
    pub fn none() -> Self {
        Self { tries: 1, ..Self::default() }
    }

    /// Returns the wait after `failed` tries and this last error, or `None` if the call must not be retried.
    pub(crate) fn wait(&self, failed: u32, error: &Error) -> Option<Duration> {
        // The service ends a long list at its own time limit. Without progress, another try would only end there again.
        let is_stuck = failed > 1 && matches!(error, Error::DeadlineExceeded);
        if !error.is_temporary() || is_stuck || failed >= self.tries {
            return None;
        }
        let doubled = self.first_wait.saturating_mul(1 << failed.saturating_sub(1).min(20));
        let backoff = doubled.min(self.longest_wait).mul_f64(0.5 + fastrand::f64() / 2.0);
        Some(error.retry_after().unwrap_or_default() + backoff)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Retries;
    use crate::{Error, v1::Reason};

    fn busy(seconds: u64) -> Error {
        let retry_after = Some(Duration::from_secs(seconds));
        Error::Unavailable { reason: Reason::Overloaded, message: String::new(), retry_after }
    }

    #[test]
    fn client_backoff_grows_and_honors_retry_after() {
        let retries = Retries { tries: 30, ..Retries::default() };
        for failed in 1..30 {
            let (wait, asked) = (retries.wait(failed, &busy(2)).unwrap(), Duration::from_secs(2));
            let most = Duration::from_millis(100 << (failed - 1).min(10)).min(retries.longest_wait);
            assert!(wait >= asked + most / 2 && wait <= asked + most, "{failed}: {wait:?}");
        }
        assert_eq!(retries.wait(30, &busy(2)), None);
    }

    #[test]
    fn default_retries_outlast_a_minute() {
        let retries = Retries::default();
        let waits: Duration = (1..retries.tries).filter_map(|failed| retries.wait(failed, &busy(0))).sum();
        assert!(waits >= Duration::from_mins(1), "{waits:?}");
    }

    #[test]
    fn exceeded_deadlines_are_retried_once() {
        assert!(Retries::default().wait(1, &Error::DeadlineExceeded).is_some());
        assert_eq!(Retries::default().wait(2, &Error::DeadlineExceeded), None);
    }

    #[test]
    fn permanent_errors_are_not_retried() {
        let error = Error::NotFound { reason: Reason::CaseNotFound, message: String::new() };
        assert_eq!(Retries::default().wait(1, &error), None);
        assert_eq!(Retries::none().wait(1, &busy(0)), None);
    }
}
