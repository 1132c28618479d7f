//! Streams of chunks: each chunk is saved and acknowledged, in order, one after the other.

use std::{future::ready, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use admission::{Count, run_off_thread};
use compliance_api::{error::Error, rules::Check, token::TokenError, wire::Items};
use futures::FutureExt as _;
use storage::{deadline, statement};
use tokio::{sync::mpsc, time::Instant};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Response, Status, Streaming, codegen::BoxStream};

use crate::{
    access::{Identity, is_expired},
    backend::Backend,
    limits::STREAM_IDLE_TIMEOUT,
    requests::{streamed, valid},
    shares::QueueClass,
};

/// What is done with the chunks of a stream.
pub(crate) trait Chunks: Send + 'static {
    type Request: Check + Items + Send + 'static;
    type Response: Send + 'static;

    /// Saves a chunk, whose rules were checked.
    fn save(&mut self, chunk: Self::Request) -> impl Future<Output = Result<Self::Response, Error>> + Send;

    /// Whether something may follow the last chunk. By default nothing does.
    fn has_more(&self) -> bool {
        false
    }

    /// The next response after those to all chunks; `None` if there is none.
    fn after_last(&mut self) -> impl Future<Output = Result<Option<Self::Response>, Error>> + Send {
        ready(Ok(None))
    }
}

/// The acknowledgements of a stream: one for each chunk, in order.
pub(crate) type Acknowledgements<R> = BoxStream<R>;

/// Starts to serve a stream. While a chunk is being saved, no other is read. If the client does not read its acknowledgements, nothing
/// is read. The stream ends at its timeout.
pub(crate) fn serve<C: Chunks>(
    backend: &Arc<Backend>,
    chunks: C,
    caller: Identity,
    requests: Streaming<C::Request>,
    timeout: Duration,
) -> Result<Response<Acknowledgements<C::Response>>, Error> {
    let open = backend.shares.open_stream(caller.company_id)?;
    let deadline = Instant::now() + timeout;
    let (acknowledgements, receiver) = mpsc::channel(1);
    let stream = Stream { backend: Arc::clone(backend), caller, deadline, acknowledgements };
    #[allow(clippy::disallowed_methods, reason = "it ends with its call")]
    tokio::spawn(statement::inherit(stream.run(chunks, requests, open)));
    Ok(streamed(Box::pin(ReceiverStream::new(receiver)) as BoxStream<_>, deadline))
}

struct Stream<R> {
    backend: Arc<Backend>,
    caller: Identity,
    deadline: Instant,
    acknowledgements: mpsc::Sender<Result<R, Status>>,
}

impl<R: Send + 'static> Stream<R> {
    /// Serves the stream until its end, or until the client has left. `open` counts the stream.
    async fn run<C: Chunks<Response = R>>(self, chunks: C, requests: Streaming<C::Request>, open: Count) {
        let ended = tokio::select! {
            // Nothing more is written for a client that has left.
            biased;
            () = self.acknowledgements.closed() => return,
            ended = without_panic(self.acknowledge_all(chunks, requests)) => ended,
        };
        drop(open);
        // Without a time limit: a stream that is cut short must not look complete.
        if let Err(status) = ended {
            let _ = self.acknowledgements.send(Err(status)).await;
        }
    }

    async fn acknowledge_all<C: Chunks<Response = R>>(
        &self,
        mut chunks: C,
        mut requests: Streaming<C::Request>,
    ) -> Result<(), Status> {
        while let Some(request) = self.bound(STREAM_IDLE_TIMEOUT, requests.message()).await?? {
            let work = QueueClass::of_items(request.items());
            let save = async {
                valid(&request)?;
                chunks.save(request).await
            };
            let response = self.work(work, save).await?;
            self.acknowledge(response).await?;
        }
        while chunks.has_more()
            && let Some(response) = self.work(QueueClass::Statement, chunks.after_last()).await?
        {
            self.acknowledge(response).await?;
        }
        Ok(())
    }

    /// Does work in its slot. What is not done in time is not done at all: its statement is cancelled.
    async fn work<T>(&self, work: QueueClass, step: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let Self { backend, caller, .. } = self;
        let working = async {
            let _permit = backend.shares.enter(caller.company_id, work).await?;
            let step = async {
                // A stream may outlive its token.
                if is_expired(&caller.claims) { Err(TokenError::Expired.into()) } else { step.await }
            };
            run_off_thread(Box::pin(step), work.is_heavy()).await
        };
        self.bound(backend.settings.call_timeout, working).await?
    }

    async fn acknowledge(&self, response: R) -> Result<(), Error> {
        // A client that has left is noticed by `run`.
        self.bound(STREAM_IDLE_TIMEOUT, self.acknowledgements.send(Ok(response))).await.map(drop)
    }

    async fn bound<T>(&self, time: Duration, step: impl Future<Output = T>) -> Result<T, Error> {
        let deadline = self.deadline.min(Instant::now() + time);
        deadline::until(deadline, step).await.map_err(|_| Error::deadline_exceeded())
    }
}

/// What a stream ends with. If it panics, that is an error: a stream that is cut short must not look complete.
async fn without_panic(stream: impl Future<Output = Result<(), Status>>) -> Result<(), Status> {
    AssertUnwindSafe(stream).catch_unwind().await.unwrap_or_else(|_| Err(Error::internal().into()))
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::without_panic;

    #[tokio::test]
    async fn a_stream_that_panics_does_not_look_complete() {
        let ended = without_panic(async { panic!("the stream panics") }).await;
        assert_eq!(ended.unwrap_err().code(), Code::Internal);
        assert!(without_panic(async { Ok(()) }).await.is_ok());
    }
}
