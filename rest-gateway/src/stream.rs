//! A list of any length as one JSON document, written as its records arrive.

use axum::body::{Body, Bytes};
use compliance_api::v1::ListAffiliatesResponse;
use futures::{Stream, StreamExt as _, stream::BoxStream};
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
        let mut chunk = br#"{"code":"1026","status":"ok","detail":{"msg":"#.to_vec();
        serde_json::to_writer(&mut chunk, msg)?;
        chunk.extend_from_slice(br#"},"data":["#);
        let mut is_first = true;
        while let Some(message) = next(&mut messages, deadline).await? {
            // A record of which every field is filled as usual takes about a KiB.
            chunk.reserve(message.affiliates.len() * 1024);
            for record in &message.affiliates {
                if !std::mem::take(&mut is_first) {
                    chunk.push(b',');
                }
                serde_json::to_writer(&mut chunk, record)?;
            }
            if !chunk.is_empty() {
                yield Bytes::from(std::mem::take(&mut chunk));
            }
        }
        chunk.extend_from_slice(b"]}");
        yield Bytes::from(chunk);
    }
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
