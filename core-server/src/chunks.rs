//! Streams of chunks. Each chunk is saved and acknowledged before the next one is read.

use std::{future::ready, sync::Arc, time::Duration};

use admission::run_off_thread;
use compliance_api::{error::Error, rules::Check, token::TokenError, wire::Items};
use storage::deadline;
use tokio::time::Instant;
use tonic::{Response, Status, Streaming, codegen::BoxStream};

use crate::{
    access::{Identity, is_expired},
    backend::Backend,
    quotas::QueueClass,
    requests::valid,
    streams::{self, Messages},
};

/// How long a stream may be idle: the client sends no chunk, or reads no acknowledgement.
const STREAM_IDLE_TIMEOUT: Duration = Duration::from_mins(1);

/// Saves the chunks of a stream.
pub(crate) trait Chunks: Send + 'static {
    type Request: Check + Items + Send + 'static;
    type Response: Send + 'static;

    /// Saves a chunk whose rules were checked.
    fn save(&mut self, chunk: Self::Request) -> impl Future<Output = Result<Self::Response, Error>> + Send;

    /// Whether responses may follow the last chunk.
    fn has_more(&self) -> bool {
        false
    }

    /// The next response after the last chunk. `None` at the end.
    fn after_last(&mut self) -> impl Future<Output = Result<Option<Self::Response>, Error>> + Send {
        ready(Ok(None))
    }
}

/// Serves a stream until its timeout. Nothing is read from a client that does not read its acknowledgements.
pub(crate) fn serve<C: Chunks>(
    backend: &Arc<Backend>,
    chunks: C,
    caller: Identity,
    requests: Streaming<C::Request>,
    timeout: Duration,
) -> Result<Response<BoxStream<C::Response>>, Error> {
    let open = backend.quotas.open_stream(caller.company_id)?;
    let deadline = Instant::now() + timeout;
    let backend = Arc::clone(backend);
    Ok(streams::respond(open, deadline, move |acknowledgements| {
        Stream { backend, caller, deadline, acknowledgements }.run(chunks, requests)
    }))
}

struct Stream<R> {
    backend: Arc<Backend>,
    caller: Identity,
    deadline: Instant,
    acknowledgements: Messages<R>,
}

impl<R: Send + 'static> Stream<R> {
    async fn run<C: Chunks<Response = R>>(
        mut self,
        mut chunks: C,
        mut requests: Streaming<C::Request>,
    ) -> Result<(), Status> {
        while let Some(request) = bound(self.deadline, STREAM_IDLE_TIMEOUT, requests.message()).await?? {
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

    /// Runs work with a permit. The timeout cancels the statement of unfinished work.
    async fn work<T>(&self, work: QueueClass, step: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let Self { backend, caller, .. } = self;
        let working = async {
            let _permit = backend.quotas.enter(caller.company_id, work).await?;
            let step = async {
                // A stream may outlive its token.
                if is_expired(&caller.claims) { Err(TokenError::Expired.into()) } else { step.await }
            };
            run_off_thread(Box::pin(step), work.is_heavy()).await
        };
        bound(self.deadline, backend.settings.call_timeout, working).await?
    }

    async fn acknowledge(&mut self, response: R) -> Result<(), Error> {
        bound(self.deadline, STREAM_IDLE_TIMEOUT, self.acknowledgements.wanted()).await?;
        self.acknowledgements.send(response, ());
        Ok(())
    }
}

/// Runs a step for at most this time, and not beyond the deadline.
async fn bound<T>(deadline: Instant, time: Duration, step: impl Future<Output = T>) -> Result<T, Error> {
    let deadline = deadline.min(Instant::now() + time);
    deadline::until(deadline, step).await.map_err(|_| Error::deadline_exceeded())
}
