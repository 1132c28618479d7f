//! `compliance serve` runs the whole service in one process: ports, database, keys and both tiers.

use std::{
    error::Error,
    io::Write as _,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::Path,
    process::ExitCode,
    sync::Arc,
};

use anyhow::Context as _;
use clap::Args;
use compliance_api::{
    BUILD_PROFILE,
    token::{Claims, KeySource, Secret, Verifier},
};
use embedded_postgres::check_data_dir;
use fixtures::DEMO_COMPANY;
use rest_gateway::Settings;
use time::OffsetDateTime;
use tls::ServerTls;
use tokio_util::sync::CancellationToken;

use super::core_tier::CoreArgs;
use crate::{
    data_dir::DataDirArgs,
    database::DatabaseServer,
    program::{Descriptors, KeyArgs, RestTlsArgs, close_pool, refuse_equal, unix_now},
    secret,
    start::{ServicePort, wait_for},
    version::COMMIT,
};

/// Lifetime of the `--demo` token, in hours.
const HOURS: i64 = 8;

/// Run the whole service in one process: REST, gRPC and, without --database-url, PostgreSQL.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  compliance serve --data-dir /var/lib/compliance --rest-addr 0.0.0.0:8080
  DATABASE_URL=postgres://compliance:…@db/compliance compliance serve")]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    data_dir: DataDirArgs,
    /// Create demo records for company 1 if it has no affiliates, and print commands to try.
    #[arg(long)]
    demo: bool,
    #[command(flatten)]
    core: CoreArgs,
    #[command(flatten, next_help_heading = "REST")]
    gateway: Settings,
    #[command(flatten)]
    rest_tls: RestTlsArgs,
}

pub(super) fn run(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    crate::program::serve_until_signal(|shutdown| Box::pin(serve(args, shutdown)))
}

/// Serves until `shutdown`. Then finishes accepted requests and stops everything it started.
async fn serve(args: &ServeArgs, shutdown: CancellationToken) -> anyhow::Result<()> {
    // Report invalid settings before creating a database.
    let given_database = args.core.database.target()?;
    let certificates = [args.rest_tls.load()?, args.core.grpc_tls.load()?];
    args.core.check()?;
    refuse_equal(&[
        ("rest-addr", Some(args.gateway.address)),
        ("grpc-addr", Some(args.core.core.address)),
        ("admin-addr", args.core.telemetry.admin_addr()),
    ])?;
    let [rest_tls, grpc_tls] = certificates.clone();
    let mut ports = [ServicePort::rest(&args.gateway, rest_tls)?, ServicePort::grpc(&args.core.core, grpc_tls)?];
    let _telemetry = args.core.telemetry.start("compliance")?;
    let given_keys = wait_for(&args.core.start, &mut ports, async || args.core.keys.given().await);
    let Some(given_keys) = shutdown.run_until_cancelled(given_keys).await.transpose()? else { return Ok(()) };
    let data_dir = args.data_dir.choose()?;
    // Like invalid settings, an unusable folder or secret is reported before anything is created.
    if given_database.is_none() {
        check_data_dir(&data_dir)?;
    }
    if given_keys.is_none() {
        secret::stored(&data_dir)?;
    }
    let start = DatabaseServer::start(given_database, &data_dir, args.core.core.database_connections);
    let started = shutdown.run_until_cancelled(Box::pin(start)).await.transpose()?;
    let Some(database) = started else { return Ok(()) };
    let served = Box::pin(serve_over(&database, args, ports, certificates, given_keys, &data_dir, &shutdown)).await;
    let stopped = database.stop().await;
    served.and(stopped)
}

