//! Builds clients from their settings.

use std::time::Duration;

use tonic::{
    codegen::http::Uri,
    transport::{Channel, Endpoint},
};

use crate::{Client, Error, Retries, TokenSource, token::Tokens};

/// Keepalive detects dead connections. The interval and the timeout add up to less than the default deadline, which leaves time to
/// retry a call on a new connection.
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
    /// Returns a client builder for this endpoint, such as `http://127.0.0.1:50051`.
    ///
    /// The builder needs a [token](Builder::token) or a [token source](Builder::token_source).
    pub fn builder(endpoint: impl Into<String>) -> Builder {
        Builder {
            endpoint: endpoint.into(),
            tls: TlsSettings::default(),
            tokens: None,
            deadline: Duration::from_mins(1),
            connect_timeout: Duration::from_secs(5),
            message_limit: 64 << 20,
            retries: Retries::default(),
        }
    }
}

impl Builder {
    /// Sets the token to send with every call. Omit the `Bearer` prefix.
    #[must_use]
    pub fn token(self, token: impl Into<String>) -> Self {
        let token = token.into();
        self.token_source(move || std::future::ready(Ok(token.clone())))
    }

    /// Sets the source of tokens. The client requests a new token after the service rejects one.
    #[must_use]
    pub fn token_source(self, source: impl TokenSource) -> Self {
        Self { tokens: Some(Tokens::new(source)), ..self }
    }

    /// Trusts these CA certificates, in PEM, instead of the system's.
    ///
    /// Requires an `https` endpoint.
    #[must_use]
    pub fn ca_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.tls.authorities = Some(pem.into());
        self
    }

    /// Sends this client certificate to an `https` endpoint, for mutual TLS.
    ///
    /// `certificate` contains the certificate and then its intermediate certificates, in PEM. `key` is the private key, also in PEM.
    /// Before the certificate expires, build a new client.
    #[must_use]
    pub fn client_certificate(mut self, certificate: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        self.tls.identity = Some((certificate.into(), key.into()));
        self
    }

    /// Sets the maximum duration of a call, including retries.
    ///
    /// The default is one minute.
    ///
    /// For a list, the deadline is the maximum time without a message. [`Client::with_deadline`] overrides it for single calls.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// Sets the maximum time to open a connection; five seconds by default.
    #[must_use]
    pub fn connect_timeout(self, connect_timeout: Duration) -> Self {
        Self { connect_timeout, ..self }
    }

    /// Sets the maximum size of a received message, in bytes.
    ///
    /// The default is 64 MiB, as in the service. The service limits requests.
    #[must_use]
    pub fn message_limit(self, message_limit: usize) -> Self {
        Self { message_limit, ..self }
    }

    /// Sets how often the client retries calls.
    #[must_use]
    pub fn retries(self, retries: Retries) -> Self {
        Self { retries, ..self }
    }

    /// Builds the client, which connects on its first call.
    ///
    /// Call this method within a Tokio runtime.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Settings`] if
    ///
    /// - the token is missing,
    /// - the endpoint is not an `http` or `https` URL, or contains a path,
    /// - a certificate or its key is invalid, or
    /// - the endpoint uses `https`, but the `tls` feature of this crate is disabled.
    pub fn build(mut self) -> Result<Client, Error> {
        let channel = endpoint(&self.endpoint, std::mem::take(&mut self.tls))?
            .connect_timeout(self.connect_timeout)
            .http2_keep_alive_interval(KEEPALIVE_INTERVAL)
            .keep_alive_timeout(KEEPALIVE_TIMEOUT)
            .connect_lazy();
        self.over(channel)
    }

    /// Builds the client over your own channel, for example one with several endpoints.
    ///
    /// The channel determines the endpoint, the certificates and the connect timeout.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Settings`] if the token is missing.
    pub fn over(self, channel: Channel) -> Result<Client, Error> {
        let Self { tokens, deadline, message_limit, retries, .. } = self;
        let tokens =
            tokens.ok_or_else(|| Error::Settings("missing token: call `token` or `token_source`".to_owned()))?;
        Ok(Client { channel, tokens, deadline, message_limit, retries })
    }
}

/// Certificates and the private key for an `https` endpoint, in PEM.
#[derive(Default)]
struct TlsSettings {
    /// The trusted CA certificates. `None` selects the system's.
    authorities: Option<Vec<u8>>,
    /// The client certificate and its key.
    identity: Option<(Vec<u8>, Vec<u8>)>,
}

/// Hides the private key.
impl std::fmt::Debug for TlsSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsSettings").finish_non_exhaustive()
    }
}

