//! Responses with records. Large ones are written away from the threads that serve everybody, and hold memory until they
//! were sent: a client that does not read keeps them.

use admission::{HoldingBody, ResponseMemory, compute};
use axum::{body::Body, response::Response};
use http::StatusCode;
use http_body::Body as _;
use serde::Serialize;

use crate::{
    caller::Caller,
    envelope::{Envelope, respond},
    error::Refusal,
    rate_limit::RateLimit,
};

/// A response of at most this size is not counted: the connections bound their number.
const SMALL: usize = 16 << 10;

/// The response to a read. `memory` is what the core has reserved for the records, `bytes` what they take at least.
pub(crate) fn respond_found<T: Serialize + Sync>(
    caller: &Caller,
    rate_limit: RateLimit,
    mut memory: Option<ResponseMemory>,
    bytes: usize,
    found: &Envelope<'_, T>,
) -> Result<Response, Refusal> {
    let reserved = memory.as_ref().map_or(0, ResponseMemory::bytes);
    if reserved.max(bytes) <= SMALL {
        let response = respond(StatusCode::OK, rate_limit, found);
        release(&mut memory);
        return if size(&response) <= SMALL { Ok(response) } else { holding(caller, response, memory) };
    }
    let write = || respond(StatusCode::OK, rate_limit, found);
    let response = compute(reserved.max(bytes), write);
    release(&mut memory);
    holding(caller, response, memory)
}

/// The response is written: the company's next work may begin in the core.
fn release(memory: &mut Option<ResponseMemory>) {
    if let Some(memory) = memory {
        memory.release_slot();
    }
}

/// A response that holds what it takes until it was sent. Refused if that is not to be had.
fn holding(caller: &Caller, response: Response, memory: Option<ResponseMemory>) -> Result<Response, Refusal> {
    let mut more = caller.memory();
    if let Err(full) = more.grow(size(&response).saturating_sub(memory.as_ref().map_or(0, ResponseMemory::bytes))) {
        return Err(Refusal { error: full.into(), rate_limit: response.headers().into() });
    }
    Ok(response.map(|body| Body::new(HoldingBody::new(body, false, (memory, more)))))
}

fn size(response: &Response) -> usize {
    response.body().size_hint().lower() as usize
}
