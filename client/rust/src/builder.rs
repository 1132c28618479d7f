//! The settings of a client.

use std::time::Duration;

use tonic::transport::Channel;

use crate::{
    Client, Error, Retries, TokenSource,
    endpoint::{TlsSettings, endpoint},
    token::Tokens,
};

/// Detects a connection whose other end is gone. Together they are shorter than the default deadline, so that a call can be
/// repeated on another connection in time.
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
    /// A client of the service at this endpoint, such as `http://127.0.0.1:50051`. It needs a
    /// [token](Builder::token) or a [source of tokens](Builder::token_source).
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

    /// Verifies an `https` endpoint with the certificates of these authorities (PEM), instead of those that the system trusts.
    #[must_use]
    pub fn ca_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.tls.authorities = Some(pem.into());
        self
    }

    /// Presents this certificate to an `https` endpoint, for mutual TLS: PEM texts of the certificate, followed by those that lead to
    /// its authority, and of its key. To replace them before they expire, build another client.
    #[must_use]
    pub fn client_certificate(mut self, certificate: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        self.tls.identity = Some((certificate.into(), key.into()));
        self
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
    /// [`Error::Settings`] if there is no token, the endpoint is no URL of `http` or `https`, a certificate or its key cannot be
    /// used, or the endpoint is one of `https` and this crate is built without its feature `tls`.
    pub fn build(mut self) -> Result<Client, Error> {
        let channel = endpoint(&self.endpoint, std::mem::take(&mut self.tls))?
            .connect_timeout(self.connect_timeout)
            .http2_keep_alive_interval(KEEPALIVE_INTERVAL)
            .keep_alive_timeout(KEEPALIVE_TIMEOUT)
            .connect_lazy();
        self.over(channel)
    }

    /// A client over a channel of the caller's, for example with several endpoints. The endpoint, its
    /// certificates and the connect timeout are those of the channel.
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
