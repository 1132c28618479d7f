//! Calls operations and reads lists, with tokens, deadlines and retries.

use std::time::Duration;

use futures_core::Stream;
use futures_util::{
    StreamExt as _, TryStreamExt as _,
    future::ready,
    stream::{iter, try_unfold},
};
use prost::Message as _;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tonic::{Request, Status, Streaming, client::Grpc, codegen::http::uri::PathAndQuery, transport::Channel};
use tonic_prost::ProstCodec;

use crate::{
    Error, List, Retries, UnaryRequest,
    token::{Authorization, Tokens},
    v1::{ListChangesResponse, ObservationResult, ObserveUrlsRequest, UrlObservation, WatchChangesRequest},
};

/// Maximum number of observations per call. Larger calls are not faster.
const OBSERVATIONS: usize = 1000;
/// Maximum size of a call with several observations, in bytes. By default, the service accepts 64 MiB.
const BATCH: usize = 4 << 20;
/// Number of concurrent calls per observation stream.
const CALLS: usize = 2;

/// A client for the service.
///
/// Clones are cheap. They share one connection and one token.
#[derive(Clone, Debug)]
pub struct Client {
    pub(crate) channel: Channel,
    pub(crate) tokens: Tokens,
    pub(crate) deadline: Duration,
    pub(crate) message_limit: usize,
    pub(crate) retries: Retries,
}

impl Client {
    /// Returns a copy of the client with this deadline: `client.with_deadline(Duration::from_secs(2)).call(…)`.
    #[must_use]
    pub fn with_deadline(&self, deadline: Duration) -> Self {
        Self { deadline, ..self.clone() }
    }

    /// Returns the connection once it is ready for a call.
    async fn grpc(&self) -> Result<Grpc<Channel>, Status> {
        let mut grpc = Grpc::new(self.channel.clone()).max_decoding_message_size(self.message_limit);
        grpc.ready().await.map_err(|error| Status::unknown(format!("Service was not ready: {error}")))?;
        Ok(grpc)
    }

    /// Calls an operation, and retries temporary errors until the deadline.
    ///
    /// If the response to a create is lost, the retry can fail with [`Error::AlreadyExists`], or report a duplicate in a batch.
    /// A retry with an etag fails with [`Error::EtagMismatch`] if the first try changed the record. In both errors, `is_retry` is
    /// then true.
    pub async fn call<R: UnaryRequest>(&self, request: R) -> Result<R::Response, Error> {
        let deadline = Instant::now() + self.deadline;
        let tries = async {
            let mut tries = Tries::default();
            loop {
                let attempt = tries.request(self, request.clone(), Some(deadline)).await?;
                let sent = async {
                    let path = PathAndQuery::from_static(R::PATH);
                    self.grpc().await?.unary(attempt, path, ProstCodec::default()).await
                };
                match sent.await {
                    Ok(response) => return Ok(response.into_inner()),
                    Err(status) => tries.recover(self, status.into(), Some(deadline)).await?,
                }
            }
        };
        timeout_at(deadline, tries).await.unwrap_or(Err(Error::DeadlineExceeded))
    }

    /// Streams all records of a type, by ascending ID.
    ///
    /// After a lost connection, or when the service ends the stream at its time limit, the stream resumes after the last received
    /// record. It ends after the last record or with an error. The service sends records only as fast as you read them.
    pub fn list<L: List>(&self, request: L) -> impl Stream<Item = Result<L::Record, Error>> + Send + 'static {
        let (client, records) = (self.clone(), Vec::new().into_iter());
        let start = Reading { client, request, last: 0, tries: Tries::default(), stream: None, records };
        try_unfold(start, |mut reading| async move { Ok(reading.record().await?.map(|record| (record, reading))) })
    }

    /// Streams observations, and returns a result for each, in order.
    ///
    /// Each call sends the observations that are ready, up to 1,000 or 4 MiB, and is retried like [`Client::call`]. Two calls run
    /// concurrently; more would wait for each other. The stream ends with the first error. By then, the service may have saved
    /// later observations.
    pub fn observe<S>(&self, observations: S) -> impl Stream<Item = Result<ObservationResult, Error>> + Send
    where
        S: Stream<Item = UrlObservation> + Send,
    {
        let client = self.clone();
        let call = move |observations| {
            let client = client.clone();
            async move { client.call(ObserveUrlsRequest { observations }).await }
        };
        let batches = observations.ready_chunks(OBSERVATIONS).flat_map(|ready| iter(batches(ready)));
        let responses = batches.map(call).buffered(CALLS);
        // The caller would match results after an error with the wrong observations.
        let until_error = responses.scan(false, |has_failed, response| {
            ready((!std::mem::replace(has_failed, response.is_err())).then_some(response))
        });
        until_error.map_ok(|response| iter(response.results.into_iter().map(Ok))).try_flatten()
    }

    /// Streams changes as they are committed. The stream ends only with an error.
    ///
    /// A page without changes only reports the new position. A broken stream resumes after the last received page. The deadline
    /// applies to each message and should be longer than ten seconds.
    pub fn watch(
        &self,
        request: WatchChangesRequest,
    ) -> impl Stream<Item = Result<ListChangesResponse, Error>> + Send + 'static {
        self.list(request)
    }
}

