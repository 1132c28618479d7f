//! Connects to the service as a client: to a running core, or to a core in this process.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, anyhow};
use clap::{Args, ValueEnum};
use compliance_api::{
    PrivateUrl,
    error::{Error, Reason},
    record::Record as _,
    rules::Check as _,
    token::{Claims, KeySource, SCOPE_MONITOR, Secret, Verifier, issue},
    v1::{
        AffiliateInput, CaseInput, UrlObservation, affiliate_roster_service_client::AffiliateRosterServiceClient,
        affiliate_service_client::AffiliateServiceClient, monitoring_service_client::MonitoringServiceClient,
    },
};
use core_server::{
    Core, CoreSettings,
    access::RateLimit,
    database::{Database, check_migrated},
};
use http::{HeaderValue, header::AUTHORIZATION};
use tonic::{Response, Status, body::Body};
use tower::{BoxError, Service as TowerService, ServiceExt as _, util::BoxCloneSyncService};

use crate::{
    database::{DatabaseArgs, DatabaseServer},
    program::{CoreTlsArgs, Hidden, InvalidSetting, SigningArgs, named, unix_now, without_scheme},
    secret,
};

/// Lifetime of a command's token, in seconds. No command runs longer.
const TOKEN_SECONDS: i64 = 7 * 86_400;
/// Database connections of a core in this process. A command makes one call at a time.
const CONNECTIONS: u32 = 4;
/// Maximum attempts per call, and the bounds of the backoff between them.
const ATTEMPTS: u32 = 8;
const SHORTEST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordKind {
    /// Affiliates, with the field names of requests.
    Affiliates,
    /// URLs with their infractions.
    Urls,
    /// Cases with their incidents.
    Cases,
}

impl RecordKind {
    /// Returns the name to show in progress messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Affiliates => "affiliates",
            Self::Urls => "URLs",
            Self::Cases => "cases",
        }
    }

    /// Returns the columns of an export. Case fields are between the request ID and the incidents.
    pub(crate) fn columns(self) -> Vec<&'static str> {
        match self {
            Self::Affiliates => AffiliateInput::names(),
            Self::Urls => UrlObservation::MESSAGE.names().filter(|name| *name != "clear").collect(),
            Self::Cases => {
                let (mut columns, fields) = (vec!["request_id"], CaseInput::MESSAGE.names());
                columns.extend(fields.chain(["incidents", "dates_as_given"]));
                columns
            }
        }
    }

    /// Returns the token scope that these records require.
    pub(crate) fn scope(self) -> Option<&'static str> {
        (self != Self::Affiliates).then_some(SCOPE_MONITOR)
    }
}

/// How to reach the service.
#[derive(Args, Debug)]
pub(crate) struct ServiceArgs {
    /// Address of a running core: `http://host:port` or `https://host:port`. Without an address, the command runs its own core on the database, even
    /// while a service uses the database.
    #[arg(long, env = "COMPLIANCE_CORE_URL", hide_env_values = true, value_name = "URL")]
    core_url: Option<PrivateUrl>,
    /// Bearer token for the core at --core-url. Without a token, the command signs one with the secret.
    #[arg(long, env = "COMPLIANCE_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    token: Option<Hidden>,
    #[command(flatten)]
    core_tls: CoreTlsArgs,
    // Without this heading, the heading of `core_tls` would continue.
    #[command(flatten, next_help_heading = "Service")]
    signing: SigningArgs,
    #[command(flatten)]
    database: DatabaseArgs,
    /// Create the data folder, its database and its secret if they are missing.
    #[arg(long)]
    init: bool,
}

pub(crate) struct Service {
    channel: Channel,
    /// The core and database in this process, or `None` for a remote core.
    own: Option<(Core, Database, DatabaseServer)>,
}

/// Channel to a local or remote core, which sends the token with every call. The generated local clients do not support the request
/// streams of `MonitoringService`.
type Channel = BoxCloneSyncService<http::Request<Body>, http::Response<Body>, BoxError>;

impl Service {
    /// Connects to the service or starts it, with a token for a company and an optional scope.
    pub(crate) async fn open(
        args: &ServiceArgs,
        company: i64,
        scope: Option<&str>,
        has_changes: bool,
    ) -> anyhow::Result<Self> {
        let claims = Claims { scope: scope.map(str::to_owned), ..Claims::new(company, unix_now()?, TOKEN_SECONDS) };
        let Some(url) = args.core_url.as_ref().map(PrivateUrl::reveal).filter(|url| !url.is_empty()) else {
            return Self::start(args, &claims, has_changes).await;
        };
        let settings = rest_gateway::Settings {
            core_tls: args.core_tls.load_for(&args.core_url)?,
            ..rest_gateway::Settings::default()
        };
        let channel = rest_gateway::connect(url, &settings).map_err(InvalidSetting::of(named("core-url")))?;
        let token = if let Some(token) = args.token.as_ref().and_then(Hidden::filled) {
            let token = without_scheme(token);
            args.signing.check_company(token, company)?;
            token.to_owned()
        } else {
            let secret = secret::find(&args.signing, &args.database.data_dir, args.init)?;
            args.signing.issue(&secret, claims)?
        };
        Ok(Self { channel: with_token(channel, &token)?, own: None })
    }

