//! Streams responses: lists and pages of any size, and server-sent events.

mod list_format;

use std::{convert::Infallible, future::ready};

use admission::compute;
use axum::{
    BoxError,
    body::{Body, Bytes},
    response::Response,
};
use compliance_api::{
    client::BoxStream as Messages,
    json::lines,
    v1::{ListChangesResponse, WatchChangesResponse},
};
use futures::{Stream, StreamExt as _, stream};
use http::{HeaderValue, StatusCode, header::CONTENT_TYPE};
use http_server::FinishBy;
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

pub(crate) use self::list_format::ListFormat;
use crate::{
    accept::EVENT_STREAM,
    caller::Opened,
    compression::Endless,
    envelope::respond_with,
    limits::{RECORD_SIZE, RETRY_WAIT},
};

/// Returns a response that streams all records of `messages`. The response holds `resources` until it ends.
pub(crate) fn respond_list<M: Send + Sync + 'static, R: Serialize + 'static>(
    document: ListFormat,
    messages: Messages<M>,
    records: fn(&M) -> &[R],
    resources: impl Send + 'static,
    deadline: Instant,
) -> Response {
    let content_type = document.content_type();
    let chunks = chunks(document, messages, records, deadline).map(move |chunk| {
        let _ = &resources;
        chunk
    });
    let mut response = respond_with(StatusCode::OK, Body::from_stream(chunks));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    // The body cannot enforce the deadline itself, because nothing polls it while the client does not read.
    response.extensions_mut().insert(FinishBy(deadline));
    response
}

/// Returns a response that streams all records of an opened stream.
pub(crate) fn respond_opened<M: Send + Sync + 'static, R: Serialize + 'static>(
    document: ListFormat,
    Opened { first, rest, memory }: Opened<M>,
    records: fn(&M) -> &[R],
    deadline: Instant,
) -> Response {
    let messages = stream::iter(first.into_iter().map(Ok)).chain(rest).boxed();
    respond_list(document, messages, records, memory, deadline)
}

/// Builds each chunk when the connection requests it, so at most one message is in memory.
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
            // A company's records have similar sizes, so an eighth more is enough for the next chunk. A growing chunk would double its memory, and an
            // unread connection would keep it.
            record_size = chunk.len().div_ceil(records.len().max(1)) * 9 / 8;
            // An unread connection stops at `yield`, and holds only the chunk.
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

/// Returns the next message, unless the deadline has passed.
///
/// Closes the connection after an error, so clients never mistake a partial list for a complete one.
async fn next<M>(messages: &mut Messages<M>, deadline: Instant) -> Result<Option<M>, BoxError> {
    let too_late = || Err("the list timed out".into());
    // `timeout_at` returns ready messages even after the deadline.
    if Instant::now() >= deadline {
        return too_late();
    }
    match timeout_at(deadline, messages.next()).await {
        Ok(Some(Ok(message))) => Ok(Some(message)),
        Ok(Some(Err(status))) => {
            tracing::error!(code = ?status.code(), error = status.message(), "aborting an incomplete list");
            Err(format!("the core's stream failed: {:?}", status.code()).into())
        }
        Ok(None) => Ok(None),
        Err(_) => too_late(),
    }
}

/// Returns a response that streams the changes of a watch. Clients learn why a watch ended when they reconnect.
pub(crate) fn respond_events(Opened { first, rest, .. }: Opened<WatchChangesResponse>, deadline: Instant) -> Response {
    let end = http_server::closing().cancelled_owned();
    let messages = stream::iter(first.into_iter().map(Ok)).chain(rest);
    let messages = messages.take_while(|message| ready(message.is_ok())).take_until(end);
    let pages = messages.filter_map(|message| ready(message.ok().and_then(|message| message.page)));
    let retry = format!("retry: {}\n", RETRY_WAIT.as_millis());
    let chunks = stream::once(ready(Bytes::from(retry))).chain(pages.map(event)).map(Ok::<_, Infallible>);
    let mut response = respond_with(StatusCode::OK, Body::from_stream(chunks));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response.extensions_mut().insert(FinishBy(deadline));
    response.extensions_mut().insert(Endless);
    response
}

/// Writes a page as an event. If the page contains no changes, the event contains only an ID.
fn event(page: ListChangesResponse) -> Bytes {
    let position = page.position;
    let mut event = format!("id: {position}\nevent: changes\ndata: ").into_bytes();
    if page.changes.is_empty() || lines::write(&mut event, &page).is_err() {
        return format!(": nothing new\nid: {position}\n\n").into();
    }
    event.extend_from_slice(b"\n\n");
    event.into()
}
