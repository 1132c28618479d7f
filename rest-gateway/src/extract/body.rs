//! Bodies of requests: read whole, within limits of size, time and memory, and only for a caller who may.

use std::{sync::Arc, time::Duration};

use axum::{body::Body, extract::Request};
use bytes::{Bytes, BytesMut};
use compliance_api::error::{Error, Reason};
use http::{HeaderMap, header::EXPECT, request::Parts};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{timeout, timeout_at},
};

use super::{
    Form, Parse,
    body_violations::{not_json, too_large},
};
use crate::{
    context::Caller,
    error::Refusal,
    gateway::{Gateway, KIB},
};

/// A body of more than this is worked on away from the threads that serve everybody.
const LARGE: usize = 256 * KIB;
/// A refused body is still read for so long: a client that writes it would otherwise find the connection reset before
/// it sees why.
const DISCARD_TIME: Duration = Duration::from_secs(5);
/// Up to so many bytes, however few are allowed, and up to twice as many as are.
const DISCARD_BYTES: usize = 8 << 20;

/// A request with a body, of a caller whose token was accepted.
pub(crate) struct Entered {
    pub(crate) caller: Caller,
    pub(crate) parts: Parts,
    gateway: Arc<Gateway>,
    body: Bytes,
    // Held until the answer is there.
    _memory: Option<OwnedSemaphorePermit>,
    _large: Option<OwnedSemaphorePermit>,
}

/// Checks the token and reads the body.
pub(crate) async fn enter(gateway: &Arc<Gateway>, request: Request) -> Result<Entered, Refusal> {
    let (parts, mut body) = request.into_parts();
    let caller = match Caller::new(gateway, &parts.headers) {
        Ok(caller) => caller,
        Err(error) => {
            discard(gateway, &parts.headers, body).await;
            return Err(Error::from(error).into());
        }
    };
    let deadline = tokio::time::Instant::now() + gateway.settings.body_timeout;
    let (bytes, memory) = match timeout_at(deadline, read(gateway, &mut body)).await {
        Ok(Ok(read)) => read,
        Ok(Err(error)) => {
            discard(gateway, &parts.headers, body).await;
            return Err(caller.refuse(gateway, error).await);
        }
        Err(_) => return Err(caller.refuse(gateway, Error::deadline_exceeded()).await),
    };
    let large = if bytes.len() > LARGE {
        let turn = timeout(gateway.settings.request_timeout, Arc::clone(&gateway.large_requests).acquire_owned());
        match turn.await {
            Ok(Ok(permit)) => Some(permit),
            _ => return Err(caller.refuse(gateway, Error::overloaded()).await),
        }
    } else {
        None
    };
    Ok(Entered { caller, parts, gateway: Arc::clone(gateway), body: bytes, _memory: memory, _large: large })
}

impl Entered {
    /// Reads the body as a form. What cannot be one is refused.
    pub(crate) async fn form<F: Form>(&self, parse: impl Parse<F>) -> Result<F, Refusal> {
        match self.parsed(parse).await {
            Ok(form) => Ok(form),
            Err(error) => Err(self.caller.refuse(&self.gateway, error).await),
        }
    }

    /// What the core refused, with all its faults when the core could not send as many. The message is gone by then, so
    /// it is made once more from the body, which costs nothing while all goes well.
    pub(crate) async fn told_whole<F: Form>(&self, mut refusal: Refusal, parse: impl Parse<F>) -> Refusal {
        let error = &refusal.error;
        if error.reason == Reason::InvalidFields && error.violations_total > error.violations.len() {
            let again = move |body: &[u8]| parse(body).map(|form| form.violations());
            match self.parsed(again).await {
                Ok(violations) if !violations.is_empty() => refusal.error = Error::invalid(violations),
                // The core knows more than the rules do; what it sent has to do.
                _ => {}
            }
        }
        refusal
    }

    async fn parsed<T: Send + 'static>(
        &self,
        parse: impl Fn(&[u8]) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        if self.body.len() <= LARGE {
            return parse(&self.body);
        }
        let body = self.body.clone();
        match tokio::task::spawn_blocking(move || parse(&body)).await {
            Ok(parsed) => parsed,
            Err(error) => {
                tracing::error!(%error, "reading a body failed");
                Err(Error::internal())
            }
        }
    }
}

async fn read(gateway: &Gateway, body: &mut Body) -> Result<(Bytes, Option<OwnedSemaphorePermit>), Error> {
    let limit = gateway.settings.body_limit;
    // The size as announced; a body that announces none is counted as it grows.
    let announced = body.size_hint().lower();
    if announced > limit as u64 {
        return Err(too_large());
    }
    let mut memory = None;
    reserve(gateway, &mut memory, announced as usize)?;

    let mut first = Bytes::new();
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        // A body that breaks off has nobody left to be told.
        let frame = frame.map_err(|_| not_json())?;
        let Ok(data) = frame.into_data() else { continue };
        let length = first.len() + whole.len() + data.len();
        if length > limit {
            return Err(too_large());
        }
        if first.is_empty() && whole.is_empty() {
            // Most bodies come in one piece, which is not copied.
            first = data;
            continue;
        }
        reserve(gateway, &mut memory, length)?;
        if whole.is_empty() {
            whole.reserve((announced as usize).max(length));
            whole.extend_from_slice(&first);
            first = Bytes::new();
        }
        whole.extend_from_slice(&data);
    }
    Ok((if whole.is_empty() { first } else { whole.freeze() }, memory))
}

/// Reserves memory for `bytes` of one body in all. Small bodies are free: their number is bounded by the connections.
fn reserve(gateway: &Gateway, held: &mut Option<OwnedSemaphorePermit>, bytes: usize) -> Result<(), Error> {
    const FREE: usize = 16 * KIB;
    let wanted = if bytes <= FREE { 0 } else { bytes.div_ceil(KIB) };
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

/// Reads a body without keeping it, for a while.
async fn discard(gateway: &Gateway, headers: &HeaderMap, mut body: Body) {
    // Who waits to be told to go on has written nothing yet.
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
    // Whether it ends in time or not, the answer follows.
    let _ = timeout(DISCARD_TIME, reading).await;
}
