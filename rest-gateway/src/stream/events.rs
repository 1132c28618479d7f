//! A stream of server-sent events.

use std::{convert::Infallible, future::ready};

use axum::{
    body::{Body, Bytes},
    response::Response,
};
use compliance_api::{
    json::lines,
    v1::{ListChangesResponse, WatchChangesResponse},
};
use futures::{StreamExt as _, stream};
use http::{
    HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE},
};
use http_server::FinishBy;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{accept::EVENT_STREAM, caller::Opened, envelope::respond_with, limits::RETRY_WAIT};

/// A response with this extension has no end. It is recorded when it begins, and not compressed, because that would delay it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Endless;

/// The response with the changes of an opened watch. A client learns why the watch ended when it connects again.
pub(crate) fn respond_events(
    Opened { first, rest, rate_limit, .. }: Opened<WatchChangesResponse>,
    deadline: Instant,
) -> Response {
    let end = CancellationToken::clone(&http_server::shutdown()).cancelled_owned();
    let messages = stream::iter(first.into_iter().map(Ok)).chain(rest);
    let messages = messages.take_while(|message| ready(message.is_ok())).take_until(end);
    let pages = messages.filter_map(|message| ready(message.ok().and_then(|message| message.page)));
    let retry = format!("retry: {}\n", RETRY_WAIT.as_millis());
    let chunks = stream::once(ready(Bytes::from(retry))).chain(pages.map(event)).map(Ok::<_, Infallible>);
    let mut response = respond_with(StatusCode::OK, rate_limit, Body::from_stream(chunks));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response.extensions_mut().insert(FinishBy(deadline));
    response.extensions_mut().insert(Endless);
    response
}

/// Writes a page as an event. Without changes, the event has an ID only.
fn event(page: ListChangesResponse) -> Bytes {
    let position = page.position;
    let mut event = format!("id: {position}\nevent: changes\ndata: ").into_bytes();
    if page.changes.is_empty() || lines::write(&mut event, &page).is_err() {
        return format!(": nothing new\nid: {position}\n\n").into();
    }
    event.extend_from_slice(b"\n\n");
    event.into()
}
