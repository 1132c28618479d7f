//! A list of any length, or a page of any size, as one JSON document, written as its records arrive.

use admission::compute;
use axum::{
    BoxError,
    body::{Body, Bytes},
    response::Response,
};
use compliance_api::v1::PageMeta;
use futures::{Stream, StreamExt as _, stream::BoxStream};
use http::StatusCode;
use http_server::FinishBy;
use serde::Serialize;
use tokio::time::{Instant, timeout_at};
use tonic::Status;

use crate::{
    envelope::{Envelope, RateLimit, respond_with},
    limits::RECORD_SIZE,
};

type Messages<M> = BoxStream<'static, Result<M, Status>>;

/// The response with all records of `messages` as its data. `held` is dropped at its end.
pub(crate) fn respond_list<M: Send + Sync + 'static, R: Serialize + 'static>(
    msg: &'static str,
    messages: Messages<M>,
    records: fn(&M) -> &[R],
    meta: Option<PageMeta>,
    rate_limit: RateLimit,
    held: impl Send + 'static,
    deadline: Instant,
) -> Response {
    let chunks = chunks(msg, messages, records, meta, deadline).map(move |chunk| {
        let _ = &held;
        chunk
    });
    let mut response = respond_with(StatusCode::OK, rate_limit, Body::from_stream(chunks));
    // A client that does not read never polls the body, so the body itself cannot end in time.
    response.extensions_mut().insert(FinishBy(deadline));
    response
}

/// Makes each chunk when the connection asks for it, so at most one message is held in memory.
fn chunks<M, R: Serialize>(
    msg: &'static str,
    mut messages: Messages<M>,
    records: fn(&M) -> &[R],
    meta: Option<PageMeta>,
    deadline: Instant,
) -> impl Stream<Item = Result<Bytes, BoxError>> {
    async_stream::try_stream! {
        // What an envelope has before its first record.
        let mut chunk = serde_json::to_vec(&Envelope::found(msg, &[(); 0], None))?;
        chunk.truncate(chunk.len() - "]}".len());
        let mut is_first = true;
        let mut record_size = RECORD_SIZE;
        while let Some(message) = next(&mut messages, deadline).await? {
            let records = records(&message);
            let expected = records.len() * record_size;
            chunk.reserve(expected);
            compute(expected, || {
                records.iter().try_for_each(|record| {
                    if !std::mem::take(&mut is_first) {
                        chunk.push(b',');
                    }
                    serde_json::to_writer(&mut chunk, record)
                })
            })?;
            // The records of a company are alike. A chunk that has to grow takes twice as much, which a connection that is
            // not read would keep; so an eighth more is reserved.
            record_size = chunk.len().div_ceil(records.len().max(1)) * 9 / 8;
            // A client that does not read stops this at the next line: what it holds meanwhile is the chunk alone.
            drop(message);
            if !chunk.is_empty() {
                yield Bytes::from(std::mem::take(&mut chunk));
            }
        }
        chunk.push(b']');
        if let Some(meta) = meta {
            chunk.extend_from_slice(br#","meta":"#);
            serde_json::to_writer(&mut chunk, &meta)?;
        }
        chunk.push(b'}');
        yield Bytes::from(chunk);
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
            tracing::error!(code = ?status.code(), message = status.message(), "a list is incomplete");
            Err(format!("the core's stream failed: {:?}", status.code()).into())
        }
        Ok(None) => Ok(None),
        Err(_) => too_late(),
    }
}
