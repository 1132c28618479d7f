//! Streams of chunks: each chunk is saved and acknowledged, in order, with a bounded number in memory.

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

use super::Chunk;
use crate::{
    access::Caller,
    monitoring::{context::Context, items::messages},
    requests::valid,
};

/// Concurrent streams; more are refused as overload.
const MAX_STREAMS: usize = 64;
/// How long a stream may be idle: no message from the client, or no acknowledgement read by it.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);

/// The acknowledgements of a stream: one for each chunk, in order.
pub(in crate::monitoring) type Acknowledgements = ReceiverStream<Result<ObserveUrlsResponse, Status>>;

/// Serves streams of observations.
pub(in crate::monitoring) struct Streams {
    context: Arc<Context>,
    permits: Arc<Semaphore>,
}

impl Streams {
    pub(in crate::monitoring) fn new(context: Arc<Context>) -> Self {
        Self { context, permits: Arc::new(Semaphore::new(MAX_STREAMS)) }
    }

    /// Starts to serve a stream. While a chunk is being saved, the next one is prepared and no other is read. If the
    /// client does not read its acknowledgements, nothing is read.
    pub(in crate::monitoring) fn serve(
        &self,
        caller: Caller,
        requests: Streaming<ObserveUrlsRequest>,
    ) -> Result<Acknowledgements, Error> {
        let permit = Arc::clone(&self.permits).try_acquire_owned().map_err(|_| Error::overloaded())?;
        let (acknowledgements, receiver) = mpsc::channel(1);
        let (prepared, chunks) = mpsc::channel(1);
        tokio::spawn(read(Arc::clone(&self.context), caller.clone(), requests, prepared));
        tokio::spawn(save(Arc::clone(&self.context), caller.company_id, chunks, acknowledgements, permit));
        Ok(ReceiverStream::new(receiver))
    }
}

/// Reads chunks and prepares them. Ends when the client does, at the first error of the stream as a whole, and when
/// saving has ended.
async fn read(
    context: Arc<Context>,
    caller: Caller,
    mut requests: Streaming<ObserveUrlsRequest>,
    prepared: mpsc::Sender<Result<Chunk, Status>>,
) {
    loop {
        let message = tokio::select! {
            () = prepared.closed() => return,
            message = timeout(IDLE_TIMEOUT, requests.message()) => message,
        };
        let chunk = match message {
            Ok(Ok(Some(request))) => prepare(&context, &caller, request).await.map_err(Status::from),
            Ok(Ok(None)) => return,
            Ok(Err(status)) => Err(status),
            Err(_) => Err(Error::deadline_exceeded().into()),
        };
        let last = chunk.is_err();
        if prepared.send(chunk).await.is_err() || last {
            return;
        }
    }
}

async fn prepare(context: &Context, caller: &Caller, request: ObserveUrlsRequest) -> Result<Chunk, Error> {
    // A stream may outlive its token.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs() as i64);
    if caller.claims.exp <= now {
        return Err(TokenError::Expired.into());
    }
    valid(&request)?;
    Chunk::prepare(context, caller.company_id, request.observations).await
}

async fn save(
    context: Arc<Context>,
    company_id: i64,
    mut chunks: mpsc::Receiver<Result<Chunk, Status>>,
    acknowledgements: mpsc::Sender<Result<ObserveUrlsResponse, Status>>,
    permit: OwnedSemaphorePermit,
) {
    loop {
        let chunk = tokio::select! {
            () = acknowledgements.closed() => return,
            chunk = chunks.recv() => chunk,
        };
        let result = match chunk {
            Some(Ok(chunk)) => chunk.save(&context, company_id).await.map_err(Status::from),
            Some(Err(status)) => Err(status),
            None => return,
        };
        let last = result.is_err();
        let message = result.map(|results| ObserveUrlsResponse { results: messages(results) });
        match timeout(IDLE_TIMEOUT, acknowledgements.send(message)).await {
            Ok(Ok(())) if !last => {}
            Ok(_) => return,
            Err(_) => break,
        }
    }
    drop((chunks, permit));
    // Without a time limit: a stream that is cut short must not look complete.
    let _ = acknowledgements.send(Err(Error::deadline_exceeded().into())).await;
}
