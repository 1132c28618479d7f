//! The service as a client of it sees it: one that runs elsewhere, or one of our own, in this process, on the database.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, anyhow};
use clap::Args;
use compliance_api::{
    error::{Error, Reason},
    token::{Claims, KeySource, Secret, Verifier, issue},
    v1::{affiliate_service_client::AffiliateServiceClient, monitoring_service_client::MonitoringServiceClient},
};
use core_server::{Core, CoreSettings, access::RateLimit};
use rand::{TryRng as _, rngs::SysRng};
use runtime::{Hidden, SigningArgs, unix_now};
use tonic::{Request, Status, body::Body, metadata::MetadataValue, service::interceptor::InterceptedService};
use tower::{BoxError, Service as TowerService, ServiceExt as _, util::BoxCloneSyncService};

use crate::{
    data_dir::DataDirArgs,
    database::{Database, DatabaseArgs},
    secret,
};

/// The tokens that are made outlive any command.
const TOKEN_SECONDS: i64 = 7 * 86_400;
/// Connections of a core in this process: a command does one thing at a time.
const CONNECTIONS: u32 = 4;
/// How often a call is made that the service cannot answer for a while, and the longest wait between two.
const TRIES: u32 = 8;
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// How the service is reached.
#[derive(Args, Debug)]
pub(crate) struct ServiceArgs {
    /// Address of a running gRPC service: `http://host:port`. Without one, the service is run in this process, on the
    /// database; another service on the same database does not mind.
    #[arg(long, env = "COMPLIANCE_CORE_URL", value_name = "URL")]
    core_url: Option<String>,
    /// Bearer token for the service at --core-url. Without one, a token is made with the secret.
    #[arg(long, env = "COMPLIANCE_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    token: Option<Hidden>,
    #[command(flatten)]
    signing: SigningArgs,
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    data_dir: DataDirArgs,
}

/// The service, with a token for it.
pub(crate) struct Service {
    channel: Channel,
    bearer: Bearer,
    /// What runs in this process.
    own: Option<(Core, Database)>,
}

/// The service in this process or across a network. `MonitoringService` takes streams, which have no local form.
type Channel = BoxCloneSyncService<http::Request<Body>, http::Response<Body>, BoxError>;

fn boxed<S>(service: S) -> Channel
where
    S: TowerService<http::Request<Body>, Response = http::Response<Body>, Error: Into<BoxError>, Future: Send>,
    S: Clone + Send + Sync + 'static,
{
    BoxCloneSyncService::new(service.map_err(Into::into))
}

/// A channel that sends the token with every call.
type Authorised = InterceptedService<Channel, Bearer>;

/// Presents the token.
#[derive(Clone)]
pub(crate) struct Bearer(MetadataValue<tonic::metadata::Ascii>);

impl tonic::service::Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request.metadata_mut().insert("authorization", self.0.clone());
        Ok(request)
    }
}

impl Service {
    /// Finds or starts the service, for a company and with a scope if one is needed.
    pub(crate) async fn open(args: &ServiceArgs, company: i64, scope: Option<&str>) -> anyhow::Result<Self> {
        let claims = Claims { scope: scope.map(str::to_owned), ..Claims::new(company, unix_now()?, TOKEN_SECONDS) };
        match args.core_url.as_deref().filter(|url| !url.is_empty()) {
            Some(url) => {
                let channel = rest_gateway::connect(url, &rest_gateway::Settings::default())?;
                Ok(Self { channel: boxed(channel), bearer: Bearer::new(&args.token_for(claims)?)?, own: None })
            }
            None => Self::start(args, &claims).await,
        }
    }

