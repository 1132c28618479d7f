//! Startup of a service. While the service waits for its dependencies, its ports report that it is not ready.

use std::{io, pin::Pin, time::Duration};

use anyhow::Context as _;
use clap::Args;
use compliance_api::token::KeyError;
use core_server::{CoreSettings, database::DatabaseError};
use flags::duration;
use http_server::{App, ConnectionLimits, Listener};
use rest_gateway::Settings;
use tls::ServerTls;
use tokio::time::{Instant, sleep};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::program::{Port, describe};

/// Initial and maximum pause between two attempts.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(5)];
/// Interval between log lines with the same reason.
const LOG_INTERVAL: Duration = Duration::from_secs(30);

/// How long a program waits for its dependencies at startup.
#[derive(Args, Clone, Debug)]
pub(crate) struct StartArgs {
    /// Maximum time to wait at startup for the database, the key set and the schema migration. While it waits, the service responds with
    /// 503. With 0, the service does not wait.
    #[arg(long, env = "COMPLIANCE_START_TIMEOUT", default_value = "5m", value_name = "TIME",
          value_parser = duration(Duration::ZERO..=Duration::from_hours(24)))]
    start_timeout: Duration,
}

/// Returns port limits for a waiting service: enough for a few short health checks.
fn unready_limits() -> ConnectionLimits {
    let short = Duration::from_secs(5);
    ConnectionLimits {
        max_connections: 256,
        header_timeout: short,
        idle_timeout: short,
        write_timeout: short,
        ..ConnectionLimits::default()
    }
}

/// Function that serves a port until the service is ready.
type Unready = fn(Listener) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// A service port. While the service waits for its dependencies, the port responds that it is not ready.
pub(crate) struct ServicePort {
    port: Port,
    tls: Option<ServerTls>,
    unready: Unready,
    unready_server: Option<AbortOnDropHandle<io::Result<()>>>,
}

impl ServicePort {
    /// Binds the gRPC port.
    pub(crate) fn grpc(settings: &CoreSettings, tls: Option<ServerTls>) -> anyhow::Result<Self> {
        let port = Port::bind(settings.address, settings.connections.reuse_port, "grpc-addr")?;
        let unready: Unready = |listener| {
            Box::pin(async {
                let app = App { name: "gRPC", http1: false, service: core_server::unready().await };
                http_server::serve(listener, app, unready_limits(), CancellationToken::new()).await
            })
        };
        Ok(Self { port, tls, unready, unready_server: None })
    }

    /// Binds the REST port.
    pub(crate) fn rest(settings: &Settings, tls: Option<ServerTls>) -> anyhow::Result<Self> {
        let port = Port::bind(settings.address, settings.connections.reuse_port, "rest-addr")?;
        let unready: Unready = |listener| {
            let app = App { name: "REST", http1: true, service: rest_gateway::unready() };
            Box::pin(http_server::serve(listener, app, unready_limits(), CancellationToken::new()))
        };
        Ok(Self { port, tls, unready, unready_server: None })
    }

    /// Starts responding that the service is not ready.
    fn open(&mut self) -> anyhow::Result<()> {
        if self.unready_server.is_none() {
            let listener = Listener { tcp: self.port.listen()?, tls: self.tls.clone() };
            #[allow(clippy::disallowed_methods, reason = "the task ends when the service is ready")]
            let serving = tokio::spawn((self.unready)(listener));
            self.unready_server = Some(AbortOnDropHandle::new(serving));
        }
        Ok(())
    }

    /// Stops the not-ready responses, and opens the port.
    pub(crate) fn listen(self) -> anyhow::Result<Listener> {
        drop(self.unready_server);
        Ok(Listener { tcp: self.port.listen()?, tls: self.tls })
    }
}

/// Retries until the attempt succeeds, fails permanently, or times out. The first failure opens the ports.
pub(crate) async fn wait_for<T>(
    args: &StartArgs,
    ports: &mut [ServicePort],
    attempt: impl AsyncFn() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let end = Instant::now() + args.start_timeout;
    let (mut pause, mut logged) = (PAUSES[0], None::<(String, Instant)>);
    loop {
        let error = match attempt().await {
            Err(error) if may_pass(&error) && args.start_timeout > Duration::ZERO => error,
            result => return result,
        };
        if Instant::now() >= end {
            return Err(error).with_context(|| format!("gave up after {:?}", args.start_timeout));
        }
        ports.iter_mut().try_for_each(ServicePort::open)?;
        let reason = describe(&error);
        if logged.as_ref().is_none_or(|(last, when)| *last != reason || when.elapsed() >= LOG_INTERVAL) {
            let remaining = end.saturating_duration_since(Instant::now()).as_secs();
            tracing::warn!(reason, remaining_s = remaining, "not ready: waiting for dependencies");
            logged = Some((reason, Instant::now()));
        }
        sleep(pause.min(end.saturating_duration_since(Instant::now()))).await;
        pause = (pause * 2).min(PAUSES[1]);
    }
}

/// Returns whether a retry may succeed.
fn may_pass(error: &anyhow::Error) -> bool {
    let key = error.chain().find_map(|cause| cause.downcast_ref::<KeyError>());
    let database = error.chain().find_map(|cause| cause.downcast_ref::<DatabaseError>());
    key.is_some_and(|error| matches!(error, KeyError::Fetch { .. })) || database.is_some_and(DatabaseError::may_pass)
}