    /// Starts a core in this process. A random secret signs its token, because access to the database already allows everything.
    async fn start(args: &ServiceArgs, claims: &Claims, has_changes: bool) -> anyhow::Result<Self> {
        let secret = Secret::new(rand::random::<[u8; 32]>())?;
        let token = issue(&secret, claims)?;
        let keys = KeySource { secret: Some(secret), ..KeySource::default() };
        let verifier = Arc::new(Verifier::new(keys, None).await?);
        let server = DatabaseServer::find(&args.database, args.init).await?;
        if !server.is_own() {
            // Only `migrate` and `serve` change the schema of a given database.
            let database = server.open().await?;
            check_migrated(&database.pool).await?;
            database.pool.close().await;
        }
        server.name(has_changes);
        let database = server.connect(CONNECTIONS, None).await?;
        // Commands have no rate limit, and their timeouts are long.
        let settings = CoreSettings {
            rate_limit: RateLimit::Off,
            call_timeout: Duration::from_hours(1),
            list_timeout: Duration::from_hours(24),
            ..CoreSettings::default()
        };
        match Core::new(&database, verifier, &settings).await {
            Ok(core) => Ok(Self { channel: with_token(core.service(), &token)?, own: Some((core, database, server)) }),
            Err(error) => {
                server.close(&database.pool).await?;
                Err(error).context("cannot set up the service")
            }
        }
    }

    pub(crate) fn affiliates(&self) -> AffiliateServiceClient<Channel> {
        AffiliateServiceClient::new(self.channel.clone()).max_decoding_message_size(usize::MAX)
    }

    pub(crate) fn rosters(&self) -> AffiliateRosterServiceClient<Channel> {
        AffiliateRosterServiceClient::new(self.channel.clone()).max_decoding_message_size(usize::MAX)
    }

    pub(crate) fn monitoring(&self) -> MonitoringServiceClient<Channel> {
        MonitoringServiceClient::new(self.channel.clone()).max_decoding_message_size(usize::MAX)
    }

    pub(crate) async fn close(self) -> anyhow::Result<()> {
        let Some((core, database, server)) = self.own else { return Ok(()) };
        drop((self.channel, core));
        server.close(&database.pool).await
    }
}

/// Adds the token to every request.
fn with_token<S>(service: S, token: &str) -> anyhow::Result<Channel>
where
    S: TowerService<http::Request<Body>, Response = http::Response<Body>, Error: Into<BoxError>, Future: Send>,
    S: Clone + Send + Sync + 'static,
{
    let bearer = format!("Bearer {token}");
    let mut bearer = HeaderValue::try_from(bearer).context("the token contains invalid characters")?;
    bearer.set_sensitive(true);
    let service = service.map_err(Into::into).map_request(move |mut request: http::Request<Body>| {
        request.headers_mut().insert(AUTHORIZATION, bearer.clone());
        request
    });
    Ok(BoxCloneSyncService::new(service))
}

/// Counts failed attempts of a call, or of a stream without progress.
#[derive(Default)]
pub(crate) struct Retries(u32);

impl Retries {
    /// Waits before the next attempt. Fails after the last attempt, or if a retry cannot help.
    pub(crate) async fn wait(&mut self, error: Error) -> anyhow::Result<()> {
        let temporary = matches!(
            error.reason,
            Reason::RateLimited | Reason::DatabaseUnavailable | Reason::Overloaded | Reason::CoreUnavailable
        );
        let wait = error.retry_after.unwrap_or(SHORTEST_WAIT * 2_u32.pow(self.0)).min(LONGEST_WAIT);
        self.0 += 1;
        if self.0 >= ATTEMPTS || !temporary {
            return Err(refused(&error));
        }
        tracing::debug!(error = error.message, "retrying a call");
        tokio::time::sleep(wait).await;
        Ok(())
    }
}

/// Makes an idempotent call. Retries while the service is temporarily unavailable or limits the call rate.
pub(crate) async fn patiently<T>(call: impl AsyncFn() -> Result<Response<T>, Status>) -> anyhow::Result<T> {
    let mut retries = Retries::default();
    loop {
        match call().await {
            Ok(response) => return Ok(response.into_inner()),
            Err(status) => retries.wait(Error::from(&status)).await?,
        }
    }
}

/// Adds advice for the command's user to an error from the service.
pub(crate) fn refused(error: &Error) -> anyhow::Error {
    let message = &error.message;
    match error.reason {
        Reason::TokenMissing | Reason::TokenInvalid | Reason::TokenExpired => anyhow!(
            "the service rejected the token ({message}): set the service's secret with --jwt-secret, or specify a different --token"
        ),
        Reason::CoreUnavailable => anyhow!(
            "the service returned an error: {}; `compliance health grpc://HOST:PORT` shows why a core cannot be used",
            message.trim_end_matches('.')
        ),
        _ => anyhow!("the service returned an error: {message}"),
    }
}
