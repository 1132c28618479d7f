//! The settings of a client.

use std::time::Duration;

use tonic::transport::Channel;

use crate::{
    Client, Error, Retries, TokenSource,
    endpoint::{TlsSettings, endpoint},
    token::Tokens,
};

/// Keepalive detects dead connections. Both times together are shorter than the default deadline, so a call can be retried on
/// another connection in time.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(5);

/// Settings of a [`Client`]; see [`Client::builder`].
#[derive(Debug)]
pub struct Builder {
    endpoint: String,
    tls: TlsSettings,
    tokens: Option<Tokens>,
    deadline: Duration,
    connect_timeout: Duration,
    message_limit: usize,
    retries: Retries,
}

impl Client {
    /// Begins a client of the service at this endpoint, such as `http://127.0.0.1:50051`.
    ///
    /// It needs a [token](Builder::token) or a [token source](Builder::token_source).
    pub fn builder(endpoint: impl Into<String>) -> Builder {
        Builder::new(endpoint.into())
    }
}

impl Builder {
    fn new(endpoint: String) -> Self {
        Self {
            endpoint,
            tls: TlsSettings::default(),
            tokens: None,
            deadline: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(5),
            message_limit: 64 << 20,
            retries: Retries::default(),
        }
    }

    /// Sends this token with every call. It does not include `Bearer`.
    #[must_use]
    pub fn token(self, token: impl Into<String>) -> Self {
        let token = token.into();
        self.token_source(move || std::future::ready(Ok(token.clone())))
    }

    /// Sends tokens from a source. The client requests a new token after the service rejects one.
    #[must_use]
    pub fn token_source(self, source: impl TokenSource) -> Self {
        Self { tokens: Some(Tokens::new(source)), ..self }
    }

    /// Trusts these certificate authorities (PEM) instead of the system's.
    ///
    /// Only for an `https` endpoint.
    #[must_use]
    pub fn ca_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.tls.authorities = Some(pem.into());
        self
    }

    /// Sends this client certificate to an `https` endpoint, for mutual TLS.
    ///
    /// `certificate` is a PEM text with the certificate, then its intermediate certificates. `key` is the PEM text of the key. To
    /// replace them before they expire, build another client.
    #[must_use]
    pub fn client_certificate(mut self, certificate: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        self.tls.identity = Some((certificate.into(), key.into()));
        self
    }

    /// Sets the maximum duration of a call, including retries.
    ///
    /// The default is 30 seconds.
    ///
    /// For a list, it is the maximum time without a message. [`Client::with_deadline`] sets it for single calls.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// Sets the maximum time to open a connection; five seconds by default.
    #[must_use]
    pub fn connect_timeout(self, connect_timeout: Duration) -> Self {
        Self { connect_timeout, ..self }
    }

    /// Sets the maximum message size, in bytes.
    ///
    /// The default is 64 MiB, as in the service.
    #[must_use]
    pub fn message_limit(self, message_limit: usize) -> Self {
        Self { message_limit, ..self }
    }

    /// Sets how often calls are retried.
    #[must_use]
    pub fn retries(self, retries: Retries) -> Self {
        Self { retries, ..self }
    }

    /// Builds the client, which connects with its first call. Call it within a Tokio runtime.
    ///
    /// # Errors
    ///
    /// [`Error::Settings`] if
    ///
    /// - the token is missing,
    /// - the endpoint is not an `http` or `https` URL,
    /// - a certificate or its key cannot be used,
    /// - or the endpoint uses `https`, and this crate is built without its feature `tls`.
    pub fn build(mut self) -> Result<Client, Error> {
        let channel = endpoint(&self.endpoint, std::mem::take(&mut self.tls))?
            .connect_timeout(self.connect_timeout)
            .http2_keep_alive_interval(KEEPALIVE_INTERVAL)
            .keep_alive_timeout(KEEPALIVE_TIMEOUT)
            .connect_lazy();
        self.over(channel)
    }

    /// Builds the client over your own channel, for example with several endpoints.
    ///
    /// The channel determines the endpoint, the certificates and the connect timeout.
    ///
    /// # Errors
    ///
    /// [`Error::Settings`] if the token is missing.
    pub fn over(self, channel: Channel) -> Result<Client, Error> {
        let Self { tokens, deadline, message_limit, retries, .. } = self;
        let tokens = tokens.ok_or_else(|| Error::Settings("a client needs a token".to_owned()))?;
        Ok(Client { channel, tokens, deadline, message_limit, retries })
    }
}
