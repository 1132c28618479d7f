//! `compliance health`: checks whether a running service can serve requests.

use std::time::Duration;

use crate::program::{CoreTlsArgs, InvalidSetting};
use anyhow::{Context as _, ensure};
use clap::Args;
use flags::duration;
use http::{Request, StatusCode, Uri, header::HOST, uri::Authority};
use http_body_util::Empty;
use hyper::{body::Bytes, client::conn::http1};
use hyper_util::rt::TokioIo;
use rest_gateway::{CoreChannel, Settings};
use tls::ClientTls;
use tokio::{net::TcpStream, time::timeout};
use tokio_util::either::Either;
use tonic::Code;
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};

use crate::output::print;

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
    /// For https and grpcs.
    #[command(flatten)]
    tls: CoreTlsArgs,
}

pub(super) fn run(args: &HealthArgs) -> anyhow::Result<()> {
    let wrong = || {
        let text = "it must begin with http://, https://, grpc:// or grpcs://, and name a host";
        InvalidSetting::of("the address of the service")(format!("{}: {text}", args.address))
    };
    let authority = args.address.authority().ok_or_else(wrong)?;
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
    answered.map_err(|_| anyhow::anyhow!("{} has not responded within {:?}", args.address, args.timeout))??;
    print(&format!("{} serves", args.address))
}

async fn rest(authority: &Authority, tls: Option<ClientTls>) -> anyhow::Result<()> {
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    let port = authority.port_u16().unwrap_or(if tls.is_some() { 443 } else { 80 });
    let stream = TcpStream::connect((host, port)).await.with_context(|| format!("{authority} cannot be reached"))?;
    let stream = match tls {
        None => Either::Left(stream),
        Some(tls) => {
            let secure = tls.connect_with("http/1.1", host, stream).await;
            Either::Right(secure.context("the TLS handshake failed")?)
        }
    };
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    #[allow(clippy::disallowed_methods, reason = "it ends with the command")]
    tokio::spawn(connection);
    let request = Request::get("/readyz").header(HOST, authority.as_str()).body(Empty::<Bytes>::new())?;
    let status = sender.send_request(request).await.context("the gateway has not responded")?.status();
    ensure!(status == StatusCode::OK, "the gateway is not ready: {status}");
    Ok(())
}

/// Checks whether a core serves. Returns the channel to it.
pub(super) async fn check_core(url: &str, tls: Option<ClientTls>) -> anyhow::Result<CoreChannel> {
    let channel = rest_gateway::connect(url, &Settings { core_tls: tls, ..Settings::default() })?;
    let answer = HealthClient::new(channel.clone()).check(HealthCheckRequest::default()).await;
    let status = answer.map_err(|status| match status.code() {
        Code::Unavailable => anyhow::anyhow!("{url} cannot be reached: {}", status.message()),
        _ => anyhow::anyhow!("the core reports an error: {}", status.message()),
    })?;
    let status = status.into_inner().status();
    ensure!(status == ServingStatus::Serving, "the core does not serve: {status:?}");
    Ok(channel)
}
