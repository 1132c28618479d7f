//! `compliance health` checks whether a running service can serve requests.

use std::{io, time::Duration};

use crate::program::{CoreTlsArgs, InvalidSetting, describe};
use anyhow::Context as _;
use clap::Args;
use flags::duration;
use http::{Request, StatusCode, Uri, header::HOST, uri::Authority};
use http_body_util::Empty;
use hyper::{body::Bytes, client::conn::http1};
use hyper_util::rt::TokioIo;
use rest_gateway::{CoreChannel, Settings};
use tls::{ClientTls, Failure, Reporting};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpStream, lookup_host},
    time::timeout,
};
use tokio_util::either::Either;
use tonic::Code;
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};

use crate::output::print;

/// Timeout for determining why a connection failed.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Connection preface of HTTP/2 clients (RFC 9113, 3.4).
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Check whether a running service can serve requests. The exit status is 0 if it can, and 1 if it cannot or does not respond.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  compliance health
  compliance health http://127.0.0.1:8080
  compliance health grpc://127.0.0.1:50051 --timeout 1s
  compliance health grpcs://core.example:50051 --core-ca authority.pem")]
pub(crate) struct HealthArgs {
    /// Address of the service: http:// or https:// for a gateway, grpc:// or grpcs:// for a core.
    #[arg(value_name = "URL", default_value = "http://127.0.0.1:8080")]
    address: Uri,
    /// Maximum wait for the response.
    #[arg(long, default_value = "2s", value_name = "TIME", value_parser = duration(Duration::from_millis(1)..=Duration::from_mins(5)))]
    timeout: Duration,
    /// Certificates for https and grpcs.
    #[command(flatten)]
    tls: CoreTlsArgs,
}

