//! Streams of chunks: each chunk is saved and acknowledged, in order, with a bounded number in memory.

use std::{future::ready, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use admission::{Count, run_off_thread};
use compliance_api::{error::Error, rules::Check, token::TokenError};
use futures::FutureExt as _;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Response, Status, Streaming};

use crate::{
    access::{Identity, is_expired},
    backend::Backend,
    deadline,
    limits::STREAM_IDLE_TIMEOUT,
    requests::{streamed, valid},
    shares::{self, Work},
    statement,
};

/// What is done with the chunks of a stream.
pub(crate) trait Chunks: Send + Sync + 'static {
    type Request: Check + Send + 'static;
    /// A chunk that is ready to be saved.
    type Chunk: Send + 'static;
    type Response: Send + 'static;

    fn backend(&self) -> &Backend;

    /// How many items a request has.
    fn items(request: &Self::Request) -> usize;

    fn prepare(
        &self,
        company_id: i64,
        request: Self::Request,
    ) -> impl Future<Output = Result<Self::Chunk, Error>> + Send;

    /// Saves a chunk. The next one is saved when this one is.
    fn save(&self, company_id: i64, chunk: Self::Chunk) -> impl Future<Output = Result<Self::Response, Error>> + Send;

    /// Whether something follows the last chunk. By default nothing does.
    fn has_more(&self) -> impl Future<Output = bool> + Send {
        ready(false)
    }

    /// The next response after those to all chunks; `None` if there is none.
    fn after_last(&self, _: i64) -> impl Future<Output = Result<Option<Self::Response>, Error>> + Send {
        ready(Ok(None))
    }
}

/// The acknowledgements of a stream: one for each chunk, in order.
pub(crate) type Acknowledgements<R> = ReceiverStream<Result<R, Status>>;

/// Starts to serve a stream. While a chunk is being saved, the next one is prepared and no other is read; while other
/// companies call, it is prepared when the last one is saved, so that a company does not use two processors. If the
/// client does not read its acknowledgements, nothing is read. The stream ends at its timeout.
pub(crate) fn serve<C: Chunks>(
    chunks: Arc<C>,
    caller: Identity,
    requests: Streaming<C::Request>,
    timeout: Duration,
) -> Result<Response<Acknowledgements<C::Response>>, Error> {
    let open = chunks.backend().shares.open_stream(caller.company_id)?;
    let stream = Arc::new(Stream { chunks, caller, deadline: Instant::now() + timeout });
    let (acknowledgements, receiver) = mpsc::channel(1);
    let (prepared, chunks) = mpsc::channel(1);
    let reading = read(Arc::clone(&stream), requests, prepared.clone());
    tokio::spawn(statement::inherit(report_panic(reading, prepared)));
    let deadline = stream.deadline;
    let saving = save(stream, open, chunks, acknowledgements.clone());
    tokio::spawn(statement::inherit(report_panic(saving, acknowledgements)));
    Ok(streamed(ReceiverStream::new(receiver), deadline))
}

enum Next<C: Chunks> {
    Prepared(C::Chunk, Work),
    /// It is prepared in its slot.
    Received(C::Request, Work),
    /// There are no more chunks.
    End,
}

struct Stream<C> {
    chunks: Arc<C>,
    caller: Identity,
    deadline: Instant,
}

impl<C: Chunks> Stream<C> {
    async fn bound<T>(&self, time: Duration, step: impl Future<Output = T>) -> Result<T, Error> {
        let deadline = self.deadline.min(Instant::now() + time);
        deadline::until(deadline, step).await.map_err(|_| Error::deadline_exceeded())
    }

    fn call_timeout(&self) -> Duration {
        self.chunks.backend().settings.call_timeout
    }

    async fn prepare(&self, request: C::Request) -> Result<C::Chunk, Error> {
        // A stream may outlive its token.
        if is_expired(&self.caller.claims) {
            return Err(TokenError::Expired.into());
        }
        valid(&request)?;
        self.chunks.prepare(self.caller.company_id, request).await
    }

