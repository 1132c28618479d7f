//! The company's rate limit, as response headers.

use http::{HeaderMap, HeaderName, HeaderValue};
use tonic::metadata::MetadataMap;

const HEADERS: [HeaderName; 3] = [
    HeaderName::from_static("x-ratelimit-limit"),
    HeaderName::from_static("x-ratelimit-remaining"),
    HeaderName::from_static("x-ratelimit-reset"),
];

/// The rate-limit headers of a core response, which the gateway forwards unchanged.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateLimit([Option<HeaderValue>; 3]);

impl From<MetadataMap> for RateLimit {
    fn from(metadata: MetadataMap) -> Self {
        let mut headers = metadata.into_headers();
        Self(HEADERS.map(|name| headers.remove(name)))
    }
}

impl From<&HeaderMap> for RateLimit {
    fn from(headers: &HeaderMap) -> Self {
        Self(HEADERS.map(|name| headers.get(name).cloned()))
    }
}

impl RateLimit {
    /// Adds the headers that are present to a response.
    pub(crate) fn write(self, headers: &mut HeaderMap) {
        let present = HEADERS.into_iter().zip(self.0).filter_map(|(name, value)| Some((name, value?)));
        headers.extend(present);
    }
}
