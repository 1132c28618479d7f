//! Streams of chunks: each chunk is saved and acknowledged, in order, with a bounded number in memory.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use admission::{Count, run_off_thread};
use compliance_api::{
    error::Error,
    token::TokenError,
    v1::{StreamUrlObservationsRequest, StreamUrlObservationsResponse},
};
use futures::FutureExt as _;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Response, Status, Streaming};

use super::Chunk;
use crate::{
    access::{Identity, is_expired},
    deadline,
    limits::STREAM_IDLE_TIMEOUT,
    monitoring::{
        context::{Company, Context},
        items::messages,
    },
    requests::{streamed, valid},
    shares::{self, Work},
    statement,
};

/// The acknowledgements of a stream: one for each chunk, in order.
pub(in crate::monitoring) type Acknowledgements = ReceiverStream<Result<StreamUrlObservationsResponse, Status>>;

/// Starts to serve a stream. While a chunk is being saved, the next one is prepared and no other is read; while other
/// companies call, it is prepared when the last one is saved, so that a company does not use two processors. If the
/// client does not read its acknowledgements, nothing is read. The stream ends at its timeout.
pub(in crate::monitoring) fn serve(
    context: &Arc<Context>,
    caller: Identity,
    requests: Streaming<StreamUrlObservationsRequest>,
    timeout: Duration,
) -> Result<Response<Acknowledgements>, Error> {
    let open = context.backend.shares.open_stream(caller.company_id)?;
    let stream = Arc::new(Stream { context: Arc::clone(context), caller, deadline: Instant::now() + timeout });
    let (acknowledgements, receiver) = mpsc::channel(1);
    let (prepared, chunks) = mpsc::channel(1);
    let reading = read(Arc::clone(&stream), requests, prepared.clone());
    tokio::spawn(statement::inherit(report_panic(reading, prepared)));
    let deadline = stream.deadline;
    let saving = save(stream, open, chunks, acknowledgements.clone());
    tokio::spawn(statement::inherit(report_panic(saving, acknowledgements)));
    Ok(streamed(ReceiverStream::new(receiver), deadline))
}

enum Next {
    Prepared(Chunk),
    /// It is prepared in its slot.
    Received(StreamUrlObservationsRequest),
}

struct Stream {
    context: Arc<Context>,
    caller: Identity,
    deadline: Instant,
}

impl Stream {
    async fn bound<T>(&self, time: Duration, step: impl Future<Output = T>) -> Result<T, Error> {
        let deadline = self.deadline.min(Instant::now() + time);
        deadline::until(deadline, step).await.map_err(|_| Error::deadline_exceeded())
    }

    fn company(&self) -> Company<'_> {
        Company { id: self.caller.company_id, context: &self.context }
    }

    fn call_timeout(&self) -> Duration {
        self.context.backend.settings.call_timeout
    }

    async fn prepare(&self, request: StreamUrlObservationsRequest) -> Result<Chunk, Error> {
        // A stream may outlive its token.
        if is_expired(&self.caller.claims) {
            return Err(TokenError::Expired.into());
        }
        valid(&request)?;
        Chunk::prepare(self.company(), request.observations).await
    }

    /// A chunk that is not saved in time is not saved at all: its statement is cancelled.
    async fn save(&self, next: Next) -> Result<StreamUrlObservationsResponse, Error> {
        let Self { context, caller, .. } = self;
        let saving = async {
            let work = Work::of_items(match &next {
                Next::Prepared(chunk) => chunk.outcomes.len(),
                Next::Received(request) => request.observations.len(),
            });
            let mut slot = context.backend.shares.enter(caller.company_id, work).await?;
            let saving = async {
                let chunk = match next {
                    Next::Prepared(chunk) => chunk,
                    Next::Received(request) => self.prepare(request).await?,
                };
                chunk.save(self.company()).await.map(messages)
            };
            let results = shares::run(&mut slot, work.is_heavy(), Box::pin(saving)).await?;
            Ok(StreamUrlObservationsResponse { results })
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
async fn read(
    stream: Arc<Stream>,
    mut requests: Streaming<StreamUrlObservationsRequest>,
    prepared: mpsc::Sender<Result<Next, Status>>,
) {
    loop {
        let message = tokio::select! {
            () = prepared.closed() => return,
            message = stream.bound(STREAM_IDLE_TIMEOUT, requests.message()) => message,
        };
        let chunk = match message {
            Ok(Ok(Some(request))) if stream.context.backend.shares.are_several_calling() => Ok(Next::Received(request)),
            Ok(Ok(Some(request))) => {
                let is_long = Work::of_items(request.observations.len()).is_heavy();
                let preparing = run_off_thread(stream.prepare(request), is_long);
                let chunk = stream.bound(stream.call_timeout(), preparing).await;
                chunk.and_then(|chunk| chunk).map(Next::Prepared).map_err(Status::from)
            }
            Ok(Ok(None)) => return,
            Ok(Err(status)) => Err(status),
            Err(error) => Err(error.into()),
        };
        let last = chunk.is_err();
        if prepared.send(chunk).await.is_err() || last {
            return;
        }
    }
}

/// Saves chunks and acknowledges them. `open` counts the stream.
async fn save(
    stream: Arc<Stream>,
    open: Count,
    mut chunks: mpsc::Receiver<Result<Next, Status>>,
    acknowledgements: mpsc::Sender<Result<StreamUrlObservationsResponse, Status>>,
) {
    loop {
        let chunk = tokio::select! {
            () = acknowledgements.closed() => return,
            chunk = chunks.recv() => chunk,
            () = sleep_until(stream.deadline) => Some(Err(Error::deadline_exceeded().into())),
        };
        let message = match chunk {
            Some(Ok(chunk)) => tokio::select! {
                // Nothing more is written for a client that has left.
                biased;
                () = acknowledgements.closed() => return,
                saved = stream.save(chunk) => saved.map_err(Status::from),
            },
            Some(Err(status)) => Err(status),
            None => return,
        };
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