/// Splits observations into batches of at most `BATCH` bytes. A larger observation is alone in its batch.
fn batches(observations: Vec<UrlObservation>) -> Vec<Vec<UrlObservation>> {
    let (mut batches, mut size) = (Vec::<Vec<_>>::new(), 0);
    for observation in observations {
        size += observation.encoded_len();
        match batches.last_mut() {
            Some(batch) if size <= BATCH => batch.push(observation),
            _ => {
                size = observation.encoded_len();
                batches.push(vec![observation]);
            }
        }
    }
    batches
}

/// State of a list in progress.
struct Reading<L: List> {
    client: Client,
    request: L,
    /// ID of the last received record.
    last: i64,
    tries: Tries,
    stream: Option<Streaming<L::Response>>,
    /// Unread records of the last message.
    records: std::vec::IntoIter<L::Record>,
}

impl<L: List> Reading<L> {
    /// Returns the next record.
    async fn record(&mut self) -> Result<Option<L::Record>, Error> {
        loop {
            if let Some(record) = self.records.next() {
                return Ok(Some(record));
            }
            match self.message().await {
                Ok(Some(message)) => {
                    self.records = L::records(message, &mut self.last).into_iter();
                    // Long lists need more retries than a call, so new records reset the count.
                    if self.records.len() > 0 {
                        (self.tries.failed, self.tries.is_renewed) = (0, false);
                    }
                    self.request.resume_after(self.last);
                }
                Ok(None) => return Ok(None),
                Err(error) => {
                    self.stream = None;
                    self.tries.recover(&self.client, error, None).await?;
                }
            }
        }
    }

    /// Returns the next message, and opens the stream if necessary.
    async fn message(&mut self) -> Result<Option<L::Response>, Error> {
        let deadline = self.client.deadline;
        let stream = if let Some(stream) = &mut self.stream {
            stream
        } else {
            let opened = async {
                let attempt = self.tries.request(&self.client, self.request.clone(), None).await?;
                let (mut grpc, path) = (self.client.grpc().await?, PathAndQuery::from_static(L::PATH));
                Ok::<_, Error>(grpc.server_streaming(attempt, path, ProstCodec::default()).await?.into_inner())
            };
            self.stream.insert(within(deadline, opened).await?)
        };
        within(deadline, stream.message()).await
    }
}

/// Runs `work` with a time limit.
async fn within<T, E: Into<Error>>(longest: Duration, work: impl Future<Output = Result<T, E>>) -> Result<T, Error> {
    timeout(longest, work).await.map_err(|_| Error::DeadlineExceeded)?.map_err(Into::into)
}

/// State of a call's retries.
#[derive(Default)]
struct Tries {
    /// Number of failed tries. For a list, counted since the last new record.
    failed: u32,
    /// The token of the last try.
    token: Option<Authorization>,
    /// Whether the last token replaced a rejected token.
    is_renewed: bool,
}

impl Tries {
    /// Returns the request for the next try.
    async fn request<M>(
        &mut self,
        client: &Client,
        message: M,
        deadline: Option<Instant>,
    ) -> Result<Request<M>, Error> {
        let token = match self.token.clone() {
            Some(token) => token,
            None => client.tokens.other_than(None).await?,
        };
        let mut request = Request::new(message);
        request.metadata_mut().insert("authorization", token.clone());
        if let Some(deadline) = deadline {
            request.set_timeout(deadline.saturating_duration_since(Instant::now()));
        }
        self.token = Some(token);
        Ok(request)
    }

    /// Requests a new token or waits, after an error. Returns the error if the call cannot be retried.
    async fn recover(&mut self, client: &Client, mut error: Error, deadline: Option<Instant>) -> Result<(), Error> {
        if matches!(error, Error::Unauthenticated { .. }) && !self.is_renewed {
            self.is_renewed = true;
            let renewed = within(client.deadline, client.tokens.other_than(self.token.as_ref())).await?;
            return if self.token.replace(renewed) == self.token { Err(error) } else { Ok(()) };
        }
        if let Error::EtagMismatch { is_retry, .. } | Error::AlreadyExists { is_retry, .. } = &mut error {
            *is_retry = self.failed > 0;
        }
        self.failed += 1;
        match client.retries.wait(self.failed, &error) {
            Some(wait) if deadline.is_none_or(|deadline| Instant::now() + wait < deadline) => {
                sleep(wait).await;
                Ok(())
            }
            _ => Err(error),
        }
    }
}
