//! A list of any length, or a page of any size, as one document, written as its records arrive.

mod events;
mod list_format;

use admission::compute;
use axum::{
    BoxError,
    body::{Body, Bytes},
    response::Response,
};
use compliance_api::client::BoxStream as Messages;
use futures::{Stream, StreamExt as _, stream};
use http::{HeaderValue, StatusCode, header::CONTENT_TYPE};
use http_server::FinishBy;
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

pub(crate) use self::{
    events::{Endless, respond_events},
    list_format::ListFormat,
};
use crate::{
    caller::Opened,
    envelope::{RateLimit, respond_with},
    limits::RECORD_SIZE,
};

/// The response with all records of `messages`. `held` is dropped at its end.
pub(crate) fn respond_list<M: Send + Sync + 'static, R: Serialize + 'static>(
    document: ListFormat,
    messages: Messages<M>,
    records: fn(&M) -> &[R],
    rate_limit: RateLimit,
    held: impl Send + 'static,
    deadline: Instant,
) -> Response {
    let content_type = document.content_type();
    let chunks = chunks(document, messages, records, deadline).map(move |chunk| {
        let _ = &held;
        chunk
    });
    let mut response = respond_with(StatusCode::OK, rate_limit, Body::from_stream(chunks));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    // A client that does not read never polls the body, so the body itself cannot end in time.
    response.extensions_mut().insert(FinishBy(deadline));
    response
}

/// The response with all records of a stream that was opened.
pub(crate) fn respond_opened<M: Send + Sync + 'static, R: Serialize + 'static>(
    document: ListFormat,
    Opened { first, rest, rate_limit, held }: Opened<M>,
    records: fn(&M) -> &[R],
    deadline: Instant,
) -> Response {
    let messages = stream::iter(first.into_iter().map(Ok)).chain(rest).boxed();
    respond_list(document, messages, records, rate_limit, held.memory, deadline)
}

/// Makes each chunk when the connection asks for it, so at most one message is held in memory.
fn chunks<M, R: Serialize>(
    mut document: ListFormat,
    mut messages: Messages<M>,
    records: fn(&M) -> &[R],
    deadline: Instant,
) -> impl Stream<Item = Result<Bytes, BoxError>> {
    async_stream::try_stream! {
        let mut chunk = Vec::new();
        document.begin(&mut chunk)?;
        let mut record_size = RECORD_SIZE;
        while let Some(message) = next(&mut messages, deadline).await? {
            let records = records(&message);
            let expected = records.len() * record_size;
            chunk.reserve(expected);
            compute(expected, || records.iter().try_for_each(|record| document.add(&mut chunk, record)))?;
            // The records of a company are alike. A chunk that has to grow takes twice as much, which a connection that is
            // not read would keep; so an eighth more is reserved.
            record_size = chunk.len().div_ceil(records.len().max(1)) * 9 / 8;
            // A client that does not read stops this at the next line: what it holds meanwhile is the chunk alone.
            drop(message);
            if !chunk.is_empty() {
                yield Bytes::from(std::mem::take(&mut chunk));
            }
        }
        document.end(&mut chunk)?;
        if !chunk.is_empty() {
            yield Bytes::from(chunk);
        }
    }
}

/// The next message, unless the deadline has passed. With an error, the document is incomplete: the connection is closed, so
/// that no client mistakes the part for the whole.
async fn next<M>(messages: &mut Messages<M>, deadline: Instant) -> Result<Option<M>, BoxError> {
    let too_late = || Err("the list took too long".into());
    // `timeout_at` alone returns messages that are ready however late it is.
    if Instant::now() >= deadline {
        return too_late();
    }
    match timeout_at(deadline, messages.next()).await {
        Ok(Some(Ok(message))) => Ok(Some(message)),
        Ok(Some(Err(status))) => {
            tracing::error!(code = ?status.code(), error = status.message(), "a list is incomplete");
            Err(format!("the core's stream failed: {:?}", status.code()).into())
        }
        Ok(None) => Ok(None),
        Err(_) => too_late(),
    }
}
