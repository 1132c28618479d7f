//! Bodies of requests, read whole within limits of size, time and memory, and only for a caller with a valid token.

use std::sync::Arc;

use admission::{HoldingBody, MEMORY_WAIT, Reservation, SMALL, WorkPermit};
use axum::{
    body::Body,
    extract::{FromRequest, Request},
    response::Response,
};
use bytes::Bytes;
use compliance_api::{
    client::Clients,
    description::{Kind, Message},
    error::Error,
    rules::{self, Check},
    wire::MAX_ITEMS,
};
use http::{HeaderMap, header::EXPECT};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use memchr::memchr_iter;
use tokio::time::timeout;

use super::{collect::Collected, inflate::inflate};
use crate::{
    caller::Caller,
    compression::body_is_gzip,
    envelope::RateLimit,
    error::Refusal,
    gateway::Gateway,
    ignored::Ignored,
    limits::{DISCARD_BYTES, DISCARD_TIME, LARGE_REQUEST},
    request_record::RequestRecord,
};

/// A byte order mark, with which some programs begin a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The body of a request, read whole, of a caller whose token was accepted.
pub(crate) struct RequestBody {
    pub(crate) caller: Caller,
    bytes: Bytes,
    memory: Reservation,
    record: Option<Arc<RequestRecord>>,
}

impl FromRequest<Arc<Gateway>> for RequestBody {
    type Rejection = Refusal;

    async fn from_request(request: Request, gateway: &Arc<Gateway>) -> Result<Self, Refusal> {
        let (parts, mut body) = request.into_parts();
        let caller = match Caller::of(gateway, &parts).await {
            Ok(caller) => caller,
            Err(error) => {
                discard(gateway, &parts.headers, body).await;
                return Err(Error::from(error).into());
            }
        };
        if let Err(error) = caller.permits(&parts) {
            discard(gateway, &parts.headers, body).await;
            return caller.accept(Err(error)).await;
        }
        let reading = timeout(gateway.settings.body_timeout, read(gateway, &caller, &parts.headers, &mut body));
        let Ok(read) = reading.await else {
            return caller.accept(Err(Error::deadline_exceeded())).await;
        };
        if read.is_err() {
            discard(gateway, &parts.headers, body).await;
        }
        let (mut bytes, memory) = caller.accept(read).await?;
        if bytes.starts_with(BYTE_ORDER_MARK) {
            bytes = bytes.slice(BYTE_ORDER_MARK.len()..);
        }
        let record = parts.extensions.get().cloned();
        Ok(Self { caller, bytes, memory, record })
    }
}

impl RequestBody {
    pub(crate) async fn read<F: Check>(
        &mut self,
        parse: impl Fn(&[u8], usize, &mut Ignored) -> Result<F, Error>,
    ) -> Result<F, Refusal> {
        let form = self.form(parse).await;
        self.caller.accept(form).await
    }

    async fn form<F: Check>(
        &mut self,
        parse: impl Fn(&[u8], usize, &mut Ignored) -> Result<F, Error>,
    ) -> Result<F, Error> {
        let _permit = match self.bytes.len() {
            ..=SMALL => None,
            _ => self.prepare(memory(F::MESSAGE, &self.bytes)).await?,
        };
        let mut ignored = Ignored::default();
        let form = self.parsed(|body, memory| parse(body, memory, &mut ignored));
        if let (Some(record), Some(ignored)) = (&self.record, ignored.header()) {
            // A body is read once.
            let _ = record.ignored_fields.set(ignored);
        }
        form
    }

    /// Waits until a request that takes so much memory may be read, and holds the memory.
    async fn prepare(&mut self, bytes: usize) -> Result<Option<WorkPermit>, Error> {
        if bytes <= LARGE_REQUEST {
            self.memory.wait_to_grow(bytes, MEMORY_WAIT).await?;
            return Ok(None);
        }
        let enter = || self.caller.gateway.enter(self.caller.company_id());
        let mut permit = enter().await?;
        if self.memory.grow_to(bytes).is_err() {
            // A body that holds the memory may need a permit to be inflated to its end.
            drop(permit);
            self.memory.wait_to_grow(bytes, MEMORY_WAIT).await?;
            permit = enter().await?;
        }
        Ok(Some(permit))
    }

