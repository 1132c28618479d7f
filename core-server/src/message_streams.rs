//! Message streams. A task produces messages, and a reader consumes them.
//!
//! A chunk stream also receives messages. It saves and acknowledges each chunk before reading the next one.

use std::{future::ready, sync::Arc, time::Duration};

use admission::{WorkPermit, run_off_thread};
use compliance_api::{
    error::Error,
    rules::Check,
    token::{TokenError, VerifiedToken},
    wire::Items,
};
use futures::{StreamExt as _, stream};
use http_server::FinishBy;
use storage::{deadline, statement_context};
use telemetry::trace;
use tokio::{
    sync::{Semaphore, mpsc},
    time::{Instant, timeout_at},
};
use tonic::{Request, Response, Status, Streaming, codegen::BoxStream};

use crate::{
    access::{Served, caller, is_expired, valid},
    backend::Backend,
    quotas::DatabaseWork,
};

/// Maximum size of a message with several records, in bytes. Small, because each connection with a stalled client holds one message.
pub const MESSAGE_BYTES: usize = 16 << 10;
/// How long a task keeps data for a stalled reader. After this time, the task drops the data and rereads it later.
pub(crate) const MESSAGE_STALLED: Duration = Duration::from_millis(500);

/// How long a client can still read the error after its deadline.
const DEADLINE_SLACK: Duration = Duration::from_secs(2);

/// Sends a task's messages. Each message holds its resources until the reader asks for the next one.
pub(crate) struct Messages<T, H = ()> {
    /// Holds a permit while the reader waits for a message.
    wanted: Arc<Semaphore>,
    sender: mpsc::UnboundedSender<Sent<T, H>>,
}

/// A message, or `None` at the end. A stream without this end is incomplete.
type Sent<T, H> = Option<Result<(T, H), Status>>;

impl<T, H> Messages<T, H> {
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.available_permits() > 0
    }

    /// Waits until the reader asks for a message. If the reader disconnects, the task is dropped here.
    pub(crate) async fn wanted(&self) {
        let _ = self.wanted.acquire().await;
    }

    pub(crate) fn send(&self, message: T, resources: H) {
        self.wanted.forget_permits(1);
        // If the reader has disconnected, the task is dropped at its next wait.
        let _ = self.sender.send(Some(Ok((message, resources))));
    }
}

/// Responds with a stream of a task's messages. The stream ends when the task ends, the reader disconnects, or the deadline passes.
///
/// `open` counts the stream as open.
pub(crate) fn respond<T, H, E, F>(
    open: WorkPermit,
    deadline: Instant,
    make: impl FnOnce(Messages<T, H>) -> F,
) -> Response<BoxStream<T>>
where
    T: Send + 'static,
    H: Send + 'static,
    E: Into<Status>,
    F: Future<Output = Result<(), E>> + Send + 'static,
{
    let wanted = Arc::new(Semaphore::new(0));
    let (sender, received) = mpsc::unbounded_channel();
    let making = timeout_at(deadline, make(Messages { wanted: Arc::clone(&wanted), sender: sender.clone() }));
    let task = async move {
        let ended = tokio::select! {
            // Once the reader has disconnected, the task reads and writes nothing more.
            biased;
            () = sender.closed() => return,
            ended = making => ended,
        };
        // A reader that never reads the end must not block its company's other streams.
        drop(open);
        let ended = ended.map_or_else(|_| Err(Error::deadline_exceeded().into()), |ended| ended.map_err(Into::into));
        let _ = sender.send(ended.err().map(Err));
    };
    #[allow(clippy::disallowed_methods, reason = "the task ends with its call")]
    tokio::spawn(trace::inherit(statement_context::inherit(task)));
    streamed(receive(wanted, received), deadline)
}

/// Returns a stream that the client must read by the deadline.
///
/// A stalled client never polls the stream, so the server enforces the deadline. Until then, the response holds its request's resources.
pub(crate) fn streamed<S>(messages: S, deadline: Instant) -> Response<S> {
    let mut response = Response::new(messages);
    response.extensions_mut().insert(FinishBy(deadline + DEADLINE_SLACK));
    response
}

/// Returns how long the whole response to a request can take, at most `longest`.
pub(crate) fn timeout_of<T>(request: &Request<T>, longest: Duration) -> Duration {
    deadline::timeout(request.metadata().as_ref(), longest)
}

