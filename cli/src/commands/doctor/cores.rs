//! The cores of a gateway: whether they can be connected to from here, and whether they take the token.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crate::program::CoreTlsArgs;
use compliance_api::{
    PrivateUrl,
    v1::{CheckAccessRequest, access_service_client::AccessServiceClient},
};
use http::Uri;
use hyper_util::rt::TokioIo;
use tls::{ClientTls, Failure, Reporting};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpStream, lookup_host},
    time::timeout,
};
use tonic::{
    Code, Request,
    metadata::MetadataValue,
    transport::{Channel, Endpoint},
};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};
use tower::service_fn;

use super::finding::{Finding, State};

/// How long each step of a connection may take.
const STEP_TIME: Duration = Duration::from_secs(5);
const CHECK: &str = "core";
/// What a client of HTTP/2 begins with: RFC 9113, 3.4.
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What a core ended the connection with, once it is known.
type Ended = Arc<Mutex<Option<(Failure, String)>>>;

/// One finding for each address of each core, and one for the token.
pub(super) async fn check(cores: &[PrivateUrl], tls: &CoreTlsArgs, token: Option<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for url in cores {
        let name = url.to_string();
        let wrong = || Finding::new(CHECK, State::Problem, format!("{name} names no host"), "see --core-url");
        let Ok(uri) = url.reveal().trim().parse::<Uri>() else {
            findings.push(wrong());
            continue;
        };
        let Some(host) = uri.host().map(|host| host.trim_start_matches('[').trim_end_matches(']').to_owned()) else {
            findings.push(wrong());
            continue;
        };
        let is_secure = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        let resolved = timeout(STEP_TIME, lookup_host((host.as_str(), port))).await;
        let addresses = match resolved.map_err(|_| io::Error::from(io::ErrorKind::TimedOut)).flatten() {
            Ok(addresses) => addresses.collect::<Vec<_>>(),
            Err(error) => {
                let next_step = "correct the name in --core-url, or see the name servers of this machine";
                let found = format!("{name}: the name cannot be resolved: {error}");
                findings.push(Finding::new(CHECK, State::Problem, found, next_step));
                continue;
            }
        };
        for address in addresses {
            let core = CheckedCore { name: format!("{name} ({address})"), host: host.clone(), address, is_secure };
            findings.extend(core.check(tls, token).await);
        }
    }
    findings
}

struct CheckedCore {
    name: String,
    host: String,
    address: SocketAddr,
    is_secure: bool,
}

impl CheckedCore {
    async fn check(&self, tls: &CoreTlsArgs, token: Option<&str>) -> Vec<Finding> {
        let ended = Ended::default();
        let channel = match self.connect(tls, &ended).await {
            Ok(channel) => channel,
            Err(finding) => return vec![finding],
        };
        let asked = HealthClient::new(channel.clone()).check(timed(HealthCheckRequest::default())).await;
        let mut findings = vec![match asked {
            Ok(health) if health.get_ref().status() == ServingStatus::Serving => {
                Finding::new(CHECK, State::Ok, format!("{} serves", self.name), "")
            }
            Ok(_) => self.problem("it is not ready", "see its log: it waits for its database"),
            Err(status) => {
                let noted = ended.lock().unwrap_or_else(PoisonError::into_inner).take();
                // The call may have failed before the core's reason was read, which is lost with its connection.
                let ended = match noted {
                    Some(ended) => Some(ended),
                    None => timeout(STEP_TIME, self.end_reason(tls)).await.ok().flatten(),
                };
                if let Some((failure, error)) = ended {
                    self.insecure(failure, &error)
                } else {
                    let next_step = "see whether it is a core; its log has the reason from its side";
                    self.problem(&format!("it does not respond: {}", status.message()), next_step)
                }
            }
        }];
        if findings[0].state == State::Ok
            && let Some(token) = token
        {
            findings.push(self.token(channel, token).await);
        }
        findings
    }

