//! Streams of chunks: each chunk is saved and acknowledged, in order, with a bounded number in memory.

use std::{
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use admission::{Count, OffThread};
use compliance_api::{
    error::Error,
    token::TokenError,
    v1::{StreamUrlObservationsRequest, StreamUrlObservationsResponse},
};
use futures::FutureExt as _;
use http_server::FinishBy;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Response, Status, Streaming};

use super::Chunk;
use crate::{
    access::Caller,
    deadline,
    monitoring::{context::Context, items::messages},
    requests::valid,
    shares::{self, Shares, Work},
};

/// How long a stream may be idle: no message from the client, or no acknowledgement read by it.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);

/// How long a client has to read that the time of its stream is up.
const SLACK: Duration = Duration::from_secs(2);

/// The acknowledgements of a stream: one for each chunk, in order.
pub(in crate::monitoring) type Acknowledgements = ReceiverStream<Result<StreamUrlObservationsResponse, Status>>;

/// Serves streams of observations.
pub(in crate::monitoring) struct Streams {
    context: Arc<Context>,
    shares: Shares,
    chunk_timeout: Duration,
}

impl Streams {
    /// `chunk_timeout` is the longest time that a chunk may take to be prepared, and to be saved.
    pub(in crate::monitoring) fn new(context: Arc<Context>, shares: &Shares, chunk_timeout: Duration) -> Self {
        Self { context, shares: shares.clone(), chunk_timeout }
    }

    /// Starts to serve a stream. While a chunk is being saved, the next one is prepared and no other is read; beside other
    /// companies, it is prepared when the last one is saved, so that a company does not use two processors. If the
    /// client does not read its acknowledgements, nothing is read. The stream ends at its timeout.
    pub(in crate::monitoring) fn serve(
        &self,
        caller: Caller,
        requests: Streaming<StreamUrlObservationsRequest>,
        timeout: Duration,
    ) -> Result<Response<Acknowledgements>, Error> {
        let times = Times { stream: Instant::now() + timeout, chunk: self.chunk_timeout };
        let saving = Saving {
            preparing: Preparing { context: Arc::clone(&self.context), caller: caller.clone() },
            _open: self.shares.open_stream(caller.company_id)?,
            shares: self.shares.clone(),
            times,
        };
        let (acknowledgements, receiver) = mpsc::channel(1);
        let (prepared, chunks) = mpsc::channel(1);
        let preparing = Preparing { context: Arc::clone(&self.context), caller };
        let reading = read(preparing, self.shares.clone(), requests, prepared.clone(), times);
        tokio::spawn(report_panic(reading, prepared));
        tokio::spawn(report_panic(save(saving, chunks, acknowledgements.clone()), acknowledgements));
        let mut response = Response::new(ReceiverStream::new(receiver));
        // A client that does not read never polls the stream.
        response.extensions_mut().insert(FinishBy(times.stream + SLACK));
        Ok(response)
    }
}

/// When a stream and its steps must have ended.
#[derive(Clone, Copy)]
struct Times {
    stream: Instant,
    chunk: Duration,
}

impl Times {
    /// Bounds a step of the stream.
    async fn bound<T>(self, time: Duration, step: impl Future<Output = T>) -> Result<T, Error> {
        let deadline = self.stream.min(Instant::now() + time);
        deadline::until(deadline, step).await.map_err(|_| Error::deadline_exceeded())
    }
}

/// A chunk that is to be saved.
enum Next {
    Prepared(Chunk),
    /// It is prepared in its slot.
    Received(StreamUrlObservationsRequest),
}

/// What the chunks of a stream are prepared with.
struct Preparing {
    context: Arc<Context>,
    caller: Caller,
}

impl Preparing {
    async fn prepare(&self, request: StreamUrlObservationsRequest) -> Result<Chunk, Error> {
        // A stream may outlive its token.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs() as i64);
        if self.caller.claims.exp <= now {
            return Err(TokenError::Expired.into());
        }
        let is_long = work_of(&request).is_heavy();
        let preparing = async {
            valid(&request)?;
            Chunk::prepare(&self.context, self.caller.company_id, request.observations).await
        };
        OffThread::new(preparing, is_long).await
    }
}

fn work_of(request: &StreamUrlObservationsRequest) -> Work {
    Work::of_items(request.observations.len())
}

/// What the chunks of a stream are saved with.
struct Saving {
    preparing: Preparing,
    shares: Shares,
    times: Times,
    /// Counts the stream as open.
    _open: Count,
}

impl Saving {
    /// A chunk that is not saved in time is not saved at all: its statement is cancelled.
    async fn save(&self, next: Next) -> Result<StreamUrlObservationsResponse, Error> {
        let Preparing { context, caller } = &self.preparing;
        let saving = async {
            let work = match &next {
                Next::Prepared(chunk) => Work::of_items(chunk.items()),
                Next::Received(request) => work_of(request),
            };
            let mut slot = self.shares.enter(caller.company_id, work).await?;
            let saving = async {
                let chunk = match next {
                    Next::Prepared(chunk) => chunk,
                    Next::Received(request) => self.preparing.prepare(request).await?,
                };
                let saving = chunk.save(context, caller.company_id);
                OffThread::new(async { saving.await.map(messages) }, work.is_heavy()).await
            };
            let results = shares::run(&mut slot, saving).await?;
            Ok(StreamUrlObservationsResponse { results })
        };
        self.times.bound(self.times.chunk, saving).await?
    }
}

/// Runs a side of a stream. If it panics, its last message is an error: a stream that is cut short must not look complete.
async fn report_panic<T>(side: impl Future<Output = ()>, messages: mpsc::Sender<Result<T, Status>>) {
    if AssertUnwindSafe(side).catch_unwind().await.is_err() {
        let _ = messages.send(Err(Error::internal().into())).await;
    }
}

/// Reads chunks and prepares them. Ends when the client does, at the first error of the stream as a whole, and when
/// saving has ended.
async fn read(
    preparing: Preparing,
    shares: Shares,
    mut requests: Streaming<StreamUrlObservationsRequest>,
    prepared: mpsc::Sender<Result<Next, Status>>,
    times: Times,
) {
    loop {
        let message = tokio::select! {
            () = prepared.closed() => return,
            message = times.bound(IDLE_TIMEOUT, requests.message()) => message,
        };
        let chunk = match message {
            Ok(Ok(Some(request))) if shares.are_several_calling() => Ok(Next::Received(request)),
            Ok(Ok(Some(request))) => {
                let chunk = times.bound(times.chunk, preparing.prepare(request)).await;
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

async fn save(
    saving: Saving,
    mut chunks: mpsc::Receiver<Result<Next, Status>>,
    acknowledgements: mpsc::Sender<Result<StreamUrlObservationsResponse, Status>>,
) {
    loop {
        let chunk = tokio::select! {
            () = acknowledgements.closed() => return,
            chunk = chunks.recv() => chunk,
            () = sleep_until(saving.times.stream) => Some(Err(Error::deadline_exceeded().into())),
        };
        let message = match chunk {
            Some(Ok(chunk)) => tokio::select! {
                // Nothing more is written for a client that has left.
                biased;
                () = acknowledgements.closed() => return,
                saved = saving.save(chunk) => saved.map_err(Status::from),
            },
            Some(Err(status)) => Err(status),
            None => return,
        };
        let last = message.is_err();
        match saving.times.bound(IDLE_TIMEOUT, acknowledgements.send(message)).await {
            Ok(Ok(())) if !last => {}
            Ok(_) => return,
            Err(_) => break,
        }
    }
    drop((chunks, saving));
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
