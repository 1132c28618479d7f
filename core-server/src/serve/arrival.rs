//! A call as it arrives, before anything is checked: what its path names, and where it comes from.

use compliance_api::wire::{self, Authorization, Operation};
use http::{HeaderMap, Method};

use crate::{access::Verified, quotas::QueueClass};

/// A call before its checks.
pub(super) struct Arrival<'r> {
    pub(super) called: Called,
    pub(super) headers: &'r HeaderMap,
    pub(super) origin: Origin<'r>,
    /// The result for its token, if the token was verified before.
    pub(super) verified: Option<Verified>,
}

/// Where a call comes from.
pub(super) enum Origin<'r> {
    /// The network, with this HTTP method.
    Network(&'r Method),
    Batch,
    Gateway,
}

/// The health check. It has a response even when all connections or calls are in use.
pub(super) const HEALTH_CHECK: &str = "/grpc.health.v1.Health/Check";

/// Operations of standard services, which the contract does not list.
const STANDARD: [&str; 4] = [
    HEALTH_CHECK,
    "/grpc.health.v1.Health/Watch",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// What the path of a call names.
#[derive(Clone, Copy, Debug)]
pub(super) enum Called {
    Operation(&'static Operation),
    /// An operation of a standard service, by its path. It has no data of any company.
    Standard(&'static str),
    Unknown,
}

impl Called {
    pub(super) fn at(path: &str) -> Self {
        let standard = || STANDARD.into_iter().find(|standard| *standard == path);
        match Operation::at(path) {
            Some(operation) => Self::Operation(operation),
            None => standard().map_or(Self::Unknown, Self::Standard),
        }
    }

    /// `package.Service/Operation`. Never a text from the client.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Operation(&Operation { path, .. }) | Self::Standard(path) => path.trim_start_matches('/'),
            Self::Unknown => "unknown",
        }
    }

    /// Who may call it. Without a token, an unknown operation is rejected like a known one.
    pub(super) fn authorization(self) -> Authorization {
        match self {
            Self::Operation(operation) => operation.authorization,
            Self::Standard(_) => Authorization::Open,
            Self::Unknown => Authorization::Token,
        }
    }

    pub(super) fn is_health_check(self) -> bool {
        matches!(self, Self::Standard(HEALTH_CHECK))
    }

    /// Whether it is a stream that needs no token and has no end of its own.
    pub(super) fn is_open_to_all(self) -> bool {
        matches!(self, Self::Standard(_)) && !self.is_health_check()
    }

    /// Whether it asks for the service's health, once or as a stream.
    pub(super) fn is_health(self) -> bool {
        matches!(self, Self::Standard(path) if path.starts_with("/grpc.health."))
    }

    pub(super) fn is_single_read(self) -> bool {
        matches!(self, Self::Operation(operation) if operation.work == wire::Work::SingleRead)
    }

    pub(super) fn is_watch(self) -> bool {
        matches!(self, Self::Operation(operation) if operation.path == Operation::WATCH_CHANGES.path)
    }

    /// Whether a gateway calls it before it rejects a request.
    pub(super) fn is_access_check(self) -> bool {
        matches!(self, Self::Operation(operation) if operation.path == Operation::CHECK_ACCESS.path)
    }

    /// Returns how many items a call writes, from the length of its list. A call without a list writes one. Items of a stream are counted
    /// as they arrive.
    pub(super) fn written(self, items: usize) -> usize {
        match self {
            Self::Operation(operation) if !operation.is_read && !operation.streams => items.max(1),
            _ => 0,
        }
    }

    /// The queue for a call with this number of items. Each page of a stream enters a queue itself.
    pub(super) fn work(self, items: usize) -> QueueClass {
        let Self::Operation(operation) = self else { return QueueClass::Coalesced };
        match operation.work {
            wire::Work::SingleRead => QueueClass::Coalesced,
            // The first page waits with the first pages of the company's other watches.
            _ if self.is_watch() => QueueClass::Coalesced,
            wire::Work::Page => QueueClass::Statement,
            wire::Work::Unspecified if items <= 1 => QueueClass::Coalesced,
            wire::Work::Unspecified => QueueClass::of_items(items),
        }
    }
}

#[cfg(test)]
mod tests {
    use compliance_api::wire::{Authorization, Operation};

    use super::{Called, HEALTH_CHECK};
    use crate::quotas::QueueClass;

    #[test]
    fn long_batches_are_heavy() {
        let work = |items| Called::Operation(&Operation::ADD_COMPLIANCE_URLS).work(items);
        assert_eq!([0, 1].map(work), [QueueClass::Coalesced; 2]);
        assert_eq!([2, 100, 101].map(|items| work(items).is_heavy()), [false, false, true]);
    }

    #[test]
    fn calls_that_change_something_write() {
        let written = |operation, items| Called::Operation(operation).written(items);
        assert_eq!([0, 1, 7].map(|items| written(&Operation::ADD_COMPLIANCE_URLS, items)), [1, 1, 7]);
        assert_eq!([&Operation::CHECK_ACCESS, &Operation::BATCH_GET_AFFILIATES].map(|read| written(read, 7)), [0, 0]);
        assert_eq!(written(&Operation::STREAM_URL_OBSERVATIONS, 7), 0);
        assert_eq!(Called::at(HEALTH_CHECK).written(7), 0);
    }

    #[test]
    fn pages_are_statements_and_single_reads_are_coalesced() {
        let work = |operation, items| Called::Operation(operation).work(items);
        assert_eq!(work(&Operation::LIST_COMPLIANCE_URLS, 0), QueueClass::Statement);
        assert_eq!(work(&Operation::BATCH_GET_AFFILIATES, 1_000), QueueClass::Statement);
        assert_eq!(work(&Operation::GET_AFFILIATE, 0), QueueClass::Coalesced);
    }

    #[test]
    fn unknown_operations_need_a_token_and_standard_ones_need_none() {
        let authorization = |path| Called::at(path).authorization();
        assert_eq!(authorization("/compliance.v1.Unknown/Call"), Authorization::Token);
        assert_eq!(authorization(HEALTH_CHECK), Authorization::Open);
        assert_eq!(authorization(Operation::GET_AFFILIATE.path), Authorization::Token);
    }

    #[test]
    fn unknown_paths_have_one_name() {
        let name = |path| Called::at(path).name();
        assert_eq!(name(Operation::GET_AFFILIATE.path), "compliance.v1.AffiliateService/GetAffiliate");
        assert_eq!(name(HEALTH_CHECK), "grpc.health.v1.Health/Check");
        assert_eq!(name("/compliance.v1.AffiliateService/Get"), "unknown");
    }
}