/// Returns the reader's end of a message stream.
fn receive<T: Send + 'static, H: Send + 'static>(
    wanted: Arc<Semaphore>,
    received: mpsc::UnboundedReceiver<Sent<T, H>>,
) -> BoxStream<T> {
    let messages = stream::unfold((wanted, received, None), |(wanted, mut received, resources)| async {
        drop::<Option<H>>(resources);
        wanted.add_permits(1);
        // A task that ends without `None` has panicked. A truncated stream must not look complete.
        let sent = received.recv().await.unwrap_or_else(|| Some(Err(Error::internal().into())));
        Some(match sent? {
            Ok((message, resources)) => (Ok(message), (wanted, received, Some(resources))),
            Err(status) => (Err(status), (wanted, received, None)),
        })
    });
    Box::pin(messages.fuse())
}

/// Maximum time that a client can go without sending a chunk or reading an acknowledgement.
const STREAM_IDLE_TIMEOUT: Duration = Duration::from_mins(1);

/// Saves a stream's chunks.
pub(crate) trait Chunks: Send + 'static {
    type Request: Check + Items + Send + 'static;
    type Response: Send + 'static;

    /// Saves a validated chunk.
    fn save(&mut self, chunk: Self::Request) -> impl Future<Output = Result<Self::Response, Error>> + Send;

    /// Returns whether responses can follow the last chunk.
    fn has_more(&self) -> bool {
        false
    }

    /// Returns the next response after the last chunk, or `None` at the end.
    fn after_last(&mut self) -> impl Future<Output = Result<Option<Self::Response>, Error>> + Send {
        ready(Ok(None))
    }
}

/// Serves a chunk stream until its timeout. `chunks` creates the stream's state for the caller's company.
///
/// Reads no more chunks until the client reads its acknowledgements.
pub(crate) fn serve_chunks<C: Chunks>(
    backend: &Arc<Backend>,
    request: Request<Streaming<C::Request>>,
    chunks: impl FnOnce(i64) -> C,
) -> Served<BoxStream<C::Response>> {
    let caller = caller(&request)?.clone();
    let deadline = Instant::now() + timeout_of(&request, backend.settings.stream_timeout);
    let open = backend.quotas.open_stream(caller.company_id)?;
    let (chunks, requests, backend) = (chunks(caller.company_id), request.into_inner(), Arc::clone(backend));
    Ok(respond(open, deadline, move |acknowledgements| {
        Stream { backend, caller, deadline, acknowledgements }.run(chunks, requests)
    }))
}

struct Stream<R> {
    backend: Arc<Backend>,
    caller: VerifiedToken,
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
            let work = DatabaseWork::of_items(request.items());
            let save = async {
                valid(&request)?;
                chunks.save(request).await
            };
            let response = self.work(work, save).await?;
            self.acknowledge(response).await?;
        }
        while chunks.has_more()
            && let Some(response) = self.work(DatabaseWork::Statement, chunks.after_last()).await?
        {
            self.acknowledge(response).await?;
        }
        Ok(())
    }

    /// Runs work with a permit. On timeout, cancels the running statement.
    async fn work<T>(&self, work: DatabaseWork, step: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let Self { backend, caller, .. } = self;
        let working = async {
            let _permit = backend.quotas.enter(caller.company_id, work).await?;
            let step = async {
                // A stream can outlive its token.
                if is_expired(caller) { Err(TokenError::Expired.into()) } else { step.await }
            };
            run_off_thread(Box::pin(step), work.is_long()).await
        };
        bound(self.deadline, backend.settings.call_timeout, working).await?
    }

    async fn acknowledge(&mut self, response: R) -> Result<(), Error> {
        bound(self.deadline, STREAM_IDLE_TIMEOUT, self.acknowledgements.wanted()).await?;
        self.acknowledgements.send(response, ());
        Ok(())
    }
}

/// Runs a step for at most `time`, and never past the deadline.
async fn bound<T>(deadline: Instant, time: Duration, step: impl Future<Output = T>) -> Result<T, Error> {
    let deadline = deadline.min(Instant::now() + time);
    deadline::until(deadline, step).await.map_err(|_| Error::deadline_exceeded())
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;

    #[tokio::test]
    async fn panicking_tasks_end_streams_with_error() {
        for panics in [false, true] {
            let wanted = Arc::new(Semaphore::new(0));
            let (sender, received) = mpsc::unbounded_channel();
            let messages = Messages { wanted: Arc::clone(&wanted), sender: sender.clone() };
            let task = tokio::spawn(async move {
                messages.wanted().await;
                messages.send(1, ());
                assert!(!panics, "the task panics");
                sender.send(None).unwrap();
            });
            let messages: Vec<_> = receive(wanted, received).take(2).collect().await;
            assert_eq!(*messages[0].as_ref().unwrap(), 1);
            assert_eq!(messages.get(1).map(|end| end.as_ref().unwrap_err().code()), panics.then_some(Code::Internal));
            assert_eq!(task.await.is_err(), panics);
        }
    }
}
