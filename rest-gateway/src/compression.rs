//! Compressed responses, and the encodings that clients name.

use std::{convert::Infallible, future::ready, sync::Arc};

use admission::HoldingBody;
use axum::{
    body::{Body, HttpBody as _},
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use compliance_api::error::{Error, Reason};
use http::{
    HeaderMap, HeaderValue, Method,
    header::{ACCEPT_ENCODING, CONTENT_ENCODING},
};
use tower::{Layer as _, ServiceExt as _, service_fn};
use tower_http::{
    CompressionLevel,
    compression::{CompressionLayer, predicate::SizeAbove},
};

use crate::{exchange::Exchange, gateway::Gateway};

/// A response of fewer bytes is sent as it is: its head is as long.
pub(crate) const SMALLEST: u64 = 1024;
/// What the compression of one response takes, of whatever kind, in bytes.
const ENCODER: usize = 2 << 20;

/// Compresses the response to a caller as the client accepts it: with zstd, Brotli or gzip. What is for everybody is short, or a
/// document that is there in gzip already: otherwise anybody could take the memory that compression needs.
pub(crate) async fn compress(State(gateway): State<Arc<Gateway>>, request: Request, next: Next) -> Response {
    let accepted = request.headers().get(ACCEPT_ENCODING).cloned();
    let Some(accepted) = accepted.filter(|_| request.method() != Method::HEAD) else { return next.run(request).await };
    let exchange = request.extensions().get::<Arc<Exchange>>().cloned();
    let response = next.run(request).await;
    if response.body().size_hint().exact().is_some_and(|size| size < SMALLEST) {
        return response;
    }
    let Some(company) = exchange.and_then(|exchange| exchange.company()) else { return response };
    let mut memory = gateway.memory.reservation(Some(company));
    if memory.grow(ENCODER).is_err() {
        // It is correct as it is, only longer.
        return response;
    }
    let response = encode(accepted, response).await;
    if response.headers().contains_key(CONTENT_ENCODING) {
        response.map(|body| Body::new(HoldingBody::new(body, false, memory)))
    } else {
        response
    }
}

/// The layer compresses what a service responds to a request, so the response is given to it as a service.
async fn encode(accepted: HeaderValue, response: Response) -> Response {
    let mut request = http::Request::new(());
    request.headers_mut().insert(ACCEPT_ENCODING, accepted);
    let mut response = Some(response);
    let service =
        service_fn(move |_: http::Request<()>| ready(Ok::<_, Infallible>(response.take().unwrap_or_default())));
    let layer = CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(SizeAbove::new(SMALLEST));
    match layer.layer(service).oneshot(request).await {
        Ok(response) => response.map(Body::new),
        Err(never) => match never {},
    }
}

/// Whether the client takes gzip.
pub(crate) fn accepts_gzip(request: &HeaderMap) -> bool {
    let accepted = request.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut any_other = false;
    for coding in accepted.flat_map(|codings| codings.split(',')) {
        let mut parts = coding.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        // Without a quality it is 1.
        let quality = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        let is_accepted = quality.is_none_or(|quality| quality.parse().is_ok_and(|quality: f32| quality > 0.0));
        if is_gzip(name) {
            return is_accepted;
        }
        if name == "*" {
            any_other = is_accepted;
        }
    }
    any_other
}

/// Whether this names gzip.
fn is_gzip(coding: &str) -> bool {
    coding.eq_ignore_ascii_case("gzip") || coding.eq_ignore_ascii_case("x-gzip")
}

/// Whether a request's body is in gzip. Refused if it is in anything else.
pub(crate) fn body_is_gzip(request: &HeaderMap) -> Result<bool, Error> {
    let mut encodings = request.get_all(CONTENT_ENCODING).iter();
    match (encodings.next().map(|encoding| encoding.to_str().unwrap_or("?")), encodings.next()) {
        (None | Some("" | "identity"), None) => Ok(false),
        (Some(encoding), None) if is_gzip(encoding) => Ok(true),
        _ => Err(unsupported_encoding()),
    }
}

/// The body has an encoding that this service does not know.
pub(crate) fn unsupported_encoding() -> Error {
    Error::new(Reason::EncodingUnsupported, "The Content-Encoding of the body must be gzip, or none.")
}
