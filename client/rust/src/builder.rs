//! The settings of a client.

use std::time::Duration;

use tonic::transport::{Channel, Endpoint};

use crate::{Client, Error, Retries, TokenSource, token::Tokens};

/// Detects a connection whose other end is gone. Together they are shorter than the default deadline, so that a call can be
/// repeated on another connection in time.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(5);

/// Settings of a [`Client`]; see [`Client::builder`].
#[derive(Debug)]
pub struct Builder {
    endpoint: String,
    tokens: Option<Tokens>,
    deadline: Duration,
    connect_timeout: Duration,
    message_limit: usize,
    retries: Retries,
}

impl Builder {
    pub(crate) fn new(endpoint: String) -> Self {
        Self {
            endpoint,
            tokens: None,
            deadline: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(5),
            message_limit: 64 << 20,
            retries: Retries::default(),
        }
    }

    /// Presents this token with every call, without `Bearer`.
    #[must_use]
    pub fn token(self, token: impl Into<String>) -> Self {
        let token = token.into();
        self.token_source(move || std::future::ready(Ok(token.clone())))
    }

    /// Presents tokens of a source, which is asked again once the service refuses the last one.
    #[must_use]
    pub fn token_source(self, source: impl TokenSource) -> Self {
        Self { tokens: Some(Tokens::new(source)), ..self }
    }

    /// The longest duration of a call, all of its tries together; of a list, the longest time without a message. 30 seconds
    /// by default. [`Client::with_deadline`] sets another one for single calls.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// The longest time to open a connection. Five seconds by default.
    #[must_use]
    pub fn connect_timeout(self, connect_timeout: Duration) -> Self {
        Self { connect_timeout, ..self }
    }

    /// The largest message, in bytes. 64 MiB by default, as the service has it.
    #[must_use]
    pub fn message_limit(self, message_limit: usize) -> Self {
        Self { message_limit, ..self }
    }

    /// How often calls are repeated.
    #[must_use]
    pub fn retries(self, retries: Retries) -> Self {
        Self { retries, ..self }
    }

    /// A client, which connects with its first call. To be called within a Tokio runtime.
    ///
    /// # Errors
    ///
    /// [`Error::Settings`] if there is no token, or the endpoint is no URL.
    pub fn build(self) -> Result<Client, Error> {
        let channel = Endpoint::from_shared(self.endpoint.clone())
            .map_err(|error| Error::Settings(format!("the endpoint {:?} is no URL: {error}", self.endpoint)))?
            .connect_timeout(self.connect_timeout)
            .http2_keep_alive_interval(KEEPALIVE_INTERVAL)
            .keep_alive_timeout(KEEPALIVE_TIMEOUT)
            .connect_lazy();
        self.over(channel)
    }

    /// A client over a channel of the caller's, for example with TLS or with several endpoints. The endpoint and the
    /// connect timeout are those of the channel.
    ///
    /// # Errors
    ///
    /// [`Error::Settings`] if there is no token.
    pub fn over(self, channel: Channel) -> Result<Client, Error> {
        let Self { tokens, deadline, message_limit, retries, .. } = self;
        let tokens = tokens.ok_or_else(|| Error::Settings("a client needs a token".to_owned()))?;
        Ok(Client { channel, tokens, deadline, message_limit, retries })
    }
}
