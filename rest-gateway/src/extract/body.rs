//! Reads request bodies within size, time and memory limits, and only for callers with a valid token.

use std::sync::Arc;

use admission::{GuardedBody, Reservation, SMALL, WorkPermit};
use axum::{
    body::Body,
    extract::{FromRequest, Request},
    response::Response,
};
use bytes::Bytes;
use compliance_api::{
    description::Message,
    error::Error,
    rules::{self, Check},
    v1::AffiliateInput,
    wire::MAX_ITEMS,
};
use http::{
    HeaderMap,
    header::{CONTENT_ENCODING, EXPECT},
};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use memchr::memchr_iter;
use serde::de::IgnoredAny;
use tokio::time::timeout;

use super::{
    batch::{Input, list_of, refuse_many_items},
    collect::{self, wait_to_reserve},
    request::Query,
};
use crate::{
    caller::Caller,
    content::{charset, is_file, is_json, not_a_file},
    envelope::Rejection,
    gateway::Gateway,
    limits::{DISCARD_BYTES, DISCARD_TIME, LARGE_REQUEST},
    route::Ignored,
};

/// Byte order mark, which some programs write at the beginning of text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A complete request body, from a caller with a valid token.
pub(crate) struct RequestBody {
    pub(crate) caller: Caller,
    pub(super) bytes: Bytes,
    pub(super) memory: Reservation,
    /// Set if the content type is a file type.
    pub(super) file: Option<Box<FileHead>>,
    /// Whether the content type is JSON.
    is_named_json: bool,
    /// Whether the body has no known field, except the record's ID.
    pub(crate) is_unknown: bool,
}

/// The parts of a file request, except its body.
pub(super) struct FileHead {
    /// The query, which contains the options.
    pub(super) query: Query,
    /// The charset in the content type.
    pub(super) charset: Option<String>,
}

impl FromRequest<Arc<Gateway>> for RequestBody {
    type Rejection = Rejection;

    async fn from_request(request: Request, gateway: &Arc<Gateway>) -> Result<Self, Rejection> {
        let (parts, mut body) = request.into_parts();
        let caller = match Caller::of(gateway, &parts).await {
            Ok(caller) => caller,
            Err(error) => {
                discard(gateway, &parts.headers, body).await;
                return Err(error.into());
            }
        };
        let reading = async {
            caller.permits(&parts)?;
            read(gateway, &caller, &parts.headers, &mut body).await
        };
        let Ok(read) = timeout(gateway.settings.body_timeout, reading).await else {
            return caller.accept(Err(Error::deadline_exceeded())).await;
        };
        if read.is_err() {
            discard(gateway, &parts.headers, body).await;
        }
        let (mut bytes, memory) = caller.accept(read).await?;
        let head = || Box::new(FileHead { query: Query::of(&parts), charset: charset(&parts.headers) });
        let file = is_file(&parts.headers).then(head);
        if file.is_none() && bytes.starts_with(BYTE_ORDER_MARK) {
            bytes = bytes.slice(BYTE_ORDER_MARK.len()..);
        }
        if file.is_none() && caller.record.route.is_some_and(|route| route.has_dry_run) {
            caller.accept(Query::of(&parts).refuse_options()).await?;
        }
        let is_named_json = is_json(&parts.headers);
        Ok(Self { caller, bytes, memory, file, is_named_json, is_unknown: false })
    }
}

