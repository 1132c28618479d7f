//! Bodies of requests, read whole within limits of size, time and memory, and only for a caller with a valid token.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::{FromRequest, Request},
};
use bytes::{Bytes, BytesMut};
use compliance_api::error::Error;
use http::{HeaderMap, header::EXPECT};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use tokio::{sync::OwnedSemaphorePermit, time::timeout};

use super::{
    Form, Parse,
    body_violations::{not_json, too_large},
};
use crate::{
    caller::Caller,
    error::Refusal,
    gateway::{Gateway, KIB},
};

/// A body of more than this is parsed away from the threads that serve everybody.
const LARGE: usize = 256 * KIB;
/// How long a refused body is still read. The client could otherwise find the connection reset before it sees the
/// response.
const DISCARD_TIME: Duration = Duration::from_secs(5);
/// How much of a refused body is read at most, however few bytes are allowed; twice as many as are allowed if that is
/// more.
const DISCARD_BYTES: usize = 8 << 20;

/// The body of a request, read whole, of a caller whose token was accepted.
pub(crate) struct RequestBody {
    pub(crate) caller: Caller,
    bytes: Bytes,
    /// What the messages of the body may take in memory, in bytes.
    message_memory: usize,
    // Held until the response is ready.
    _memory: Option<OwnedSemaphorePermit>,
    _large: Option<OwnedSemaphorePermit>,
}

impl FromRequest<Arc<Gateway>> for RequestBody {
    type Rejection = Refusal;

    /// Checks the token, then reads the body.
    async fn from_request(request: Request, gateway: &Arc<Gateway>) -> Result<Self, Refusal> {
        let (parts, mut body) = request.into_parts();
        let caller = match Caller::new(gateway, &parts.headers) {
            Ok(caller) => caller,
            Err(error) => {
                discard(gateway, &parts.headers, body).await;
                return Err(Error::from(error).into());
            }
        };
        let Ok(read) = timeout(gateway.settings.body_timeout, read(gateway, &mut body)).await else {
            return caller.accept(Err(Error::deadline_exceeded())).await;
        };
        if read.is_err() {
            discard(gateway, &parts.headers, body).await;
        }
        let (bytes, memory) = caller.accept(read).await?;
        let large = caller.accept(large_permit(gateway, bytes.len()).await).await?;
        let message_memory = gateway.settings.message_memory();
        Ok(Self { caller, bytes, message_memory, _memory: memory, _large: large })
    }
}

impl RequestBody {
    /// Reads the body as a form, or refuses it.
    pub(crate) async fn read<F: Form>(&self, parse: impl Parse<F>) -> Result<F, Refusal> {
        self.caller.accept(self.parsed(parse).await).await
    }

    /// Adds all violations to the core's refusal of the body if the core could not send as many. The message is gone by
    /// then, so it is parsed from the body again, which costs nothing for valid requests.
    pub(crate) async fn with_all_violations<T, F: Form>(
        &self,
        result: Result<T, Refusal>,
        parse: impl Parse<F>,
    ) -> Result<T, Refusal> {
        let mut refusal = match result {
            Err(refusal) if refusal.error.violations_total > refusal.error.violations.len() => refusal,
            result => return result,
        };
        match self.parsed(move |body, memory| parse(body, memory).map(|form| form.violations())).await {
            Ok(violations) if !violations.is_empty() => refusal.error = Error::invalid(violations),
            // The core knows more than the rules do, so its own violations have to do.
            _ => {}
        }
        Err(refusal)
    }

    async fn parsed<T: Send + 'static>(
        &self,
        parse: impl Fn(&[u8], usize) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let memory = self.message_memory;
        if self.bytes.len() <= LARGE {
            return parse(&self.bytes, memory);
        }
        let bytes = self.bytes.clone();
        tokio::task::spawn_blocking(move || parse(&bytes, memory)).await.unwrap_or_else(|error| {
            tracing::error!(%error, "a body could not be parsed");
            Err(Error::internal())
        })
    }
}

/// The permit that a large body needs; `None` for a small one.
async fn large_permit(gateway: &Gateway, length: usize) -> Result<Option<OwnedSemaphorePermit>, Error> {
    if length <= LARGE {
        return Ok(None);
    }
    match timeout(gateway.settings.request_timeout, Arc::clone(&gateway.large_requests).acquire_owned()).await {
        Ok(Ok(permit)) => Ok(Some(permit)),
        _ => Err(Error::overloaded()),
    }
}

/// Reads a body whole, with the memory that it takes reserved.
async fn read(gateway: &Gateway, body: &mut Body) -> Result<(Bytes, Option<OwnedSemaphorePermit>), Error> {
    let limit = gateway.settings.body_limit;
    // The announced size; a body that announces none is counted as it grows.
    let announced = body.size_hint().lower();
    if announced > limit as u64 {
        return Err(too_large());
    }
    let mut memory = None;
    reserve(gateway, &mut memory, announced as usize)?;

    let mut bytes = BytesMut::with_capacity(announced as usize);
    while let Some(frame) = body.frame().await {
        // An incomplete body has no client left to respond to.
        let Ok(data) = frame.map_err(|_| not_json())?.into_data() else { continue };
        let length = bytes.len() + data.len();
        if length > limit {
            return Err(too_large());
        }
        reserve(gateway, &mut memory, length)?;
        bytes.extend_from_slice(&data);
    }
    Ok((bytes.freeze(), memory))
}

/// Reserves memory for `bytes` of one body in all. Small bodies need none: the connections bound their number.
fn reserve(gateway: &Gateway, held: &mut Option<OwnedSemaphorePermit>, bytes: usize) -> Result<(), Error> {
    const SMALL: usize = 16 * KIB;
    let wanted = if bytes <= SMALL { 0 } else { bytes.div_ceil(KIB) };
    let missing = wanted.saturating_sub(held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits));
    if missing > 0 {
        let missing = u32::try_from(missing).map_err(|_| too_large())?;
        let more = Arc::clone(&gateway.body_memory).try_acquire_many_owned(missing).map_err(|_| Error::overloaded())?;
        match held {
            Some(held) => held.merge(more),
            None => *held = Some(more),
        }
    }
    Ok(())
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
