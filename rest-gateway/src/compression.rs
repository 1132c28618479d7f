//! Compresses responses.

use std::{convert::Infallible, future::ready};

use admission::{GuardedBody, Memory};
use axum::{
    body::{Body, HttpBody as _},
    response::Response,
};
use http::{
    HeaderValue,
    header::{ACCEPT_ENCODING, CONTENT_ENCODING, ETAG},
};
use tower::{Layer as _, ServiceExt as _, service_fn};
use tower_http::{
    CompressionLevel,
    compression::{CompressionLayer, predicate::SizeAbove},
};

use crate::{
    head,
    limits::{ENCODER_MEMORY, SMALLEST_COMPRESSED},
};

/// Marks an endless response. The gateway records it when it begins, and does not compress it, because compression would delay it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Endless;

/// Compresses a response to a company with gzip, if the client accepts it.
///
/// Public responses are short or already compressed. Compressing them would let callers without a token use up the memory.
pub(crate) async fn compress(memory: &Memory, company: i64, accepted: HeaderValue, response: Response) -> Response {
    if response.extensions().get::<Endless>().is_some() {
        return response;
    }
    if response.body().size_hint().exact().is_some_and(|size| size < SMALLEST_COMPRESSED) {
        return response;
    }
    let mut memory = memory.reservation(Some(company));
    if memory.grow(ENCODER_MEMORY).is_err() {
        // If no memory is available, the response stays uncompressed.
        return response;
    }
    let status = response.status();
    let mut response = Box::pin(encode(accepted, response)).await;
    // The layer returns 406 if the client accepts no encoding, even after a write.
    *response.status_mut() = status;
    if let Some(coding) = response.headers().get(CONTENT_ENCODING) {
        let tag = response.headers().get(ETAG).and_then(|tag| head::of_coded(tag, coding));
        if let Some(tag) = tag {
            response.headers_mut().insert(ETAG, tag);
        }
        response.map(|body| Body::new(GuardedBody::new(body, false, memory)))
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
