//! The paths of operations that are treated specially.

use crate::shares::Work;

pub(super) const GET_AFFILIATE: &str = "/compliance.v1.AffiliateService/GetAffiliate";
pub(super) const GET_URL: &str = "/compliance.v1.ComplianceUrlService/GetComplianceUrl";
pub(super) const GET_CASE: &str = "/compliance.v1.ComplianceCaseService/GetComplianceCase";

/// The health check, which is answered even when all connections or calls are in use.
pub(super) const HEALTH_CHECK: &str = "/grpc.health.v1.Health/Check";

/// Operations of standard services, which the contract does not have.
pub(super) const STANDARD: [&str; 4] = [
    HEALTH_CHECK,
    "/grpc.health.v1.Health/Watch",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// Reads of single records. Concurrent ones become one statement.
pub(super) const COALESCED: [&str; 3] = [GET_AFFILIATE, GET_URL, GET_CASE];

/// Reads of many records. Each is a statement of its own.
const PAGES: [&str; 6] = [
    "/compliance.v1.ComplianceUrlService/ListComplianceUrls",
    "/compliance.v1.ComplianceUrlService/StreamComplianceUrls",
    "/compliance.v1.ComplianceCaseService/ListComplianceCases",
    "/compliance.v1.AffiliateService/BatchGetAffiliates",
    "/compliance.v1.ComplianceUrlService/BatchGetComplianceUrls",
    "/compliance.v1.ComplianceCaseService/BatchGetComplianceCases",
];

/// Gateways make it for all companies. It is decoded before its tokens are verified.
pub(super) const BATCH_READ: &str = "/compliance.v1.ReadService/BatchRead";

/// What a call with so many items makes the service do. Pages of a stream are counted by themselves.
pub(super) fn work(path: &str, items: usize) -> Work {
    if COALESCED.contains(&path) {
        Work::Coalesced
    } else if PAGES.contains(&path) {
        // Their statements take no longer than those of short batches.
        Work::Statement(1 + items / 100)
    } else if items <= 1 {
        Work::Coalesced
    } else {
        Work::of_items(items)
    }
}

#[cfg(test)]
mod tests {
    use compliance_api::wire::Operation;

    use super::{BATCH_READ, COALESCED, PAGES, work};
    use crate::shares::Work;

    #[test]
    fn every_path_is_an_operation() {
        for path in COALESCED.into_iter().chain(PAGES).chain([BATCH_READ]) {
            assert!(Operation::at(path).is_some(), "{path}");
        }
    }

    #[test]
    fn long_batches_are_heavy() {
        let add = "/compliance.v1.ComplianceUrlService/AddComplianceUrls";
        assert_eq!([0, 1].map(|items| work(add, items)), [Work::Coalesced; 2]);
        assert_eq!([2, 100, 101].map(|items| work(add, items).is_heavy()), [false, false, true]);
        assert_eq!(work(PAGES[0], 0), Work::Statement(1));
    }
}
