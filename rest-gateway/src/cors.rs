//! Web pages of other origins that may call the interface (CORS, as the Fetch standard describes it).

use std::time::Duration;

use http::{
    HeaderName, HeaderValue, Method,
    header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER},
};
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::observe::REQUEST_ID;

/// How long a browser may remember what it may send.
const MAX_AGE: Duration = Duration::from_hours(1);

/// Lets pages of these origins call the interface, `*` being any. `None` if there are none. Tokens are sent by the page, never
/// by the browser itself, so no credentials are allowed.
pub(crate) fn cross_origin(origins: &[HeaderValue]) -> Option<CorsLayer> {
    if origins.is_empty() {
        return None;
    }
    let is_any = origins.iter().any(|origin| origin == "*");
    let origins = if is_any { AllowOrigin::any() } else { AllowOrigin::list(origins.iter().cloned()) };
    let limits = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"].map(HeaderName::from_static);
    let layer = CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::GET, Method::POST, Method::PUT])
        .allow_headers([AUTHORIZATION, CONTENT_TYPE, REQUEST_ID])
        .expose_headers([REQUEST_ID, LOCATION, RETRY_AFTER].into_iter().chain(limits).collect::<Vec<_>>())
        .max_age(MAX_AGE);
    Some(layer)
}