impl RequestBody {
    /// Parses the body. Before rejecting it, asks the core whether it accepts the call.
    pub(crate) async fn read<R: Check>(
        &mut self,
        parse: impl Fn(Input<'_>) -> Result<R, Error>,
    ) -> Result<R, Rejection> {
        let request = self.request(parse).await;
        self.caller.accept(request).await
    }

    async fn request<R: Check>(&mut self, parse: impl Fn(Input<'_>) -> Result<R, Error>) -> Result<R, Error> {
        if let Some((list, _)) = list_of(R::MESSAGE) {
            self.compute(|| refuse_many_items(list, &self.bytes))?;
        }
        let _permit = match self.bytes.len() {
            ..=SMALL => None,
            _ => self.prepare(memory(R::MESSAGE, &self.bytes)).await?,
        };
        let mut ignored = Ignored::default();
        let input =
            Input { bytes: &self.bytes, memory: self.caller.gateway.settings.message_memory(), ignored: &mut ignored };
        let request = self.compute(|| {
            let request = parse(input)?;
            let violations = rules::check(&request);
            // The core checks more rules, but its status is too small for all violations of a long list.
            if compliance_api::has_all(&violations) { Ok(request) } else { Err(Error::invalid(violations)) }
        });
        let request = request.map_err(|error| self.with_advice(error));
        self.is_unknown = !ignored.has_known();
        // A body that is not valid JSON was read only in part.
        let is_invalid = request.as_ref().is_err_and(|error| error.violations.names("body"));
        if let Some(ignored) = ignored.header().filter(|_| !is_invalid) {
            // Each body is parsed only once, so the cell is empty.
            let _ = self.caller.record.ignored_fields.set(ignored);
        }
        request
    }

    /// Returns the error for a body, or advice if the body looks like a file with the wrong content type.
    fn with_advice(&self, error: Error) -> Error {
        let takes_files = self.caller.record.route.is_some_and(|route| route.file.is_some());
        let first = self.bytes.trim_ascii_start().first();
        let is_file = takes_files && !self.is_named_json && first.is_some_and(|first| !b"{[".contains(first));
        if is_file && serde_json::from_slice::<IgnoredAny>(&self.bytes).is_err() { not_a_file() } else { error }
    }

    /// Reserves memory to parse the body. A large request also waits for a permit.
    async fn prepare(&mut self, bytes: usize) -> Result<Option<WorkPermit>, Error> {
        if bytes <= LARGE_REQUEST {
            wait_to_reserve(&mut self.memory, bytes).await?;
            return Ok(None);
        }
        let enter = || self.caller.gateway.enter(self.caller.company_id());
        let mut permit = enter().await?;
        if self.memory.grow_to(bytes).is_err() {
            // Other requests may need the permit before they can release memory.
            drop(permit);
            wait_to_reserve(&mut self.memory, bytes).await?;
            permit = enter().await?;
        }
        Ok(Some(permit))
    }

    /// Runs a computation on the body, on a separate thread if the body is large.
    pub(crate) fn compute<T>(&self, compute: impl FnOnce() -> T) -> T {
        admission::compute(self.memory.bytes(), compute)
    }

    /// Returns the response. A large response holds its memory reservation until it is sent.
    pub(crate) fn respond(self, response: Response) -> Response {
        let Self { mut memory, .. } = self;
        let size = response.body().size_hint().lower() as usize;
        if size <= SMALL || memory.bytes() == 0 {
            return response;
        }
        memory.shrink_to(size);
        response.map(|body| Body::new(GuardedBody::new(body, false, memory)))
    }
}

/// Returns an upper bound on the memory for a body, its message and their processing, in bytes.
fn memory(message: &Message, body: &[u8]) -> usize {
    // Each element is copied to statement parameters, and produces a result.
    const RESULT: usize = 256;
    // A key in an update mask. Masks contain only known fields.
    const MASKED: usize = size_of::<String>() + 32;
    let element = list_of(message).map(|(_, element)| element);
    let elements = memchr_iter(b'{', body).count().min(MAX_ITEMS);
    let is_masked = element.is_some_and(|element| element.field("update_mask").is_some());
    let keys = if is_masked {
        memchr_iter(b':', body).count().min(elements * AffiliateInput::MESSAGE.fields.len())
    } else {
        0
    };
    body.len() * 4 + elements * (element.map_or(0, |element| element.size) + RESULT) + keys * MASKED
}

/// Reads a whole body, and reserves memory for it.
async fn read(
    gateway: &Gateway,
    caller: &Caller,
    headers: &HeaderMap,
    body: &mut Body,
) -> Result<(Bytes, Reservation), Error> {
    let mut memory = caller.memory();
    let bytes = collect::read(body, is_gzip(headers)?, gateway.settings.body_limit, &mut memory).await?;
    Ok((bytes, memory))
}

/// Returns whether a body is compressed with gzip, or an error for any other encoding.
fn is_gzip(headers: &HeaderMap) -> Result<bool, Error> {
    let mut encodings = headers.get_all(CONTENT_ENCODING).iter();
    match (encodings.next().map(|encoding| encoding.to_str().unwrap_or("?")), encodings.next()) {
        (None | Some("" | "identity"), None) => Ok(false),
        (Some(encoding), None) if ["gzip", "x-gzip"].iter().any(|gzip| gzip.eq_ignore_ascii_case(encoding)) => Ok(true),
        _ => Err(Error::encoding_unsupported()),
    }
}

/// Reads and discards a rejected body, within limits.
async fn discard(gateway: &Gateway, headers: &HeaderMap, mut body: Body) {
    // A client that waits for `100 Continue` has sent nothing yet.
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
    // Respond even if the body does not end before the timeout.
    let _ = timeout(DISCARD_TIME, reading).await;
}