    /// Calls an operation of the core.
    pub(crate) async fn call<'a, M, R, F>(
        &'a self,
        message: M,
        operation: impl FnOnce(&'a Clients, tonic::Request<M>) -> F,
    ) -> Result<(R, RateLimit), Refusal>
    where
        F: Future<Output = Result<tonic::Response<R>, tonic::Status>>,
    {
        let (message, rate_limit, _) = self.caller.call(message, operation).await?;
        Ok((message, rate_limit))
    }

    /// Adds the other violations to the core's refusal of the body if the core could not send as many. The message is gone
    /// by then, so it is parsed from the body again, which costs nothing for valid requests.
    pub(crate) fn with_all_violations<T, F: Check>(
        &self,
        result: Result<T, Refusal>,
        parse: impl Fn(&[u8], usize, &mut Ignored) -> Result<F, Error>,
    ) -> Result<T, Refusal> {
        let mut refusal = match result {
            Err(refusal) if refusal.error.violations.total() > refusal.error.violations.len() => refusal,
            result => return result,
        };
        let again = |body: &_, memory| parse(body, memory, &mut Ignored::default()).map(|form| rules::check(&form));
        match self.parsed(again) {
            Ok(violations) if !violations.is_empty() => refusal.error = Error::invalid(violations),
            // The core knows more than the rules do, so its own violations have to do.
            _ => {}
        }
        Err(refusal)
    }

    fn parsed<T>(&self, parse: impl FnOnce(&[u8], usize) -> Result<T, Error>) -> Result<T, Error> {
        let memory = self.caller.gateway.settings.message_memory();
        self.compute(|| parse(&self.bytes, memory))
    }

    /// Runs a computation on what the body holds or has led to: away from the threads that serve everybody if that takes long.
    pub(crate) fn compute<T>(&self, compute: impl FnOnce() -> T) -> T {
        admission::compute(self.memory.bytes(), compute)
    }

    /// The response to the request. A large one holds its memory until it was sent.
    pub(crate) fn respond(self, response: Response) -> Response {
        let Self { mut memory, .. } = self;
        let size = response.body().size_hint().lower() as usize;
        if size <= SMALL || memory.bytes() == 0 {
            return response;
        }
        memory.shrink_to(size);
        response.map(|body| Body::new(HoldingBody::new(body, false, memory)))
    }
}

/// What a body, its message and the work with it may take in memory, in bytes: an upper bound.
fn memory(message: &Message, body: &[u8]) -> usize {
    // Each element is copied into the parameters of a statement, and has a result.
    const RESULT: usize = 256;
    // What a key takes that a mask names.
    const MASKED: usize = size_of::<String>() + 32;
    let element = message.fields.iter().find_map(|field| match field.kind {
        Kind::Message(element) if field.is_list => Some(element),
        _ => None,
    });
    let elements = memchr_iter(b'{', body).count().min(MAX_ITEMS);
    let is_masked = element.is_some_and(|element| element.field("update_mask").is_some());
    let keys = if is_masked { memchr_iter(b':', body).count() } else { 0 };
    body.len() * 4 + elements * (element.map_or(0, |element| element.size) + RESULT) + keys * MASKED
}

/// Reads a body whole, with the memory that it takes reserved.
async fn read(
    gateway: &Gateway,
    caller: &Caller,
    headers: &HeaderMap,
    body: &mut Body,
) -> Result<(Bytes, Reservation), Error> {
    let nothing = || Collected::new(caller.memory(), gateway.settings.body_limit);
    let is_gzip = body_is_gzip(headers)?;
    let mut arrived = nothing();
    arrived.read(body).await?;
    if !is_gzip {
        return Ok(arrived.finish());
    }
    let mut inflated = nothing();
    inflate(arrived.bytes(), &mut inflated, || gateway.enter(caller.company_id())).await?;
    Ok(inflated.finish())
}

/// Reads a refused body without keeping it, within limits.
async fn discard(gateway: &Gateway, headers: &HeaderMap, mut body: Body) {
    // A client that waits for `100 Continue` has written nothing yet.
    if body.is_end_stream() || headers.contains_key(EXPECT) {
        return;
    }
    let most = gateway.settings.body_limit.saturating_mul(2).max(DISCARD_BYTES);
    let reading = async {
        let mut length = 0;
        while let Some(Ok(frame)) = body.frame().await {
            length += frame.data_ref().map_or(0, Bytes::len);
            if length > most {
                break;
            }
        }
    };
    // The response follows, whether the body ends in time or not.
    let _ = timeout(DISCARD_TIME, reading).await;
}
