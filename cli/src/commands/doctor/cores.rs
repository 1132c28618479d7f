//! The cores of a gateway: whether this machine can connect to them, and whether they accept the token.

use std::{io, net::SocketAddr, time::Duration};

use compliance_api::{
    PrivateUrl,
    v1::{CheckAccessRequest, access_service_client::AccessServiceClient},
};
use http::Uri;
use hyper_util::rt::TokioIo;
use tls::{Failure, Reporting};
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

use super::finding::{Finding, State, ok, problem};
use crate::program::{CoreTlsArgs, InvalidSetting};

/// How long each step of a connection may take.
const STEP_TIME: Duration = Duration::from_secs(5);
const CHECK: &str = "core";
/// How an HTTP/2 client begins: RFC 9113, 3.4.
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Returns a finding for each address of each core, and one for the token.
pub(super) async fn check(cores: &[PrivateUrl], tls: &CoreTlsArgs, token: Option<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for url in cores {
        let name = url.to_string();
        let uri = url.reveal().trim().parse::<Uri>().unwrap_or_default();
        let Some(host) = uri.host().map(|host| host.trim_matches(['[', ']']).to_owned()) else {
            findings.push(problem(CHECK, format!("{name} has no host"), "check --core-url"));
            continue;
        };
        let is_secure = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        let resolved = timeout(STEP_TIME, lookup_host((host.as_str(), port))).await;
        let addresses = match resolved.map_err(|_| io::Error::from(io::ErrorKind::TimedOut)).flatten() {
            Ok(addresses) => addresses.collect::<Vec<_>>(),
            Err(error) => {
                let found = format!("{name}: the name cannot be resolved: {error}");
                findings.push(problem(
                    CHECK,
                    found,
                    "correct the name in --core-url, or check this machine's name servers",
                ));
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
        let channel = match self.connect(tls).await {
            Ok(channel) => channel,
            Err(finding) => return vec![finding],
        };
        let asked = HealthClient::new(channel.clone()).check(timed(HealthCheckRequest::default())).await;
        let mut findings = vec![match asked {
            Ok(health) if health.get_ref().status() == ServingStatus::Serving => {
                ok(CHECK, format!("{} serves", self.name))
            }
            Ok(_) => self.problem("it is not ready", "read its log: it is waiting for its database"),
            Err(status) => {
                // The call fails without the reason that the core gives when it closes the connection.
                let closed = timeout(STEP_TIME, self.close_reason(tls)).await.ok().flatten();
                match closed {
                    Some((failure, error)) => self.insecure(failure, &error),
                    None => self.problem(
                        &format!("it does not respond: {}", status.message()),
                        "check that a core listens at this address, and read its log",
                    ),
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

    /// Connects, and sends nothing yet.
    async fn connect(&self, tls: &CoreTlsArgs) -> Result<Channel, Finding> {
        let stream = match timeout(STEP_TIME, TcpStream::connect(self.address)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                let next_step = "check that the core runs and listens there (--grpc-addr), and check firewalls";
                return Err(self.problem(&format!("cannot connect: {error}"), next_step));
            }
            Err(_) => {
                let next_step = "check whether a firewall or a network policy drops connections";
                return Err(self.problem("cannot connect: no response", next_step));
            }
        };
        if !self.is_secure {
            return Ok(once(stream));
        }
        let tls = tls.load_or_system().map_err(|error| {
            let is_given = error.is::<InvalidSetting>();
            let next_step =
                if is_given { "correct these files" } else { "check this system's certificate authorities" };
            self.problem(&error.to_string(), next_step)
        })?;
        match timeout(STEP_TIME, tls.connect(&self.host, stream)).await {
            Ok(Ok(stream)) => Ok(once(stream)),
            Ok(Err(error)) => Err(self.insecure(Failure::of_handshake(&error), &error.to_string())),
            Err(_) => Err(self.insecure(Failure::Timeout, "no response")),
        }
    }

    /// Returns why the core closes a new connection, if it gives a reason.
    async fn close_reason(&self, tls: &CoreTlsArgs) -> Option<(Failure, String)> {
        let mut stream = TcpStream::connect(self.address).await.ok()?;
        let mut first = [0; 16];
        let read = if self.is_secure {
            // Nothing is sent: a core that has received data resets the connection, and the reset arrives before the reason.
            tls.load_or_system().ok()?.connect(&self.host, stream).await.ok()?.read(&mut first).await
        } else {
            stream.write_all(HTTP2_PREFACE).await.ok()?;
            Reporting::plain(stream, |_, _| ()).read(&mut first).await
        };
        let error = read.err()?;
        Some((Failure::of(&error)?, error.to_string()))
    }

    /// Returns why TLS has failed, and the next step.
    fn insecure(&self, failure: Failure, error: &str) -> Finding {
        let next_step = match failure {
            Failure::PeerNeedsCertificate => "set --core-tls-cert to a certificate from the core's --grpc-client-ca",
            Failure::PeerRefusesCertificate => {
                "set --core-tls-cert to a certificate that an authority in the core's --grpc-client-ca has issued"
            }
            Failure::CertificateExpired => {
                "replace the core's certificate: the core reads changed files without a restart"
            }
            Failure::CertificateNotYetValid => "compare the clocks of both machines",
            Failure::CertificateOfUnknownAuthority => {
                "set --core-ca to the authority that issued the core's certificate"
            }
            Failure::CertificateOfOtherName => {
                "connect to a name in the certificate, or issue a certificate for this name"
            }
            Failure::PeerSpeaksTls => "the core has a certificate: use https:// in --core-url",
            Failure::NotTls => "the core has no certificate: use http:// in --core-url, or give it --grpc-tls-cert",
            _ => "compare the TLS settings of both sides, and read the core's log",
        };
        self.problem(&format!("TLS: {} ({error})", failure.label()), next_step)
    }

    async fn token(&self, channel: Channel, token: &str) -> Finding {
        let mut request = timed(CheckAccessRequest {});
        let Ok(value) = MetadataValue::try_from(format!("Bearer {token}")) else {
            return self.problem("the token has invalid characters", "copy it again");
        };
        request.metadata_mut().insert("authorization", value);
        match AccessServiceClient::new(channel).check_access(request).await {
            Ok(_) => ok(CHECK, format!("{} accepts the token", self.name)),
            Err(status) if status.code() == Code::Unauthenticated => {
                let next_step = "give the core the same keys; the check `token` names the rejected claim";
                self.problem(&format!("it does not accept the token: {}", status.message()), next_step)
            }
            Err(status) => {
                self.problem(&format!("it cannot check the token: {}", status.message()), "read the core's log")
            }
        }
    }

    fn problem(&self, found: &str, next_step: &'static str) -> Finding {
        problem(CHECK, format!("{}: {found}", self.name), next_step)
    }
}

/// Returns a channel over this connection alone.
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
