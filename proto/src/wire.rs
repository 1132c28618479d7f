//! Describes operations, and reads and writes call headers.

mod measure;

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};

pub use self::measure::{MAX_ITEMS, Measure, measure};
pub use crate::v1::Work;
use crate::{description::Message, token::SCOPE_MONITOR, v1::RateLimitHeaders};

/// The headers of [`RateLimitHeaders`], in the order of its fields.
pub const RATE_LIMIT: [HeaderName; 3] = [
    HeaderName::from_static("x-ratelimit-limit"),
    HeaderName::from_static("x-ratelimit-remaining"),
    HeaderName::from_static("x-ratelimit-reset"),
];

/// A request whose items can be counted.
pub trait Items {
    /// Returns the number of list elements, counted like [`Measure::items`].
    fn items(&self) -> usize;
}

impl Items for tonic_health::pb::HealthCheckRequest {
    fn items(&self) -> usize {
        0
    }
}

/// An operation of the contract.
#[derive(Debug)]
pub struct Operation {
    /// `/package.Service/Operation`.
    pub path: &'static str,
    /// The request message.
    pub request: &'static Message,
    /// Whether the operation accepts a stream of requests.
    pub streams: bool,
    /// Whether the operation returns a stream of responses.
    pub streams_responses: bool,
    /// Whether the operation only reads, so callers can retry it.
    pub is_read: bool,
    /// Who can call the operation.
    pub authorization: Authorization,
    /// The kind of work that a call causes.
    pub work: Work,
}

/// Who can call an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authorization {
    /// Every caller.
    Open,
    /// Callers with a valid token.
    Token,
    /// Callers with a valid token that has one of these scopes. The first is the service's scope.
    Scope(&'static [&'static str]),
}

impl Authorization {
    /// Returns the scopes for partners, any of which permits the operation. The `monitor` scope is for internal services.
    pub fn for_partners(&self) -> &'static [&'static str] {
        match self {
            Self::Open | Self::Token => &[],
            Self::Scope([SCOPE_MONITOR, others @ ..]) if !others.is_empty() => others,
            Self::Scope(scopes) => scopes,
        }
    }
}

impl Operation {
    /// Returns the operation at a path, or `None` outside the contract, such as for reflection.
    pub fn at(path: &str) -> Option<&'static Self> {
        Self::ALL.binary_search_by_key(&path, |operation| operation.path).ok().map(|index| &Self::ALL[index])
    }
}

#[allow(clippy::pedantic, reason = "generated")]
mod generated {
    use super::{Authorization, Items, Operation, Work};

    include!(concat!(env!("OUT_DIR"), "/operations.rs"));
}

impl RateLimitHeaders {
    /// Writes the headers.
    pub fn write(&self, headers: &mut HeaderMap) {
        for (name, value) in RATE_LIMIT.into_iter().zip([self.limit, self.remaining, self.reset]) {
            headers.insert(name, HeaderValue::from(value));
        }
    }
}

/// Returns a call's `grpc-timeout`. Transports enforce it, but in-process calls have no transport.
pub fn grpc_timeout(headers: &HeaderMap) -> Option<Duration> {
    timeout_of_text(headers.get("grpc-timeout")?.to_str().ok()?)
}

/// Parses a timeout: up to eight digits and a unit.
fn timeout_of_text(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if number.is_empty() || number.len() > 8 || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: u64 = number.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(number * 3600)),
        "M" => Some(Duration::from_secs(number * 60)),
        "S" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_millis(number)),
        "u" => Some(Duration::from_micros(number)),
        "n" => Some(Duration::from_nanos(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Operation, timeout_of_text};

    /// Gateways retry reads.
    #[test]
    fn read_operations_are_marked() {
        let reads =
            ["Get", "BatchGet", "List", "Search", "Export", "Check", "BatchRead", "StreamComplianceUrls", "Watch"];
        for Operation { path, is_read, .. } in Operation::ALL {
            let name = path.rsplit('/').next().unwrap();
            assert_eq!(*is_read, reads.iter().any(|read| name.starts_with(read)), "{path}");
        }
    }

    #[test]
    fn operations_are_found_by_path() {
        for operation in Operation::ALL {
            assert_eq!(Operation::at(operation.path).unwrap().path, operation.path);
        }
        assert!(Operation::at("/compliance.v1.ComplianceUrlService/Nothing").is_none());
        assert!(Operation::at(Operation::STREAM_URL_OBSERVATIONS.path).unwrap().streams);
    }

    #[test]
    fn grpc_timeouts_are_parsed() {
        assert_eq!(timeout_of_text("250m"), Some(Duration::from_millis(250)));
        assert_eq!(timeout_of_text("2S"), Some(Duration::from_secs(2)));
        for wrong in ["", "S", "5", "-1S", "123456789S", "5x", "5é"] {
            assert_eq!(timeout_of_text(wrong), None, "{wrong}");
        }
    }
}
