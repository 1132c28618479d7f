//! `compliance health`: asks a running service whether it serves.

use std::{io::Write as _, process::ExitCode, time::Duration};

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use http::{Request, StatusCode, Uri, header::HOST};
use http_body_util::Empty;
use hyper::{body::Bytes, client::conn::http1};
use hyper_util::rt::TokioIo;
use runtime::units::duration;
use tokio::{net::TcpStream, time::timeout};
use tonic::transport::Endpoint;
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};

/// Bounds of the time that an answer may take.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_mins(5);

/// Ask a running service whether it serves. The exit status is 0 if it does, and 1 if it does not or cannot be reached.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  compliance health
  compliance health http://127.0.0.1:8080
  compliance health grpc://127.0.0.1:50051 --timeout 1s")]
pub(crate) struct HealthArgs {
    /// Address of the service: http:// for a gateway, grpc:// for a core.
    #[arg(value_name = "URL", default_value = "http://127.0.0.1:8080")]
    address: Uri,
    /// How long the answer may take.
    #[arg(long, default_value = "2s", value_name = "TIME", value_parser = duration(SHORTEST..=LONGEST))]
    timeout: Duration,
}

pub(super) fn run(args: &HealthArgs) -> anyhow::Result<ExitCode> {
    let authority = args.address.authority().with_context(|| format!("{} names no host", args.address))?.as_str();
    let asked = async {
        match args.address.scheme_str() {
            Some("http") => rest(authority).await,
            Some("grpc") => grpc(authority).await,
            _ => bail!("{} is no address of a service: it begins with http:// or grpc://", args.address),
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let answered = runtime.block_on(async { timeout(args.timeout, asked).await });
    answered.map_err(|_| anyhow::anyhow!("{} has not answered in {:?}", args.address, args.timeout))??;
    writeln!(std::io::stdout(), "{} serves", args.address).context("the answer cannot be printed")?;
    Ok(ExitCode::SUCCESS)
}

/// Asks a gateway.
async fn rest(authority: &str) -> anyhow::Result<()> {
    let with_port = if authority.contains(':') { authority.to_owned() } else { format!("{authority}:80") };
    let stream = TcpStream::connect(&with_port).await.with_context(|| format!("{with_port} cannot be reached"))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let request = Request::get("/readyz").header(HOST, authority).body(Empty::<Bytes>::new())?;
    let exchange = sender.send_request(request);
    let status = tokio::select! {
        response = exchange => response.context("the gateway has not answered")?.status(),
        ended = connection => bail!("the gateway has closed the connection: {ended:?}"),
    };
    ensure!(status == StatusCode::OK, "the gateway is not ready: {status}");
    Ok(())
}

/// Asks a core.
async fn grpc(authority: &str) -> anyhow::Result<()> {
    let endpoint = Endpoint::from_shared(format!("http://{authority}"))?;
    let channel = endpoint.connect().await.with_context(|| format!("{authority} cannot be reached"))?;
    let answer = HealthClient::new(channel).check(HealthCheckRequest::default()).await;
    let status = answer.map_err(|status| anyhow::anyhow!("the core has refused: {}", status.message()))?.into_inner();
    ensure!(status.status() == ServingStatus::Serving, "the core does not serve: {:?}", status.status());
    Ok(())
}
