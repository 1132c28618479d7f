//! Sends messages over HTTPS. [`Networks`] checks each address at connect time, regardless of earlier lookups.

use std::{
    error::Error as _,
    fs,
    io::{self, ErrorKind},
    net::SocketAddr,
    sync::{Arc, OnceLock},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use reqwest::{
    Certificate, Client, Response, StatusCode,
    dns::{Addrs, Name, Resolve, Resolving},
    header::{CONTENT_TYPE, RETRY_AFTER},
    redirect,
};
use tls::Failure;
use tokio::time::timeout;
use url::{Host, Url};

use super::{
    addresses::{Networks, look_up},
    message::Message,
};
use crate::WebhookSettings;

/// Maximum time for an endpoint to accept a connection.
const WEBHOOK_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time until the response begins.
pub(super) const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum time for a request to resolve its endpoint's name.
const WEBHOOK_RESOLVE_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum length of an error in the log, in characters.
const WEBHOOK_ERROR_CHARS: usize = 200;

/// The error for a forbidden address.
const REFUSED: &str = "the host has no public address";

/// Sends webhook messages. Clones share the connections.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    networks: Networks,
    authorities: Vec<Certificate>,
    /// Created on first use, because it reads the system's certificates.
    client: Arc<OnceLock<Client>>,
}

/// The result of a delivery attempt.
pub(super) struct Attempt {
    pub(super) status: Option<StatusCode>,
    /// Why the message was not delivered.
    pub(super) error: Option<String>,
    /// How long the endpoint asks to wait before the next attempt.
    pub(super) retry_after: Option<Duration>,
    pub(super) duration: Duration,
}

impl Attempt {
    /// Returns whether the endpoint rejected the message as too large.
    pub(super) fn is_too_large(&self) -> bool {
        self.status == Some(StatusCode::PAYLOAD_TOO_LARGE)
    }
}

impl WebhookSettings {
    /// Checks the CA file.
    pub fn check(&self) -> Result<(), String> {
        Sender::new(self).map(drop)
    }
}

impl Sender {
    /// Creates a sender. Fails if the CA file cannot be used.
    pub(crate) fn new(settings: &WebhookSettings) -> Result<Self, String> {
        let authorities = match &settings.ca {
            Some(path) => {
                let pem = fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
                let found = Certificate::from_pem_bundle(&pem).ok().filter(|found| !found.is_empty());
                found.ok_or_else(|| format!("{} contains no PEM certificate", path.display()))?
            }
            None => Vec::new(),
        };
        Ok(Self { networks: Networks::new(&settings.networks), authorities, client: Arc::default() })
    }

    /// Checks a webhook's URL. Accepts names that do not resolve, because they can resolve later.
    pub(super) async fn check(&self, url: &str) -> Result<(), &'static str> {
        let url = Url::parse(url).ok().filter(|url| url.scheme() == "https").ok_or("must begin with https://")?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("must not contain a username or password");
        }
        let is_allowed = match url.host() {
            Some(Host::Domain(name)) => match timeout(WEBHOOK_RESOLVE_TIMEOUT, look_up(name)).await {
                Ok(Ok(addresses)) => addresses.iter().any(|address| self.networks.allow(*address)),
                _ => true,
            },
            _ => self.allows_address_of(&url),
        };
        if is_allowed { Ok(()) } else { Err("must have a host with a public address") }
    }

    /// Returns whether the address in a URL is allowed. Names are checked at connect time.
    fn allows_address_of(&self, url: &Url) -> bool {
        match url.host() {
            Some(Host::Ipv4(address)) => self.networks.allow(address.into()),
            Some(Host::Ipv6(address)) => self.networks.allow(address.into()),
            Some(Host::Domain(_)) => true,
            None => false,
        }
    }

    /// Sends a message, signed with each secret.
    pub(super) async fn send(&self, url: &str, message: Message, secrets: impl Iterator<Item = &str>) -> Attempt {
        let start = Instant::now();
        let response = self.post(url, message, secrets).await;
        let duration = start.elapsed();
        match response {
            Ok(response) => {
                let status = response.status();
                let error = (!status.is_success()).then(|| format!("the endpoint responded {}", status.as_u16()));
                let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
                let retry_after = retry_after.and_then(|value| wait_of(value, SystemTime::now()));
                Attempt { status: Some(status), error, retry_after, duration }
            }
            Err(error) => Attempt { status: None, error: Some(error), retry_after: None, duration },
        }
    }

    /// Posts a message. Returns the response without reading its body.
    async fn post(&self, url: &str, message: Message, secrets: impl Iterator<Item = &str>) -> Result<Response, String> {
        let url = Url::parse(url).ok().filter(|url| self.allows_address_of(url)).ok_or(REFUSED)?;
        let timestamp = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let signatures = message.signatures(timestamp, secrets);
        let request = self.client()?.post(url).header(CONTENT_TYPE, "application/json");
        let request = request.header("webhook-id", message.id).header("webhook-timestamp", timestamp);
        let request = request.header("webhook-signature", signatures).body(message.body);
        request.send().await.map_err(|error| reason(&error))
    }

    fn client(&self) -> Result<&Client, String> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = Client::builder()
            .user_agent(concat!("affiliate-compliance/", env!("CARGO_PKG_VERSION")))
            .https_only(true)
            .no_proxy()
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(WEBHOOK_CONNECT_TIMEOUT)
            .timeout(WEBHOOK_TIMEOUT)
            .tls_certs_merge(self.authorities.iter().cloned())
            .dns_resolver(Resolver { networks: self.networks.clone() })
            .build()
            .map_err(|error| {
                tracing::error!(%error, "cannot create the HTTP client for webhooks");
                "an internal error".to_owned()
            })?;
        Ok(self.client.get_or_init(|| client))
    }
}

