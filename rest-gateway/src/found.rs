//! Responses with records. Large ones are written away from the threads that serve everybody, and hold memory until they
//! were sent: a client that does not read keeps them.

use admission::{HoldingBody, ResponseMemory, SMALL, compute};
use axum::{body::Body, response::Response};
use http::StatusCode;
use http_body::Body as _;
use serde::Serialize;

use crate::{
    caller::{Caller, HeldByCore},
    envelope::{Envelope, RateLimit, respond},
    error::Refusal,
};

/// The response to a read. `bytes` is what the records take at least.
pub(crate) fn respond_found<T: Serialize + Sync>(
    caller: &Caller,
    rate_limit: RateLimit,
    held: HeldByCore,
    bytes: usize,
    found: &Envelope<'_, T>,
) -> Result<Response, Refusal> {
    respond_holding(caller, held, bytes, || respond(StatusCode::OK, rate_limit, found))
}

/// A response that `make` makes of records.
pub(crate) fn respond_holding(
    caller: &Caller,
    HeldByCore { memory, permit }: HeldByCore,
    bytes: usize,
    make: impl FnOnce() -> Response,
) -> Result<Response, Refusal> {
    let bytes = memory.as_ref().map_or(0, |memory| memory.bytes()).max(bytes);
    let response = compute(bytes, make);
    // The company's next work may begin in the core.
    drop(permit);
    if bytes.max(size(&response)) <= SMALL { Ok(response) } else { holding(caller, response, memory) }
}

/// A response that holds what it takes until it was sent. Refused if so much is not free.
fn holding(caller: &Caller, response: Response, memory: Option<ResponseMemory>) -> Result<Response, Refusal> {
    let mut more = caller.memory();
    if let Err(full) = more.grow(size(&response).saturating_sub(memory.as_ref().map_or(0, |memory| memory.bytes()))) {
        return Err(Refusal { error: full.into(), rate_limit: response.headers().into() });
    }
    Ok(response.map(|body| Body::new(HoldingBody::new(body, false, (memory, more)))))
}

fn size(response: &Response) -> usize {
    response.body().size_hint().lower() as usize
}
