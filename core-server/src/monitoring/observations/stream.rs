//! Chunks that come as a stream: each is saved and acknowledged, in order, with a bounded number in hand.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use compliance_api::{
    error::Error,
    token::TokenError,
    v1::{ObserveUrlsRequest, ObserveUrlsResponse},
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::timeout,
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::{Chunk, MOST, Store};
use crate::{
    access::Caller,
    monitoring::{faults::at_most, names::Names},
};

/// Streams at the same time, at most; more are refused as overload.
const MOST_STREAMS: usize = 64;
/// How long a stream may stand still: no message from the client, or no room for an answer to it.
const IDLE: Duration = Duration::from_mins(1);

/// The answers to a stream.
pub(in crate::monitoring) type Answers = ReceiverStream<Result<ObserveUrlsResponse, Status>>;

/// Serves streams of observations.
pub(in crate::monitoring) struct Streams {
    names: Arc<Names>,
    store: Arc<Store>,
    open: Arc<Semaphore>,
}

impl Streams {
    pub(in crate::monitoring) fn new(names: Arc<Names>, store: Arc<Store>) -> Self {
        Self { names, store, open: Arc::new(Semaphore::new(MOST_STREAMS)) }
    }

    /// Starts to serve one. While a chunk is being saved the next one is made ready and no further one is read, nor is
    /// any while nobody takes the answers.
    pub(in crate::monitoring) fn serve(
        &self,
        caller: Caller,
        requests: Streaming<ObserveUrlsRequest>,
    ) -> Result<Answers, Error> {
        let permit = Arc::clone(&self.open).try_acquire_owned().map_err(|_| Error::overloaded())?;
        let (answers, told) = mpsc::channel(1);
        let (ready, chunks) = mpsc::channel(1);
        tokio::spawn(read(Arc::clone(&self.names), caller.clone(), requests, ready));
        tokio::spawn(save(Arc::clone(&self.store), caller.company_id, chunks, answers, permit));
        Ok(ReceiverStream::new(told))
    }
}

/// Reads chunks and makes them ready. It ends when the client does, at the first fault of the stream as a whole, and
/// when nobody saves any more.
async fn read(
    names: Arc<Names>,
    caller: Caller,
    mut requests: Streaming<ObserveUrlsRequest>,
    ready: mpsc::Sender<Result<Chunk, Status>>,
) {
    loop {
        let message = tokio::select! {
            () = ready.closed() => return,
            message = timeout(IDLE, requests.message()) => message,
        };
        let chunk = match message {
            Ok(Ok(Some(request))) => prepare(&names, &caller, request).await.map_err(Status::from),
            Ok(Ok(None)) => return,
            Ok(Err(status)) => Err(status),
            Err(_) => Err(Error::deadline_exceeded().into()),
        };
        let last = chunk.is_err();
        if ready.send(chunk).await.is_err() || last {
            return;
        }
    }
}

async fn prepare(names: &Names, caller: &Caller, request: ObserveUrlsRequest) -> Result<Chunk, Error> {
    // A stream may be longer than its token is good for.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
    if caller.claims.exp <= now {
        return Err(TokenError::Expired.into());
    }
    at_most(MOST, "observations", request.observations.len())?;
    Chunk::prepare(names, caller.company_id, request.observations).await
}

async fn save(
    store: Arc<Store>,
    company_id: i64,
    mut chunks: mpsc::Receiver<Result<Chunk, Status>>,
    answers: mpsc::Sender<Result<ObserveUrlsResponse, Status>>,
    permit: OwnedSemaphorePermit,
) {
    loop {
        let chunk = tokio::select! {
            () = answers.closed() => return,
            chunk = chunks.recv() => chunk,
        };
        let answer = match chunk {
            Some(Ok(chunk)) => chunk.save(&store, company_id).await.map_err(Status::from),
            Some(Err(status)) => Err(status),
            None => return,
        };
        let last = answer.is_err();
        let answer = answer.map(|results| ObserveUrlsResponse { results });
        match timeout(IDLE, answers.send(answer)).await {
            Ok(Ok(())) if !last => {}
            Ok(_) => return,
            Err(_) => break,
        }
    }
    drop((chunks, permit));
    // However late the client comes for it: a stream that is cut short must not look complete.
    let _ = answers.send(Err(Error::deadline_exceeded().into())).await;
}
