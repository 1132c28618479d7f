//! A list of any length, or a page of large records, as one JSON document, written as its records arrive.

use std::time::Duration;

use admission::Reservation;
use axum::body::{Body, Bytes};
use compliance_api::{
    error::Reason,
    v1::{BatchGetComplianceUrlsRequest, BatchGetComplianceUrlsResponse, ListAffiliatesResponse, PageMeta},
};
use futures::{Stream, StreamExt as _, stream::BoxStream};
use tokio::time::{Instant, sleep, timeout_at};
use tonic::Status;

use crate::{caller::Caller, error::Refusal};

/// Why a document is incomplete. The connection is closed with this error, so that no client mistakes the part for the
/// whole.
#[derive(Debug, thiserror::Error)]
enum StreamError {
    #[error("the core's stream failed: {0:?}")]
    Core(tonic::Code),
    #[error("the list took too long")]
    Deadline,
    #[error("a record could not be serialized: {0}")]
    Json(#[from] serde_json::Error),
}

/// What the first records are taken to have as JSON, in bytes: somewhat more than one of which every field is filled as
/// usual.
const RECORD_SIZE: usize = 1280;

type Messages = BoxStream<'static, Result<ListAffiliatesResponse, Status>>;

/// An envelope with all records of `messages` as its data.
pub(crate) fn list_body(msg: &'static str, messages: Messages, deadline: Instant) -> Body {
    Body::from_stream(chunks(msg, messages, deadline))
}

/// Makes each chunk when the connection asks for it, so at most one message is held in memory.
fn chunks(
    msg: &'static str,
    mut messages: Messages,
    deadline: Instant,
) -> impl Stream<Item = Result<Bytes, StreamError>> + Send + 'static {
    async_stream::try_stream! {
        let mut chunk = head(msg)?;
        let mut is_first = true;
        let mut record_size = RECORD_SIZE;
        while let Some(message) = next(&mut messages, deadline).await? {
            chunk.reserve(message.affiliates.len() * record_size);
            for record in &message.affiliates {
                if !std::mem::take(&mut is_first) {
                    chunk.push(b',');
                }
                serde_json::to_writer(&mut chunk, record)?;
            }
            // The records of a company are alike. A chunk that has to grow takes twice as much, which a connection that is
            // not read would keep; so an eighth more is reserved.
            record_size = chunk.len().div_ceil(message.affiliates.len().max(1)) * 9 / 8;
            // A client that does not read stops this at the next line: what it holds meanwhile is the chunk alone.
            drop(message);
            if !chunk.is_empty() {
                yield Bytes::from(std::mem::take(&mut chunk));
            }
        }
        chunk.extend_from_slice(b"]}");
        yield Bytes::from(chunk);
    }
}

/// An envelope with the URLs of these IDs as its data. They are read in parts, each when the connection asks for it.
/// `memory` is held until the end.
pub(crate) fn url_page_body(
    msg: &'static str,
    caller: Caller,
    ids: Vec<i64>,
    meta: Option<PageMeta>,
    memory: Reservation,
    deadline: Instant,
) -> Body {
    let chunks = url_chunks(msg, caller, ids, meta, deadline).map(move |chunk| {
        let _ = &memory;
        chunk
    });
    Body::from_stream(chunks)
}

fn url_chunks(
    msg: &'static str,
    caller: Caller,
    mut ids: Vec<i64>,
    meta: Option<PageMeta>,
    deadline: Instant,
) -> impl Stream<Item = Result<Bytes, StreamError>> + Send + 'static {
    async_stream::try_stream! {
        let mut chunk = head(msg)?;
        let mut is_first = true;
        while !ids.is_empty() {
            let part = timeout_at(deadline, url_part(&caller, ids)).await.map_err(|_| StreamError::Deadline)??;
            ids = part.rest;
            for record in &part.urls {
                if !std::mem::take(&mut is_first) {
                    chunk.push(b',');
                }
                serde_json::to_writer(&mut chunk, record)?;
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

/// The first records of these IDs, and the IDs that are left. The parts count against the rate limit of the company, so
/// the next one may have to wait for it.
async fn url_part(caller: &Caller, ids: Vec<i64>) -> Result<BatchGetComplianceUrlsResponse, StreamError> {
    loop {
        let request = BatchGetComplianceUrlsRequest { ids: ids.clone(), in_parts: true };
        let call = caller.call(request, |core, request| core.urls.batch_get_compliance_urls(request));
        match call.await {
            Ok((part, _)) => return Ok(part),
            Err(Refusal { error, .. }) if error.reason == Reason::RateLimited => {
                sleep(error.retry_after.unwrap_or(RETRY_AFTER)).await;
            }
            Err(Refusal { error, .. }) => {
                tracing::error!(reason = ?error.reason, "a page is incomplete");
                return Err(StreamError::Core(error.meaning().grpc));
            }
        }
    }
}

/// How long the next part of a page waits if the core does not say it.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// What an envelope has before its first record.
fn head(msg: &str) -> Result<Vec<u8>, serde_json::Error> {
    let mut head = br#"{"code":"1026","status":"ok","detail":{"msg":"#.to_vec();
    serde_json::to_writer(&mut head, msg)?;
    head.extend_from_slice(br#"},"data":["#);
    Ok(head)
}

/// The next message, unless the deadline has passed.
async fn next(messages: &mut Messages, deadline: Instant) -> Result<Option<ListAffiliatesResponse>, StreamError> {
    // `timeout_at` alone returns messages that are ready however late it is.
    if Instant::now() >= deadline {
        return Err(StreamError::Deadline);
    }
    match timeout_at(deadline, messages.next()).await {
        Ok(Some(Ok(message))) => Ok(Some(message)),
        Ok(Some(Err(status))) => {
            tracing::error!(code = ?status.code(), message = status.message(), "a list is incomplete");
            Err(StreamError::Core(status.code()))
        }
        Ok(None) => Ok(None),
        Err(_) => Err(StreamError::Deadline),
    }
}
