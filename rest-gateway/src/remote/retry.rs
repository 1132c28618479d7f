//! Which calls may be sent again, and when.
//!
//! A call that no core has processed may be sent again, whatever it does. A call that a core may have processed is sent again
//! only if it is a read: twice a write could change records twice, or report the first success as a duplicate.

use std::error::Error;

/// Calls that change nothing.
const READS: [&str; 13] = [
    "/compliance.v1.AccessService/CheckAccess",
    "/compliance.v1.AffiliateService/BatchGetAffiliates",
    "/compliance.v1.AffiliateService/GetAffiliate",
    "/compliance.v1.AffiliateService/ListAffiliates",
    "/compliance.v1.ComplianceCaseService/BatchGetComplianceCases",
    "/compliance.v1.ComplianceCaseService/GetComplianceCase",
    "/compliance.v1.ComplianceCaseService/ListComplianceCases",
    "/compliance.v1.ComplianceUrlService/BatchGetComplianceUrls",
    "/compliance.v1.ComplianceUrlService/GetComplianceUrl",
    "/compliance.v1.ComplianceUrlService/ListComplianceUrls",
    "/compliance.v1.ComplianceUrlService/StreamComplianceUrls",
    "/compliance.v1.ReadService/BatchRead",
    "/grpc.health.v1.Health/Check",
];

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
            Self::Broken => READS.contains(&path),
            Self::Deadline => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use compliance_api::wire::Operation;

    use super::{Failure, READS};

    #[test]
    fn a_write_is_sent_again_only_if_it_was_not_processed() {
        let write = "/compliance.v1.AffiliateService/CreateAffiliate";
        assert!(Failure::NotConnected.allows_retry(write) && Failure::NotProcessed.allows_retry(write));
        assert!(!Failure::Broken.allows_retry(write) && Failure::Broken.allows_retry(READS[0]));
        assert!(!Failure::Deadline.allows_retry(READS[0]));
    }

    /// A new operation is one of both.
    #[test]
    fn every_operation_of_partners_is_a_read_or_a_write() {
        let writes = [
            "/compliance.v1.AffiliateService/BatchCreateAffiliates",
            "/compliance.v1.AffiliateService/BatchUpdateAffiliates",
            "/compliance.v1.AffiliateService/CreateAffiliate",
            "/compliance.v1.AffiliateService/UpdateAffiliate",
            "/compliance.v1.ComplianceUrlService/AddComplianceUrls",
        ];
        let mut known: Vec<_> = READS.into_iter().filter(|path| !path.starts_with("/grpc.")).chain(writes).collect();
        known.sort_unstable();
        let all = Operation::all().iter().map(|operation| operation.path);
        let partners: Vec<_> = all.filter(|path| !path.contains("MonitoringService")).collect();
        assert_eq!(known, partners);
    }

    #[test]
    fn errors_are_told_apart_by_their_type() {
        let refused = tonic::ConnectError("refused".into());
        assert_eq!(Failure::of(&refused), Failure::NotConnected);
        assert_eq!(Failure::of(&h2::Error::from(h2::Reason::REFUSED_STREAM)), Failure::Broken);
        assert_eq!(Failure::of(&std::io::Error::other("a reset")), Failure::Broken);
    }
}
