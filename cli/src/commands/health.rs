//! `compliance health`: checks whether a running service can serve requests.

use std::{process::ExitCode, time::Duration};

use crate::program::{CoreTlsArgs, InvalidSetting};
use anyhow::{Context as _, ensure};
use clap::Args;
use flags::duration;
use http::{Request, StatusCode, Uri, header::HOST, uri::Authority};
use http_body_util::Empty;
use hyper::{
    body::Bytes,
    client::conn::{http1, http2},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rest_gateway::Settings;
use tls::ClientTls;
use tokio::{net::TcpStream, time::timeout};
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

pub(super) fn run(args: &HealthArgs) -> anyhow::Result<ExitCode> {
    let wrong = || {
        let text = "it must begin with http://, https://, grpc:// or grpcs://, and name a host";
        InvalidSetting::of("the address of the service")(format!("{}: {text}", args.address))
    };
    let authority = args.address.authority().ok_or_else(wrong)?;
    let given = args.tls.load()?;
    let tls = || given.clone().map_or_else(|| Ok(ClientTls::load(None, None)?), anyhow::Ok);
    let asked = async {
        match args.address.scheme_str() {
            Some("http") => rest(authority, None).await,
            Some("https") => rest(authority, Some(tls()?)).await,
            Some("grpc") => grpc(format!("http://{authority}"), None).await,
            Some("grpcs") => grpc(format!("https://{authority}"), Some(tls()?)).await,
            _ => Err(wrong().into()),
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let answered = runtime.block_on(async { timeout(args.timeout, asked).await });
    answered.map_err(|_| anyhow::anyhow!("{} has not responded within {:?}", args.address, args.timeout))??;
    print(&format!("{} serves", args.address))?;
    Ok(ExitCode::SUCCESS)
}

async fn rest(authority: &Authority, tls: Option<ClientTls>) -> anyhow::Result<()> {
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    let port = authority.port_u16().unwrap_or(if tls.is_some() { 443 } else { 80 });
    let stream = TcpStream::connect((host, port)).await.with_context(|| format!("{authority} cannot be reached"))?;
    let request = Request::get("/readyz").header(HOST, authority.as_str());
    let response = match tls {
        None => {
            let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
            #[allow(clippy::disallowed_methods, reason = "it ends with the command")]
            tokio::spawn(connection);
            sender.send_request(request.body(Empty::<Bytes>::new())?).await
        }
        Some(tls) => {
            let stream = tls.connect(host, stream).await.context("the TLS handshake failed")?;
            let (mut sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
            #[allow(clippy::disallowed_methods, reason = "it ends with the command")]
            tokio::spawn(connection);
            let request = request.uri(format!("https://{authority}/readyz"));
            sender.send_request(request.body(Empty::<Bytes>::new())?).await
        }
    };
    let status = response.context("the gateway has not responded")?.status();
    ensure!(status == StatusCode::OK, "the gateway is not ready: {status}");
    Ok(())
}

async fn grpc(url: String, tls: Option<ClientTls>) -> anyhow::Result<()> {
    let channel = rest_gateway::connect(&url, &Settings { core_tls: tls, ..Settings::default() })?;
    let answer = HealthClient::new(channel).check(HealthCheckRequest::default()).await;
    let status = answer.map_err(|status| match status.code() {
        Code::Unavailable => anyhow::anyhow!("{url} cannot be reached: {}", status.message()),
        _ => anyhow::anyhow!("the core reports an error: {}", status.message()),
    })?;
    let status = status.into_inner().status();
    ensure!(status == ServingStatus::Serving, "the core does not serve: {status:?}");
    Ok(())
}
