//! A list of any length, or a page of any size, as one JSON document, written as its records arrive.

use admission::compute;
use axum::body::{Body, Bytes};
use compliance_api::v1::{Affiliate, ComplianceUrl, ListAffiliatesResponse, PageMeta, StreamComplianceUrlsResponse};
use futures::{Stream, StreamExt as _, stream::BoxStream};
use serde::Serialize;
use tokio::time::{Instant, timeout_at};
use tonic::Status;

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

/// A message of a list or a page.
pub(crate) trait Records: Send + Sync + 'static {
    type Record: Serialize;

    fn records(&self) -> &[Self::Record];
}

impl Records for ListAffiliatesResponse {
    type Record = Affiliate;

    fn records(&self) -> &[Affiliate] {
        &self.affiliates
    }
}

impl Records for StreamComplianceUrlsResponse {
    type Record = ComplianceUrl;

    fn records(&self) -> &[ComplianceUrl] {
        &self.urls
    }
}

type Messages<M> = BoxStream<'static, Result<M, Status>>;

/// An envelope with all records of `messages` as its data. `held` is dropped at its end.
pub(crate) fn list_body<M: Records>(
    msg: &'static str,
    messages: Messages<M>,
    meta: Option<PageMeta>,
    held: impl Send + 'static,
    deadline: Instant,
) -> Body {
    let chunks = chunks(msg, messages, meta, deadline).map(move |chunk| {
        let _ = &held;
        chunk
    });
    Body::from_stream(chunks)
}

/// Makes each chunk when the connection asks for it, so at most one message is held in memory.
fn chunks<M: Records>(
    msg: &'static str,
    mut messages: Messages<M>,
    meta: Option<PageMeta>,
    deadline: Instant,
) -> impl Stream<Item = Result<Bytes, StreamError>> + Send + 'static {
    async_stream::try_stream! {
        let mut chunk = head(msg)?;
        let mut is_first = true;
        let mut record_size = RECORD_SIZE;
        while let Some(message) = next(&mut messages, deadline).await? {
            let records = message.records();
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

/// What an envelope has before its first record.
fn head(msg: &str) -> Result<Vec<u8>, serde_json::Error> {
    let mut head = br#"{"code":"1026","status":"ok","detail":{"msg":"#.to_vec();
    serde_json::to_writer(&mut head, msg)?;
    head.extend_from_slice(br#"},"data":["#);
    Ok(head)
}

/// The next message, unless the deadline has passed.
async fn next<M>(messages: &mut Messages<M>, deadline: Instant) -> Result<Option<M>, StreamError> {
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