/// Serves REST and gRPC on a running database server.
async fn serve_over(
    database: &DatabaseServer,
    args: &ServeArgs,
    mut ports: [ServicePort; 2],
    certificates: [Option<ServerTls>; 2],
    given_keys: Option<(Option<Secret>, Arc<Verifier>)>,
    data_dir: &Path,
    shutdown: &CancellationToken,
) -> anyhow::Result<()> {
    let connect = wait_for(&args.core.start, &mut ports, async || {
        database.connect(args.core.core.database_connections, args.core.core.change_retention).await
    });
    let Some(connected) = shutdown.run_until_cancelled(Box::pin(connect)).await.transpose()? else { return Ok(()) };
    let (secret, verifier) = if let Some(keys) = given_keys {
        keys
    } else {
        let secret = secret::load_or_create(data_dir)?;
        let keys = KeySource { secret: Some(secret.clone()), ..KeySource::default() };
        (Some(secret), Arc::new(Verifier::with_rules(keys, args.core.keys.rules()).await?))
    };
    core_server::database::warn_if_owner(&connected.pool).await;
    if args.demo && fixtures::fill_demo(&connected.pool, OffsetDateTime::now_utc()).await? {
        tracing::info!(company = DEMO_COMPANY, "created the demo records");
    }
    let mut settings = args.gateway.clone();
    let descriptors = Descriptors::raise();
    descriptors.bound("REST", &mut settings.connections.max_connections, 2, connected.max_connections());
    let core = args.core.create(&connected, &verifier, descriptors, 2).await?;
    let router = rest_gateway::router(core.clients(), Some(core.memory()), Arc::clone(&verifier), &settings);
    let _refresh = args.core.keys.refresh(&verifier);

    let _certificates = args.core.tls_refresh.keep(["REST", "gRPC"].into_iter().zip(&certificates), None);
    let [rest_port, grpc_port] = ports;
    let (rest_listener, grpc_listener) = (rest_port.listen()?, grpc_port.listen()?);
    let (rest, grpc) = (rest_listener.tcp.local_addr()?, grpc_listener.tcp.local_addr()?);
    tracing::info!(%rest, %grpc, data = database.description, instance = args.core.telemetry.instance(), commit = COMMIT, profile = BUILD_PROFILE, "ready");
    if args.demo {
        // The text contains a token, so do not log it. Ignore a closed standard output.
        let text = greeting(
            [rest, grpc],
            &database.description,
            data_dir,
            secret.and_then(|secret| demo_token(&args.core.keys, &secret)),
        );
        let _ = std::io::stdout().write_all(text.as_bytes());
    }
    // Both tiers shut down at the same time. REST calls the core directly, without the gRPC port.
    let (rest, grpc) = tokio::join!(
        serve_tier("REST", rest_gateway::serve(rest_listener, router, &settings, shutdown.clone()), shutdown),
        serve_tier("gRPC", core.serve(grpc_listener, shutdown.clone()), shutdown),
    );
    rest.and(grpc)?;
    // Drop the core first, because its health check uses the pool.
    drop(core);
    close_pool(&connected.pool).await;
    tracing::info!("stopped");
    Ok(())
}

/// Serves one tier. When this tier ends, the other tier also stops.
async fn serve_tier<E: Error + Send + Sync + 'static>(
    name: &str,
    tier: impl Future<Output = Result<(), E>>,
    shutdown: &CancellationToken,
) -> anyhow::Result<()> {
    let served = tier.await;
    shutdown.cancel();
    served.with_context(|| format!("the {name} server failed"))
}

/// Returns a token for the demo company.
fn demo_token(keys: &KeyArgs, secret: &Secret) -> Option<String> {
    keys.signing.issue(secret, Claims::new(DEMO_COMPANY, unix_now().ok()?, HOURS * 3600)).ok()
}

/// Returns the greeting of `--demo`: addresses, commands to try, and a token if the service signs tokens.
fn greeting([rest, grpc]: [SocketAddr; 2], data: &str, data_dir: &Path, token: Option<String>) -> String {
    let (rest, grpc) = (reachable(rest), reachable(grpc));
    let shown = token.as_deref().unwrap_or("'a token from your own issuer'");
    // Response bodies do not end in a line break, so curl adds one for the terminal.
    let curl = r#"curl -sw '\n' -H "Authorization: Bearer $TOKEN""#;
    let json = "-H 'Content-Type: application/json'";
    let another = token.as_ref().map_or_else(String::new, |_| {
        let program = std::env::current_exe().unwrap_or_else(|_| "compliance".into());
        let (program, data_dir) = (quoted(&program.to_string_lossy()), quoted(&data_dir.to_string_lossy()));
        let token = format!("{program} token --company {DEMO_COMPANY} --data-dir {data_dir}");
        format!(
            "The token is valid for {HOURS} hours. To get a new token: {token}\n\
             To work on cases in the console: {token} --subject officer --scope 'cases audit'\n"
        )
    });
    format!(
        r#"
The Affiliate Compliance Service is running.

  REST  http://{rest}/api
  gRPC  {grpc}
  Data  {data}

Read and try the REST API: http://{rest}/docs
Browse records: http://{rest}/console

Company {DEMO_COMPANY} is for trying things out. Paste these lines into another terminal:

  TOKEN={shown}
  {curl} http://{rest}/api/affiliates
  {curl} 'http://{rest}/api/cases?per_page=2'
  {curl} {json} -d '{{"urls":[{{"url":"https://example.org/offer"}}]}}' http://{rest}/api/urls

{another}Ctrl-C stops the service.

"#
    )
}

/// Returns the address for reaching a server from this machine.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        ip if !ip.is_unspecified() => {}
        IpAddr::V4(_) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(_) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
    }
    address
}

/// Quotes a word for the shell if necessary.
fn quoted(word: &str) -> String {
    let plain = |character: char| character.is_alphanumeric() || "/._-+@=:".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demo_greeting_prints_runnable_commands() {
        let addresses = ["0.0.0.0:8080", "[::]:50051"].map(|address| address.parse().unwrap());
        let text = greeting(addresses, "/data", Path::new("/it's here"), Some("a.b.c".to_owned()));
        assert!(text.contains("http://127.0.0.1:8080/api/affiliates\n") && text.contains("[::1]:50051"), "{text}");
        assert!(text.contains(r"--data-dir '/it'\''s here'"), "{text}");
        assert_eq!(text.matches("\n  curl ").count(), 3);
    }
}