fn settings(message: String) -> Error {
    Error::Settings(message)
}

/// Returns the endpoint at this address, or an error if every call would fail.
fn endpoint(address: &str, tls: TlsSettings) -> Result<Endpoint, Error> {
    let address = address.trim();
    let uri: Uri =
        address.parse().map_err(|error| settings(format!("the endpoint {address:?} is not a URL: {error}")))?;
    if uri.path_and_query().is_some_and(|path| path != "/") {
        return Err(settings(format!(
            "the endpoint {address:?} contains a path: specify only the scheme, host and port"
        )));
    }
    match uri.scheme_str() {
        Some("http") if tls.authorities.is_some() || tls.identity.is_some() => {
            Err(settings(format!("certificates need an https endpoint, but {address:?} uses http")))
        }
        Some("http") => Ok(Endpoint::from(uri)),
        Some("https") => secure(Endpoint::from(uri), tls)
            .map_err(|error| settings(format!("TLS for the endpoint {address:?}: {error}"))),
        _ => Err(settings(format!("the endpoint {address:?} does not begin with http:// or https://"))),
    }
}

#[cfg(feature = "tls")]
fn secure(endpoint: Endpoint, tls: TlsSettings) -> Result<Endpoint, String> {
    use tonic::transport::{Certificate, ClientTlsConfig, Identity};

    // PEM text without a certificate would parse as an empty list.
    let certificates = |pem: &[u8], what| {
        let marker = b"-----BEGIN CERTIFICATE-----";
        pem.windows(marker.len())
            .any(|text| text == marker)
            .then_some(())
            .ok_or(format!("{what} contains no PEM certificate"))
    };
    let mut config = ClientTlsConfig::new();
    config = match tls.authorities {
        Some(pem) => {
            certificates(&pem, "the CA certificate")?;
            config.ca_certificate(Certificate::from_pem(pem))
        }
        None => config.with_native_roots(),
    };
    if let Some((certificate, key)) = tls.identity {
        certificates(&certificate, "the client certificate")?;
        config = config.identity(Identity::from_pem(certificate, key));
    }
    endpoint.tls_config(config).map_err(|error| crate::status::chain(&error))
}

#[cfg(not(feature = "tls"))]
fn secure(_: Endpoint, _: TlsSettings) -> Result<Endpoint, String> {
    Err("compliance-client is built without TLS; enable its `tls` feature".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Error, TlsSettings, endpoint};

    fn refused(address: &str, tls: TlsSettings) -> String {
        match endpoint(address, tls) {
            Err(Error::Settings(message)) => message,
            other => panic!("{address}: {other:?}"),
        }
    }

    #[test]
    fn endpoint_accepts_only_http_and_https_urls() {
        assert!(endpoint("http://127.0.0.1:50051", TlsSettings::default()).is_ok());
        for address in ["localhost:50051", "ftp://localhost"] {
            let message = refused(address, TlsSettings::default());
            assert!(message.ends_with("does not begin with http:// or https://"), "{message}");
        }
        assert!(refused("no url", TlsSettings::default()).contains("is not a URL"));
        assert!(endpoint(" http://127.0.0.1:50051/\n", TlsSettings::default()).is_ok());
        for address in ["http://localhost/api", "https://localhost/?x", "/run/core.sock"] {
            assert!(refused(address, TlsSettings::default()).contains("contains a path"));
        }
    }

    #[test]
    fn invalid_certificates_fail_before_the_first_call() {
        let authorities = |pem: &str| TlsSettings { authorities: Some(pem.into()), ..TlsSettings::default() };
        let message = refused("http://localhost:1", authorities("x"));
        assert!(message.starts_with("certificates need an https endpoint"), "{message}");
        let message = refused("https://localhost:1", authorities("x"));
        assert!(message.ends_with("the CA certificate contains no PEM certificate"), "{message}");
        let key = rcgen::KeyPair::generate().unwrap();
        let own = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap().self_signed(&key).unwrap().pem();
        let with_key = |key: &str| TlsSettings {
            authorities: Some(own.clone().into()),
            identity: Some((own.clone().into(), key.into())),
        };
        assert!(endpoint("https://localhost:1", with_key(&key.serialize_pem())).is_ok());
        let other = rcgen::KeyPair::generate().unwrap().serialize_pem();
        for wrong in ["x", other.as_str()] {
            let message = refused("https://localhost:1", with_key(wrong));
            assert!(message.starts_with("TLS for the endpoint \"https://localhost:1\": "), "{message}");
        }
    }
}