    /// Starts the core in this process. Who may use the database may use all of it, so there is nothing to prove: the
    /// token is signed with a secret that nobody else ever sees.
    async fn start(args: &ServiceArgs, claims: &Claims) -> anyhow::Result<Self> {
        let mut bytes = [0; 32];
        SysRng.try_fill_bytes(&mut bytes).context("the system gives no random numbers")?;
        let secret = Secret::new(bytes)?;
        let bearer = Bearer::new(&issue(&secret, claims)?)?;
        let keys = KeySource { secret: Some(secret), ..KeySource::default() };
        let verifier = Arc::new(Verifier::new(keys, None).await?);
        let database = Database::open_for_service(&args.database, &args.data_dir, CONNECTIONS).await?;
        let core = Core::new(database.pool(), verifier, &core_settings()).await.context("the service cannot be set up");
        match core {
            Ok(core) => Ok(Self { channel: boxed(core.service()), bearer, own: Some((core, database)) }),
            Err(error) => {
                database.close().await?;
                Err(error)
            }
        }
    }

    pub(crate) fn affiliates(&self) -> AffiliateServiceClient<Authorised> {
        let client = AffiliateServiceClient::with_interceptor(self.channel.clone(), self.bearer.clone());
        client.max_decoding_message_size(usize::MAX)
    }

    pub(crate) fn monitoring(&self) -> MonitoringServiceClient<Authorised> {
        let client = MonitoringServiceClient::with_interceptor(self.channel.clone(), self.bearer.clone());
        client.max_decoding_message_size(usize::MAX)
    }

    /// Stops what was started for it.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        let Some((core, database)) = self.own else { return Ok(()) };
        drop((self.channel, core));
        database.close().await
    }
}

impl ServiceArgs {
    fn token_for(&self, claims: Claims) -> anyhow::Result<String> {
        if let Some(token) = self.token.as_ref().and_then(Hidden::filled) {
            return Ok(token.to_owned());
        }
        let secret = match self.signing.secret()? {
            Some(secret) => secret,
            None => secret::load_or_create(&self.data_dir.choose()?)?.secret,
        };
        let claims = Claims { iss: self.signing.issuer(), ..claims };
        issue(&secret, &claims).context("the token cannot be signed")
    }
}

impl Bearer {
    fn new(token: &str) -> anyhow::Result<Self> {
        let mut value: MetadataValue<_> =
            format!("Bearer {}", token.trim()).parse().context("the token holds characters that no token has")?;
        value.set_sensitive(true);
        Ok(Self(value))
    }
}

/// The settings of a core for one command: only the database limits it.
fn core_settings() -> CoreSettings {
    CoreSettings {
        rate_limit: RateLimit::Off,
        call_timeout: Duration::from_hours(1),
        list_timeout: Duration::from_hours(24),
        ..CoreSettings::default()
    }
}

/// Makes a call that may be repeated, again when the service cannot answer for a while or asks to wait.
pub(crate) async fn patiently<T, F>(mut call: impl FnMut() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<tonic::Response<T>, Status>>,
{
    let mut wait = Duration::from_millis(200);
    for tries in 1.. {
        match call().await {
            Ok(answer) => return Ok(answer.into_inner()),
            Err(status) => {
                let error = Error::from(&status);
                if tries >= TRIES || !is_passing(&error) {
                    return Err(error);
                }
                tracing::debug!(%status, "the call is made again");
                tokio::time::sleep(error.retry_after.unwrap_or(wait).min(LONGEST_WAIT)).await;
                wait = (wait * 2).min(LONGEST_WAIT);
            }
        }
    }
    Err(Error::internal())
}

/// Whether it helps to try again later.
pub(crate) fn is_passing(error: &Error) -> bool {
    matches!(
        error.reason,
        Reason::RateLimited | Reason::DatabaseUnavailable | Reason::Overloaded | Reason::CoreUnavailable
    )
}

/// What the service says, for people.
pub(crate) fn refused(error: &Error) -> anyhow::Error {
    match error.reason {
        Reason::TokenMissing | Reason::TokenInvalid | Reason::TokenExpired => anyhow!(
            "the service does not accept the token ({}): give its secret with --jwt-secret, or a token with --token",
            error.message
        ),
        _ => anyhow!("the service answers: {}", error.message),
    }
}
