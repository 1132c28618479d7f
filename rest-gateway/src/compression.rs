//! Compressed responses, and request bodies in gzip.

use std::{convert::Infallible, future::ready, io, sync::Arc};

use admission::HoldingBody;
use async_compression::tokio::bufread::GzipDecoder;
use axum::{
    body::{Body, HttpBody as _},
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use compliance_api::error::{Error, Reason};
use futures::TryStreamExt as _;
use http::{
    HeaderMap, HeaderValue, Method,
    header::{ACCEPT_ENCODING, CONTENT_ENCODING},
};
use tokio_util::io::{ReaderStream, StreamReader};
use tower::{Layer as _, ServiceExt as _, service_fn};
use tower_http::{
    CompressionLevel,
    compression::{CompressionLayer, predicate::SizeAbove},
};

use crate::{exchange::Exchange, gateway::Gateway};

/// A response of fewer bytes is sent as it is: its head is as long.
const SMALLEST: u64 = 1024;
/// What the compression of one response takes, of whatever kind, in bytes.
const ENCODER: usize = 2 << 20;
/// How much is decoded at once, in bytes.
const DECODED: usize = 64 << 10;

/// Compresses the response as the client accepts it: with zstd, Brotli or gzip.
pub(crate) async fn compress(State(gateway): State<Arc<Gateway>>, request: Request, next: Next) -> Response {
    let accepted = request.headers().get(ACCEPT_ENCODING).cloned();
    let Some(accepted) = accepted.filter(|_| request.method() != Method::HEAD) else { return next.run(request).await };
    let exchange = request.extensions().get::<Arc<Exchange>>().cloned();
    let response = next.run(request).await;
    if response.body().size_hint().exact().is_some_and(|size| size < SMALLEST) {
        return response;
    }
    let mut memory = gateway.memory.reservation(exchange.and_then(|exchange| exchange.company()));
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

/// The body as it was before its `Content-Encoding`. Its reader bounds what it becomes.
pub(crate) fn decoded(headers: &HeaderMap, body: Body) -> Result<Body, (Error, Body)> {
    let mut encodings = headers.get_all(CONTENT_ENCODING).iter();
    let encoding = match (encodings.next().map(HeaderValue::as_bytes), encodings.next()) {
        (None | Some(b"" | b"identity"), None) => return Ok(body),
        (Some(encoding), None) => encoding,
        _ => return Err((unsupported_encoding(), body)),
    };
    if !(encoding.eq_ignore_ascii_case(b"gzip") || encoding.eq_ignore_ascii_case(b"x-gzip")) {
        return Err((unsupported_encoding(), body));
    }
    let reader = StreamReader::new(body.into_data_stream().map_err(io::Error::other));
    let mut decoder = GzipDecoder::new(reader);
    decoder.multiple_members(true);
    Ok(Body::from_stream(ReaderStream::with_capacity(decoder, DECODED)))
}

/// The body has an encoding that this service does not know.
pub(crate) fn unsupported_encoding() -> Error {
    Error::new(Reason::EncodingUnsupported, "The Content-Encoding of the body must be gzip, or none.")
}
