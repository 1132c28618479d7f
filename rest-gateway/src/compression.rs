//! Compressed responses, and the encodings of requests.

use std::{convert::Infallible, future::ready};

use admission::{HoldingBody, Memory};
use axum::{
    body::{Body, HttpBody as _},
    extract::Request,
    response::Response,
};
use compliance_api::error::Error;
use http::{
    HeaderMap, HeaderValue, Method,
    header::{ACCEPT_ENCODING, CONTENT_ENCODING, ETAG},
};
use tower::{Layer as _, ServiceExt as _, service_fn};
use tower_http::{
    CompressionLevel,
    compression::{CompressionLayer, predicate::SizeAbove},
};

use crate::{
    limits::{ENCODER_MEMORY, SMALLEST_COMPRESSED},
    stream::Endless,
    tags,
};

/// Returns the encodings that the client accepts, unless the response has no body.
pub(crate) fn accepted_encodings(request: &Request) -> Option<HeaderValue> {
    request.headers().get(ACCEPT_ENCODING).filter(|_| request.method() != Method::HEAD).cloned()
}

/// Compresses the response to a company with an accepted encoding: zstd, Brotli or gzip.
///
/// Public responses are short or compressed already. Otherwise, callers without a token could use up the memory for compression.
pub(crate) async fn compress(
    memory: &Memory,
    company: Option<i64>,
    accepted: Option<HeaderValue>,
    response: Response,
) -> Response {
    let (Some(company), Some(accepted)) = (company, accepted) else { return response };
    if response.extensions().get::<Endless>().is_some() {
        return response;
    }
    if response.body().size_hint().exact().is_some_and(|size| size < SMALLEST_COMPRESSED) {
        return response;
    }
    let mut memory = memory.reservation(Some(company));
    if memory.grow(ENCODER_MEMORY).is_err() {
        // The response stays uncompressed.
        return response;
    }
    let status = response.status();
    let mut response = Box::pin(encode(accepted, response)).await;
    // The layer returns 406 if the client accepts no encoding, even after a write.
    *response.status_mut() = status;
    if let Some(coding) = response.headers().get(CONTENT_ENCODING) {
        let tag = response.headers().get(ETAG).and_then(|tag| tags::of_coded(tag, coding));
        if let Some(tag) = tag {
            response.headers_mut().insert(ETAG, tag);
        }
        response.map(|body| Body::new(HoldingBody::new(body, false, memory)))
    } else {
        response
    }
}

/// Runs the compression layer around a service that returns the response.
async fn encode(accepted: HeaderValue, response: Response) -> Response {
    let mut request = http::Request::new(());
    request.headers_mut().insert(ACCEPT_ENCODING, accepted);
    let mut response = Some(response);
    let service =
        service_fn(move |_: http::Request<()>| ready(Ok::<_, Infallible>(response.take().unwrap_or_default())));
    let layer =
        CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(SizeAbove::new(SMALLEST_COMPRESSED));
    match layer.layer(service).oneshot(request).await {
        Ok(response) => response.map(Body::new),
        Err(never) => match never {},
    }
}

/// Returns whether a request body is in gzip, or an error for any other encoding.
pub(crate) fn body_is_gzip(request: &HeaderMap) -> Result<bool, Error> {
    let mut encodings = request.get_all(CONTENT_ENCODING).iter();
    match (encodings.next().map(|encoding| encoding.to_str().unwrap_or("?")), encodings.next()) {
        (None | Some("" | "identity"), None) => Ok(false),
        (Some(encoding), None) if ["gzip", "x-gzip"].iter().any(|gzip| gzip.eq_ignore_ascii_case(encoding)) => Ok(true),
        _ => Err(Error::encoding_unsupported()),
    }
}
