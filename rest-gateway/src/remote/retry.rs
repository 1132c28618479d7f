//! Which calls may be sent again, and when.
//!
//! A call that no core has processed may be sent again, whatever it does. A call that a core may have processed is sent again
//! only if it is a read: twice a write could change records twice, or report the first success as a duplicate.

use std::error::Error;

use compliance_api::wire::Operation;

/// Why a call has no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// There is no connection to the core.
    NotConnected,
    /// The core has not processed the call: it was not sent, or the core says so.
    NotProcessed,
    /// The connection broke. The core may have processed the call.
    Broken,
    /// The deadline passed.
    Deadline,
}

impl Failure {
    /// What an error of the transport means.
    pub(super) fn of(error: &(dyn Error + 'static)) -> Self {
        let mut source = Some(error);
        while let Some(error) = source {
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
                // RFC 9113, 6.8 and 8.7: streams above the last one that a GOAWAY frame names, and refused streams, were not
                // processed. The library reports a peer's GOAWAY for those streams only.
                let refused = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
                return if error.is_remote() && (error.is_go_away() || refused) {
                    Self::NotProcessed
                } else {
                    Self::Broken
                };
            }
            source = error.source();
        }
        Self::Broken
    }

    /// Whether a call at `path` may be sent again.
    pub(super) fn allows_retry(self, path: &str) -> bool {
        match self {
            Self::NotConnected | Self::NotProcessed => true,
            Self::Broken => Operation::at(path).is_some_and(|operation| operation.is_read),
            Self::Deadline => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use compliance_api::wire::Operation;

    use super::Failure;

    #[test]
    fn a_write_is_sent_again_only_if_it_was_not_processed() {
        let (read, write) = (Operation::BATCH_GET_COMPLIANCE_URLS.path, Operation::CREATE_AFFILIATE.path);
        assert!(Failure::NotConnected.allows_retry(write) && Failure::NotProcessed.allows_retry(write));
        assert!(!Failure::Broken.allows_retry(write) && Failure::Broken.allows_retry(read));
        assert!(!Failure::Deadline.allows_retry(read));
    }

    #[test]
    fn errors_are_told_apart_by_their_type() {
        let refused = tonic::ConnectError("refused".into());
        assert_eq!(Failure::of(&refused), Failure::NotConnected);
        assert_eq!(Failure::of(&h2::Error::from(h2::Reason::REFUSED_STREAM)), Failure::Broken);
        assert_eq!(Failure::of(&std::io::Error::other("a reset")), Failure::Broken);
    }
}
