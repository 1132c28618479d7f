//! A list of any length as one JSON document, written as its records arrive.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::body::Body;
use bytes::Bytes;
use compliance_api::v1::ListAffiliatesResponse;
use futures::Stream;
use http_body::Frame;
use tokio::time::{Instant, Sleep};
use tonic::Streaming;

/// Why a document breaks off. The connection is closed on it, so that nobody takes the part for the whole.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error("the core's stream failed: {0:?}")]
    Core(tonic::Code),
    #[error("the list took too long")]
    Deadline,
    #[error("a record could not be written: {0}")]
    Json(#[from] serde_json::Error),
}

/// An envelope with a list as its data. `first` is what `rest` began with.
pub(crate) fn envelope(
    msg: &'static str,
    first: Option<ListAffiliatesResponse>,
    rest: Streaming<ListAffiliatesResponse>,
    deadline: Instant,
) -> Body {
    let ended = first.is_none();
    let deadline = Box::pin(tokio::time::sleep_until(deadline));
    Body::new(Document { msg, first, rest, deadline, written: Written::Nothing, ended, done: false })
}

/// Pulled by the connection as the client reads, so nothing piles up: at most one message is held.
struct Document {
    msg: &'static str,
    first: Option<ListAffiliatesResponse>,
    rest: Streaming<ListAffiliatesResponse>,
    deadline: Pin<Box<Sleep>>,
    written: Written,
    /// The core has no more.
    ended: bool,
    /// The document is complete, or has failed.
    done: bool,
}

/// How far the document is.
#[derive(PartialEq, Eq)]
enum Written {
    Nothing,
    Head,
    Records,
}

impl Document {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Result<Bytes, Broken>> {
        if self.deadline.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(Broken::Deadline));
        }
        let mut message = self.first.take();
        if message.is_none() && !self.ended {
            match ready!(Pin::new(&mut self.rest).poll_next(cx)) {
                Some(Ok(next)) => message = Some(next),
                Some(Err(status)) => {
                    tracing::error!(code = ?status.code(), message = status.message(), "a list broke off");
                    return Poll::Ready(Err(Broken::Core(status.code())));
                }
                None => self.ended = true,
            }
        }
        let records = message.map(|message| message.affiliates).unwrap_or_default();
        // A record of which every field is filled as usual takes about a KiB.
        let mut chunk = Vec::with_capacity(128 + records.len() * 1024);
        if self.written == Written::Nothing {
            self.written = Written::Head;
            chunk.extend_from_slice(br#"{"code":"1026","status":"ok","detail":{"msg":"#);
            serde_json::to_writer(&mut chunk, self.msg)?;
            chunk.extend_from_slice(br#"},"data":["#);
        }
        for record in &records {
            if self.written == Written::Records {
                chunk.push(b',');
            }
            self.written = Written::Records;
            serde_json::to_writer(&mut chunk, record)?;
        }
        if self.ended {
            self.done = true;
            chunk.extend_from_slice(b"]}");
        }
        Poll::Ready(Ok(chunk.into()))
    }
}

impl http_body::Body for Document {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        while !self.done {
            match ready!(self.poll_chunk(cx)) {
                // A message without records.
                Ok(chunk) if chunk.is_empty() => {}
                Ok(chunk) => return Poll::Ready(Some(Ok(Frame::data(chunk)))),
                Err(broken) => {
                    self.done = true;
                    return Poll::Ready(Some(Err(broken)));
                }
            }
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.done
    }
}
