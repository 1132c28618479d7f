//! Around every request: its ID, its line in the log, and the net under a handler that panics.

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    panic::AssertUnwindSafe,
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use axum::{
    extract::{MatchedPath, Request},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use futures::FutureExt as _;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::error::Refusal;

/// Names a request, in both directions and in both layers' logs.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest request ID that is taken from a client.
const LONGEST_ID: usize = 128;

/// Gives the request an ID, answers a panic with the fixed server error, and writes one line.
pub(crate) async fn observe(mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request_id(request.headers());
    request.headers_mut().insert(REQUEST_ID, id.clone());
    let method = request.method().clone();
    let path = request.extensions().get::<MatchedPath>().cloned();

    let mut response = match AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => response,
        // The panic's own text is on the standard error already; it is not for callers.
        Err(_) => Refusal::internal().into_response(),
    };

    let status = response.status();
    let (code, path) = (status.as_u16(), path.as_ref().map_or("(unknown path)", MatchedPath::as_str));
    let (id_text, elapsed) = (id.to_str().unwrap_or_default(), started.elapsed());
    if code == 500 {
        tracing::error!(%method, path, status = code, ?elapsed, request_id = id_text, "request failed");
    } else if status.is_server_error() {
        tracing::warn!(%method, path, status = code, ?elapsed, request_id = id_text, "request failed");
    } else {
        // At the rates this serves a line for each good request is for those who ask for it.
        tracing::debug!(%method, path, status = code, ?elapsed, request_id = id_text, "request");
    }
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

/// The client's own ID when it can be trusted in a log, else a new one.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    match headers.get(REQUEST_ID) {
        Some(id) if (1..=LONGEST_ID).contains(&id.len()) && id.as_bytes().iter().all(u8::is_ascii_graphic) => {
            id.clone()
        }
        _ => new_id(),
    }
}

/// Unique in this process, and as good as unique among processes, which count from anywhere: IDs find lines in logs, they
/// guard nothing.
fn new_id() -> HeaderValue {
    static NEXT: LazyLock<AtomicU64> = LazyLock::new(|| AtomicU64::new(RandomState::new().build_hasher().finish()));
    HeaderValue::from(NEXT.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};

    use super::{REQUEST_ID, request_id};

    #[test]
    fn only_a_sane_id_is_taken() {
        let taken = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(REQUEST_ID, HeaderValue::from_bytes(value.as_bytes()).unwrap());
            request_id(&headers) == value
        };
        assert!(taken("abc-1"));
        for insane in ["", "a b", "é", &"x".repeat(129)] {
            assert!(!taken(insane), "{insane}");
        }
        assert_ne!(request_id(&HeaderMap::new()), request_id(&HeaderMap::new()));
    }
}
