//! Streams of chunks: each chunk is saved and acknowledged, in order, with a bounded number in memory.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use admission::Count;
use compliance_api::{
    error::Error,
    token::TokenError,
    v1::{ObserveUrlsRequest, ObserveUrlsResponse},
};
use tokio::{sync::mpsc, time::timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::Chunk;
use crate::{
    access::Caller,
    monitoring::{context::Context, items::messages},
    requests::valid,
    shares::{Shares, Work},
};

/// How long a stream may be idle: no message from the client, or no acknowledgement read by it.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);

/// The acknowledgements of a stream: one for each chunk, in order.
pub(in crate::monitoring) type Acknowledgements = ReceiverStream<Result<ObserveUrlsResponse, Status>>;

/// Serves streams of observations.
pub(in crate::monitoring) struct Streams {
    context: Arc<Context>,
    shares: Shares,
}

impl Streams {
    pub(in crate::monitoring) fn new(context: Arc<Context>, shares: &Shares) -> Self {
        Self { context, shares: shares.clone() }
    }

    /// Starts to serve a stream. While a chunk is being saved, the next one is prepared and no other is read. If the
    /// client does not read its acknowledgements, nothing is read.
    pub(in crate::monitoring) fn serve(
        &self,
        caller: Caller,
        requests: Streaming<ObserveUrlsRequest>,
    ) -> Result<Acknowledgements, Error> {
        let saving = Saving {
            context: Arc::clone(&self.context),
            company_id: caller.company_id,
            _open: self.shares.open_stream(caller.company_id)?,
            shares: self.shares.clone(),
        };
        let (acknowledgements, receiver) = mpsc::channel(1);
        let (prepared, chunks) = mpsc::channel(1);
        tokio::spawn(read(Arc::clone(&self.context), caller, requests, prepared));
        tokio::spawn(save(saving, chunks, acknowledgements));
        Ok(ReceiverStream::new(receiver))
    }
}

/// What the chunks of a stream are saved with.
struct Saving {
    context: Arc<Context>,
    company_id: i64,
    shares: Shares,
    /// Counts the stream as open.
    _open: Count,
}

impl Saving {
    async fn save(&self, chunk: Chunk) -> Result<ObserveUrlsResponse, Error> {
        let _slot = self.shares.enter(self.company_id, Work::of_items(chunk.items())).await?;
        Ok(ObserveUrlsResponse { results: messages(chunk.save(&self.context, self.company_id).await?) })
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
    saving: Saving,
    mut chunks: mpsc::Receiver<Result<Chunk, Status>>,
    acknowledgements: mpsc::Sender<Result<ObserveUrlsResponse, Status>>,
) {
    loop {
        let chunk = tokio::select! {
            () = acknowledgements.closed() => return,
            chunk = chunks.recv() => chunk,
        };
        let message = match chunk {
            Some(Ok(chunk)) => saving.save(chunk).await.map_err(Status::from),
            Some(Err(status)) => Err(status),
            None => return,
        };
        let last = message.is_err();
        match timeout(IDLE_TIMEOUT, acknowledgements.send(message)).await {
            Ok(Ok(())) if !last => {}
            Ok(_) => return,
            Err(_) => break,
        }
    }
    drop((chunks, saving));
    // Without a time limit: a stream that is cut short must not look complete.
    let _ = acknowledgements.send(Err(Error::deadline_exceeded().into())).await;
}