    /// A chunk that is not saved in time is not saved at all: its statement is cancelled.
    async fn save(&self, next: Next<C>) -> Result<Option<C::Response>, Error> {
        let Self { chunks, caller, .. } = self;
        if matches!(next, Next::End) && !chunks.has_more().await {
            return Ok(None);
        }
        let saving = async {
            let work = match next {
                Next::Prepared(_, work) | Next::Received(_, work) => work,
                Next::End => Work::Statement(1),
            };
            let mut slot = chunks.backend().shares.enter(caller.company_id, work).await?;
            let saving = async {
                let chunk = match next {
                    Next::Prepared(chunk, _) => chunk,
                    Next::Received(request, _) => self.prepare(request).await?,
                    Next::End if is_expired(&caller.claims) => return Err(TokenError::Expired.into()),
                    Next::End => return chunks.after_last(caller.company_id).await,
                };
                chunks.save(caller.company_id, chunk).await.map(Some)
            };
            shares::run(&mut slot, work.is_heavy(), Box::pin(saving)).await
        };
        self.bound(self.call_timeout(), saving).await?
    }
}

/// Runs a side of a stream. If it panics, its last message is an error: a stream that is cut short must not look complete.
async fn report_panic<T>(side: impl Future<Output = ()>, messages: mpsc::Sender<Result<T, Status>>) {
    if AssertUnwindSafe(side).catch_unwind().await.is_err() {
        let _ = messages.send(Err(Error::internal().into())).await;
    }
}

/// Reads chunks and prepares them, until the client or saving ends, or the first error of the stream as a whole.
async fn read<C: Chunks>(
    stream: Arc<Stream<C>>,
    mut requests: Streaming<C::Request>,
    prepared: mpsc::Sender<Result<Next<C>, Status>>,
) {
    loop {
        let message = tokio::select! {
            () = prepared.closed() => return,
            message = stream.bound(STREAM_IDLE_TIMEOUT, requests.message()) => message,
        };
        let chunk = match message {
            Ok(Ok(Some(request))) => {
                let work = Work::of_items(C::items(&request));
                if stream.chunks.backend().shares.are_several_calling() {
                    Ok(Next::Received(request, work))
                } else {
                    let preparing = run_off_thread(stream.prepare(request), work.is_heavy());
                    let chunk = stream.bound(stream.call_timeout(), preparing).await;
                    chunk.flatten().map(|chunk| Next::Prepared(chunk, work)).map_err(Status::from)
                }
            }
            Ok(Ok(None)) => Ok(Next::End),
            Ok(Err(status)) => Err(status),
            Err(error) => Err(error.into()),
        };
        let last = matches!(chunk, Err(_) | Ok(Next::End));
        if prepared.send(chunk).await.is_err() || last {
            return;
        }
    }
}

/// Saves chunks and acknowledges them. `open` counts the stream.
async fn save<C: Chunks>(
    stream: Arc<Stream<C>>,
    open: Count,
    mut chunks: mpsc::Receiver<Result<Next<C>, Status>>,
    acknowledgements: mpsc::Sender<Result<C::Response, Status>>,
) {
    let mut is_at_end = false;
    loop {
        let next = tokio::select! {
            () = acknowledgements.closed() => return,
            () = ready(()), if is_at_end => Some(Ok(Next::End)),
            chunk = chunks.recv(), if !is_at_end => chunk,
            () = sleep_until(stream.deadline) => Some(Err(Error::deadline_exceeded().into())),
        };
        let message = match next {
            Some(Ok(next)) => {
                is_at_end = matches!(next, Next::End);
                tokio::select! {
                    // Nothing more is written for a client that has left.
                    biased;
                    () = acknowledgements.closed() => return,
                    saved = stream.save(next) => saved.map_err(Status::from),
                }
            }
            Some(Err(status)) => Err(status),
            None => return,
        };
        let Some(message) = message.transpose() else { return };
        let last = message.is_err();
        match stream.bound(STREAM_IDLE_TIMEOUT, acknowledgements.send(message)).await {
            Ok(Ok(())) if !last => {}
            Ok(_) => return,
            Err(_) => break,
        }
    }
    drop((chunks, open));
    // Without a time limit: a stream that is cut short must not look complete.
    let _ = acknowledgements.send(Err(Error::deadline_exceeded().into())).await;
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;
    use tonic::Code;

    use super::report_panic;

    #[tokio::test]
    async fn a_stream_of_which_a_side_panics_does_not_look_complete() {
        let (messages, mut received) = mpsc::channel(1);
        let own = messages.clone();
        let side = async move {
            own.send(Ok(1)).await.unwrap();
            panic!("the side panics");
        };
        tokio::spawn(report_panic(side, messages));
        assert_eq!(received.recv().await.unwrap().unwrap(), 1);
        assert_eq!(received.recv().await.unwrap().unwrap_err().code(), Code::Internal);
        assert!(received.recv().await.is_none());
    }
}