    /// A connection on which nothing was sent yet.
    async fn connect(&self, tls: &CoreTlsArgs, ended: &Ended) -> Result<Channel, Finding> {
        let stream = match timeout(STEP_TIME, TcpStream::connect(self.address)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                let next_step = "see whether the core runs and listens there (--grpc-addr), and firewalls";
                return Err(self.problem(&format!("cannot connect: {error}"), next_step));
            }
            Err(_) => {
                let next_step = "see whether a firewall or a network policy drops connections silently";
                return Err(self.problem("cannot connect: no response", next_step));
            }
        };
        let report = |ended: &Ended| {
            let ended = Arc::clone(ended);
            move |failure, error: &io::Error| {
                *ended.lock().unwrap_or_else(PoisonError::into_inner) = Some((failure, error.to_string()));
            }
        };
        if !self.is_secure {
            return Ok(once(Reporting::plain(stream, report(ended))));
        }
        let tls = match tls.load().map(|tls| tls.map_or_else(|| ClientTls::load(None, None), Ok)) {
            Ok(Ok(tls)) => tls,
            Ok(Err(error)) => return Err(self.problem(&error.to_string(), "see the certificates of this system")),
            Err(error) => return Err(self.problem(&error.to_string(), "correct these files")),
        };
        match timeout(STEP_TIME, tls.connect(&self.host, stream)).await {
            Ok(Ok(stream)) => Ok(once(Reporting::secure(stream, report(ended)))),
            Ok(Err(error)) => Err(self.insecure(Failure::of_handshake(&error), &error.to_string())),
            Err(_) => Err(self.insecure(Failure::Timeout, "no response")),
        }
    }

    /// Why the core ends a new connection, if it gives a reason.
    async fn end_reason(&self, tls: &CoreTlsArgs) -> Option<(Failure, String)> {
        let mut stream = TcpStream::connect(self.address).await.ok()?;
        let mut first = [0; 16];
        let read = if self.is_secure {
            let tls = tls.load().ok()?.map_or_else(|| ClientTls::load(None, None), Ok).ok()?;
            // Nothing is sent, so the core closes the connection without a reset, which would overtake the reason.
            tls.connect(&self.host, stream).await.ok()?.read(&mut first).await
        } else {
            stream.write_all(HTTP2_PREFACE).await.ok()?;
            Reporting::plain(stream, |_, _| ()).read(&mut first).await
        };
        let error = read.err()?;
        Some((Failure::of(&error)?, error.to_string()))
    }

    /// Why the connection is not secure, and what mends it.
    fn insecure(&self, failure: Failure, error: &str) -> Finding {
        let next_step = match failure {
            Failure::PeerNeedsCertificate => "give a certificate of the core's --grpc-client-ca with --core-tls-cert",
            Failure::PeerRefusesCertificate => {
                "give a certificate (--core-tls-cert) that an authority of the core's --grpc-client-ca has issued"
            }
            Failure::CertificateExpired => "replace the core's certificate: it takes changed files without a restart",
            Failure::CertificateNotYetValid => "compare the clocks of both machines",
            Failure::CertificateOfUnknownAuthority => "give the authority of the core's certificate with --core-ca",
            Failure::CertificateOfOtherName => "connect to a name that the certificate has, or issue it for this one",
            Failure::PeerSpeaksTls => "the core has a certificate: use https:// in --core-url",
            Failure::NotTls => "the core has no certificate: use http:// in --core-url, or give it --grpc-tls-cert",
            _ => "compare the settings of both sides; the core's log has the reason from its side",
        };
        self.problem(&format!("TLS: {} ({error})", failure.label()), next_step)
    }

    async fn token(&self, channel: Channel, token: &str) -> Finding {
        let mut request = timed(CheckAccessRequest {});
        let Ok(value) = MetadataValue::try_from(format!("Bearer {token}")) else {
            return self.problem("the token has characters that no token has", "see how it was copied");
        };
        request.metadata_mut().insert("authorization", value);
        match AccessServiceClient::new(channel).check_access(request).await {
            Ok(_) => Finding::new(CHECK, State::Ok, format!("{} accepts the token", self.name), ""),
            Err(status) if status.code() == Code::Unauthenticated => {
                let found = format!("it refuses the token: {}", status.message());
                self.problem(&found, "give it the same keys; the check `token` names the claim that these keys refuse")
            }
            Err(status) => {
                let found = format!("it cannot check the token: {}", status.message());
                self.problem(&found, "see the core's log")
            }
        }
    }

    fn problem(&self, found: &str, next_step: &'static str) -> Finding {
        Finding::new(CHECK, State::Problem, format!("{}: {found}", self.name), next_step)
    }
}

/// A channel over this connection alone.
fn once<S>(stream: S) -> Channel
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
{
    let mut stream = Some(TokioIo::new(stream));
    let connector = service_fn(move |_: Uri| {
        let stream = stream.take().ok_or_else(|| io::Error::other("the core has closed the connection"));
        std::future::ready(stream)
    });
    Endpoint::from_static("http://core").connect_with_connector_lazy(connector)
}

fn timed<M>(message: M) -> Request<M> {
    let mut request = Request::new(message);
    request.set_timeout(STEP_TIME);
    request
}