/// Returns the wait in a `Retry-After` value, which is a number of seconds or a date.
fn wait_of(value: &str, now: SystemTime) -> Option<Duration> {
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // An overflowing number exceeds any wait.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

/// Resolves names to allowed addresses.
struct Resolver {
    networks: Networks,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let networks = self.networks.clone();
        Box::pin(async move {
            let mut allowed = look_up(name.as_str()).await?;
            allowed.retain(|address| networks.allow(*address));
            if allowed.is_empty() {
                return Err(io::Error::new(ErrorKind::PermissionDenied, REFUSED).into());
            }
            // The connection uses the port in the URL.
            Ok(Box::new(allowed.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

/// Returns why a response is missing, for the endpoint's owner: the root cause, without the URL.
fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() && error.is_connect() {
        return format!("no connection within {} s", WEBHOOK_CONNECT_TIMEOUT.as_secs());
    }
    if error.is_timeout() {
        return format!("no response within {} s", WEBHOOK_TIMEOUT.as_secs());
    }
    if let Some(reason) = Failure::of(error).and_then(tls_reason) {
        return reason.to_owned();
    }
    let (mut cause, mut text) = (error.source(), "the connection failed".to_owned());
    while let Some(source) = cause {
        text = match source.downcast_ref::<io::Error>().map(io::Error::kind) {
            Some(ErrorKind::ConnectionRefused) => "the endpoint refused the connection".to_owned(),
            Some(ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof) => {
                "the endpoint closed the connection".to_owned()
            }
            Some(ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable) => {
                "the network cannot reach the endpoint".to_owned()
            }
            _ => source.to_string(),
        };
        cause = source.source();
    }
    text.chars().take(WEBHOOK_ERROR_CHARS).collect()
}

/// Returns why TLS failed, for the endpoint's owner.
fn tls_reason(failure: Failure) -> Option<&'static str> {
    Some(match failure {
        Failure::CertificateExpired => "the endpoint's certificate has expired",
        Failure::CertificateNotYetValid => "the endpoint's certificate is not valid yet",
        Failure::CertificateOfUnknownAuthority => {
            "the endpoint's certificate is not from a trusted authority, or its intermediate certificates are missing"
        }
        Failure::CertificateOfOtherName => "the endpoint's certificate is for a different host name",
        Failure::CertificateInvalid => "the endpoint's certificate is not a valid server certificate",
        Failure::CertificateMissing => "the endpoint has no certificate",
        Failure::PeerNeedsCertificate => "the endpoint requires a client certificate",
        Failure::PeerRefusesCertificate | Failure::Incompatible => "the endpoint refused the TLS connection",
        Failure::NotTls => "the endpoint does not use TLS on this port",
        Failure::PeerSpeaksTls | Failure::Closed | Failure::Timeout | Failure::Other => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::wait_of;

    #[test]
    fn retry_after_accepts_seconds_and_dates() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        for (value, wait) in [
            ("120", Some(120)),
            ("0", Some(0)),
            ("99999999999999999999", Some(u64::MAX)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:51:37 GMT", Some(120)),
            ("Sunday, 06-Nov-94 08:51:37 GMT", Some(120)),
            ("Sun Nov  6 08:51:37 1994", Some(120)),
            ("Sat, 05 Nov 1994 08:49:37 GMT", Some(0)),
            ("-1", None),
            ("1.5", None),
            ("soon", None),
        ] {
            assert_eq!(wait_of(value, now), wait.map(Duration::from_secs), "{value}");
        }
    }
}