pub(super) fn run(args: &HealthArgs) -> anyhow::Result<()> {
    let wrong = || {
        let text = "must begin with http://, https://, grpc:// or grpcs://, and contain only a host and a port";
        InvalidSetting::of("the address of the service")(format!("{}: {text}", args.address))
    };
    let has_path = args.address.path_and_query().is_some_and(|path| path != "/");
    let authority = args.address.authority().filter(|_| !has_path).ok_or_else(wrong)?;
    args.tls.load()?;
    let tls = || args.tls.load_or_system().map(Some);
    let asked = async {
        match args.address.scheme_str() {
            Some("http") => rest(authority, None).await,
            Some("https") => rest(authority, tls()?).await,
            Some("grpc") => check_core(&format!("http://{authority}"), None).await.map(drop),
            Some("grpcs") => check_core(&format!("https://{authority}"), tls()?).await.map(drop),
            _ => Err(wrong().into()),
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let answered = runtime.block_on(async { timeout(args.timeout, asked).await });
    let answered =
        answered.map_err(|_| anyhow::anyhow!("{} did not respond within {:?}", args.address, args.timeout))?;
    answered.map_err(with_next_step)?;
    print(&format!("{} is healthy", args.address))
}

/// Adds the operator's next step after a failed connection.
fn with_next_step(error: anyhow::Error) -> anyhow::Error {
    let of_core = error.downcast_ref::<FailedConnection>().map(|failed| failed.next_step);
    let of_gateway = || {
        Some(match Failure::of(error.as_ref())? {
            Failure::PeerSpeaksTls => "the gateway requires TLS: use https://",
            Failure::NotTls => "the gateway does not use TLS: use http://",
            Failure::CertificateOfUnknownAuthority => "set --core-ca to the authority that issued the certificate",
            Failure::CertificateOfOtherName => "connect to a name in the certificate",
            Failure::Incompatible => "if this is a core, use grpcs://",
            _ => return None,
        })
    };
    // A core sends HTTP/2, before or after it receives the request. Neither is valid in HTTP/1.
    let is_http2 = |error: &hyper::Error| error.is_parse() || error.is_canceled();
    let is_invalid = error.chain().filter_map(|cause| cause.downcast_ref()).any(is_http2);
    let of_other = || is_invalid.then_some("if this is a core, use grpc://");
    match of_core.or_else(of_gateway).or_else(of_other) {
        Some(next_step) => anyhow::anyhow!("{}; {next_step}", describe(&error)),
        None => error,
    }
}

async fn rest(authority: &Authority, tls: Option<ClientTls>) -> anyhow::Result<()> {
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    let port = authority.port_u16().unwrap_or(if tls.is_some() { 443 } else { 80 });
    let stream = TcpStream::connect((host, port)).await.with_context(|| format!("{authority} cannot be reached"))?;
    let stream = match tls {
        None => Either::Left(Reporting::plain(stream, |_, _| ())),
        Some(tls) => {
            let secure = tls.connect_with("http/1.1", host, stream).await;
            Either::Right(secure.context("the TLS handshake failed")?)
        }
    };
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    #[allow(clippy::disallowed_methods, reason = "the task ends with the command")]
    tokio::spawn(connection);
    let request = Request::get("/readyz").header(HOST, authority.as_str()).body(Empty::<Bytes>::new())?;
    let status = sender.send_request(request).await.context("the gateway did not respond")?.status();
    let (text, next_step) = match status {
        StatusCode::OK => return Ok(()),
        StatusCode::SERVICE_UNAVAILABLE => (
            format!("the gateway is not ready: {status}"),
            "check its log, and the cores in its --core-url (with `compliance serve`, the database)",
        ),
        _ => (
            format!("the address does not respond like a gateway: {status}"),
            "use the address of a gateway's REST port (--rest-addr, port 8080 by default)",
        ),
    };
    Err(FailedConnection { text, next_step }.into())
}

/// Checks whether a core is healthy, and returns its channel.
pub(super) async fn check_core(url: &str, tls: Option<ClientTls>) -> anyhow::Result<CoreChannel> {
    let channel = rest_gateway::connect(url, &Settings { core_tls: tls.clone(), ..Settings::default() })?;
    let answer = HealthClient::new(channel.clone()).check(HealthCheckRequest::default()).await;
    let status = match answer {
        Ok(answer) => answer.into_inner().status(),
        Err(status) if status.code() == Code::Unavailable => {
            let reason = timeout(CONNECT_TIMEOUT, failed_connection(url, tls)).await.ok().flatten();
            let reason = reason.unwrap_or_else(|| anyhow::anyhow!("the core does not respond: {}", status.message()));
            return Err(reason.context(format!("{url} cannot be reached")));
        }
        Err(status) if matches!(status.code(), Code::Internal | Code::Unknown | Code::Unimplemented) => {
            let text = format!("{NOT_A_CORE}: {}", status.message());
            return Err(FailedConnection { text: format!("{url}: {text}"), next_step: CORRECT_ADDRESS }.into());
        }
        Err(status) => anyhow::bail!("the core returned an error: {}", status.message()),
    };
    if status != ServingStatus::Serving {
        let text = format!("the core is not serving: {status:?}");
        return Err(FailedConnection { text, next_step: "check the core's log and its database" }.into());
    }
    Ok(channel)
}

/// Why a connection to a core failed, with the operator's next step.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(super) struct FailedConnection {
    text: String,
    pub(super) next_step: &'static str,
}

/// Connects to a core after a failed call. Returns why the connection fails, or `None` if it succeeds.
///
/// A call may lose the reason: if the core closes the connection while the call is still being sent, the reset can arrive before the reason. To avoid
/// this, the function sends nothing after a TLS handshake.
async fn failed_connection(url: &str, tls: Option<ClientTls>) -> Option<anyhow::Error> {
    let uri = url.parse::<Uri>().ok()?;
    let is_secure = uri.scheme_str() == Some("https");
    let host = uri.host()?.trim_matches(['[', ']']).to_owned();
    let failed = |text: String, next_step| Some(FailedConnection { text, next_step }.into());
    let insecure = |failure: Failure, error: &io::Error| {
        failed(format!("TLS: {} ({})", failure.label(), tls::plain(&error.to_string())), next_step(failure))
    };
    let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
    let addresses = match lookup_host((host.as_str(), port)).await {
        Ok(addresses) => addresses.collect::<Vec<_>>(),
        Err(error) => {
            let next_step = "correct the name in --core-url, or check this machine's name servers";
            return failed(format!("the name cannot be resolved: {error}"), next_step);
        }
    };
    let mut stream = match TcpStream::connect(&*addresses).await {
        Ok(stream) => stream,
        Err(error) => {
            let next_step = "check that the core is running and listening there (--grpc-addr), and check firewalls";
            return failed(format!("cannot connect: {error}"), next_step);
        }
    };
    let mut first = [0; 16];
    let read = if is_secure {
        match tls.or_else(|| ClientTls::load(None, None).ok())?.connect(&host, stream).await {
            Ok(mut stream) => stream.read(&mut first).await,
            Err(error) => return insecure(Failure::of_handshake(&error), &error),
        }
    } else {
        stream.write_all(HTTP2_PREFACE).await.ok()?;
        Reporting::plain(stream, |_, _| ()).read(&mut first).await
    };
    match read {
        // A core begins with an HTTP/2 settings frame: three bytes with its length, then its type.
        Ok(read) if read < 4 || first[3] != 4 => failed(NOT_A_CORE.to_owned(), CORRECT_ADDRESS),
        Ok(_) => None,
        Err(error) => match Failure::of(&error) {
            Some(failure) => insecure(failure, &error),
            None => failed(format!("{NOT_A_CORE} ({error})"), CORRECT_ADDRESS),
        },
    }
}

const NOT_A_CORE: &str = "the address does not respond like a core";
const CORRECT_ADDRESS: &str = "use the address of a core's gRPC port (--grpc-addr, port 50051 by default)";

fn next_step(failure: Failure) -> &'static str {
    match failure {
        Failure::PeerNeedsCertificate => {
            "set --core-tls-cert: the core requires a client certificate (--grpc-client-ca)"
        }
        Failure::PeerRefusesCertificate => {
            "replace --core-tls-cert with a certificate from an authority in the core's --grpc-client-ca"
        }
        Failure::CertificateExpired => {
            "replace the core's certificate: the core reloads changed files without a restart"
        }
        Failure::CertificateNotYetValid => "compare the clocks of both machines",
        Failure::CertificateOfUnknownAuthority => "set --core-ca to the authority that issued the core's certificate",
        Failure::CertificateOfOtherName => "connect to a name in the certificate, or issue a certificate for this name",
        Failure::PeerSpeaksTls => {
            "the core requires TLS: use https:// in --core-url, or grpcs:// with `compliance health`"
        }
        Failure::NotTls => {
            "the core does not use TLS: use http:// in --core-url (grpc:// with `compliance health`), or set the core's --grpc-tls-cert"
        }
        _ => "compare the TLS settings on both sides, and check the core's log",
    }
}
