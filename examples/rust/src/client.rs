//! The client: calls and lists, each with a token, a deadline and retries.

use std::time::Duration;

use async_stream::try_stream;
use futures::Stream;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tonic::{Request, transport::Channel};

use crate::{
    Builder, Error, List, Operation, Retries,
    token::{Authorization, Tokens},
};

/// A client of the service. Clones are cheap and share its connection and its token.
#[derive(Clone, Debug)]
pub struct Client {
    channel: Channel,
    tokens: Tokens,
    deadline: Duration,
    message_limit: usize,
    retries: Retries,
}

impl Client {
    /// A client of the service at this endpoint, such as `http://127.0.0.1:50051`. It needs a
    /// [token](Builder::token) or a [source of tokens](Builder::token_source).
    pub fn builder(endpoint: impl Into<String>) -> Builder {
        Builder::new(endpoint.into())
    }

    pub(crate) fn new(
        channel: Channel,
        tokens: Tokens,
        deadline: Duration,
        message_limit: usize,
        retries: Retries,
    ) -> Self {
        Self { channel, tokens, deadline, message_limit, retries }
    }

    /// The same client with another deadline: `client.with_deadline(Duration::from_secs(2)).call(…)`.
    #[must_use]
    pub fn with_deadline(&self, deadline: Duration) -> Self {
        Self { deadline, ..self.clone() }
    }

    /// Calls an operation, and repeats it after errors that may go away, until its deadline.
    ///
    /// A creation that is repeated since its answer was lost may be reported as [`Error::AlreadyExists`], or in a batch as a
    /// duplicate. Every other operation returns what it would have returned.
    pub async fn call<O: Operation>(&self, request: O) -> Result<O::Response, Error> {
        let deadline = Instant::now() + self.deadline;
        let tries = async {
            let mut tries = Tries::default();
            loop {
                let attempt = tries.request(self, request.clone(), Some(deadline)).await?;
                match O::send(attempt, self.channel.clone(), self.message_limit).await {
                    Ok(response) => return Ok(response.into_inner()),
                    Err(status) => tries.recover(self, status.into(), Some(deadline)).await?,
                }
            }
        };
        timeout_at(deadline, tries).await.unwrap_or(Err(Error::DeadlineExceeded))
    }

    /// All records of a kind, by ID ascending. A stream that breaks is resumed after the last record that was received. It
    /// ends after the last record, or with an error. The service sends no more than is read.
    pub fn list<L: List>(&self, request: L) -> impl Stream<Item = Result<L::Record, Error>> + Send + 'static {
        let (client, mut request, mut last) = (self.clone(), request, 0);
        try_stream! {
            let mut tries = Tries::default();
            'connections: loop {
                let opened = timeout(client.deadline, async {
                    let attempt = tries.request(&client, request.clone(), None).await?;
                    Ok::<_, Error>(L::open(attempt, client.channel.clone(), client.message_limit).await?.into_inner())
                });
                let mut stream = match opened.await.unwrap_or(Err(Error::DeadlineExceeded)) {
                    Ok(stream) => stream,
                    Err(error) => {
                        tries.recover(&client, error, None).await?;
                        continue 'connections;
                    }
                };
                loop {
                    let message = timeout(client.deadline, stream.message()).await;
                    match message.map_or(Err(Error::DeadlineExceeded), |message| message.map_err(Error::from)) {
                        Ok(Some(message)) => {
                            tries.start_again();
                            for record in L::records(message, &mut last) {
                                yield record;
                            }
                            request.resume_after(last);
                        }
                        Ok(None) => return,
                        Err(error) => {
                            tries.recover(&client, error, None).await?;
                            continue 'connections;
                        }
                    }
                }
            }
        }
    }
}

/// What the tries of a call have come to so far.
#[derive(Default)]
struct Tries {
    /// Tries that failed; of a list, since the last message.
    failed: u32,
    /// The token of the last try.
    token: Option<Authorization>,
    /// Whether the last try's token replaced one that was refused.
    is_renewed: bool,
}

impl Tries {
    /// After a success of a list, which may go on for long.
    fn start_again(&mut self) {
        (self.failed, self.is_renewed) = (0, false);
    }

    /// The request of the next try.
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

    /// After an error: gets another token, or waits. Returns the error if the call is not to be repeated.
    async fn recover(&mut self, client: &Client, error: Error, deadline: Option<Instant>) -> Result<(), Error> {
        if matches!(error, Error::Unauthenticated { .. }) && !self.is_renewed {
            self.is_renewed = true;
            let renewed = timeout(client.deadline, client.tokens.other_than(self.token.as_ref()));
            let renewed = renewed.await.unwrap_or(Err(Error::DeadlineExceeded))?;
            return if self.token.replace(renewed) == self.token { Err(error) } else { Ok(()) };
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
