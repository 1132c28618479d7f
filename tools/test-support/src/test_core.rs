//! Runs a core in the test's process, with its own database.

use std::time::Duration;

use core_server::{Core, CoreSettings, WebhookSettings, access::RateLimit, database};
use embedded_postgres::{OWNER_ROLE, SERVICE_ROLE};
use sqlx::{PgPool, postgres::PgConnectOptions};
use tracing_subscriber::filter::LevelFilter;

use crate::{GrpcClients, citus::ROLES, database::behind_pooler, fresh_database, token, verifier};

/// Call timeout in tests. Longer than any test waits, so only a test's own deadlines apply.
pub(crate) const DEADLINE: Duration = Duration::from_mins(10);

/// Returns settings for webhooks on this machine, with or without delivery.
pub fn webhooks(deliver: bool) -> WebhookSettings {
    WebhookSettings { no_delivery: !deliver, networks: vec!["127.0.0.0/8".parse().unwrap()], ca: None }
}

/// A core that tests call within the process.
#[derive(Debug)]
pub struct TestCore {
    /// The test's connections to the core's database, as the owner.
    pub pool: PgPool,
    /// The core itself.
    pub core: Core,
}

impl TestCore {
    /// Starts a core without a rate limit, with a fresh database.
    pub async fn start() -> Self {
        Self::over(fresh_database().await.options, 16).await
    }

    /// Starts a core without a rate limit, with this database and number of connections.
    pub async fn over(database: PgConnectOptions, connections: u32) -> Self {
        Self::with(database, connections, RateLimit::Off).await
    }

    /// Starts a core with this database and rate limit.
    pub async fn with(database: PgConnectOptions, connections: u32, rate_limit: RateLimit) -> Self {
        let settings =
            CoreSettings { rate_limit, call_timeout: DEADLINE, webhooks: webhooks(false), ..CoreSettings::default() };
        Self::with_settings(database, connections, settings).await
    }

    /// Starts a core with this database and these settings.
    pub async fn with_settings(database: PgConnectOptions, connections: u32, settings: CoreSettings) -> Self {
        // Failed tests show their core's warnings. The first test sets the subscriber for all tests.
        let _ =
            tracing_subscriber::fmt().with_max_level(LevelFilter::WARN).with_ansi(false).with_test_writer().try_init();
        // The core connects as a role that owns nothing, and the test as the owner.
        let owner = database::connect(database.clone(), 1).await.unwrap();
        {
            let _alone = ROLES.lock().await;
            database::grant(&owner, SERVICE_ROLE).await.unwrap();
        }
        owner.close().await;
        let served = behind_pooler(database.clone().username(SERVICE_ROLE));
        let served = database::open(served.into(), connections).await.unwrap();
        // The core can use all of its connections, so the test opens its own connections.
        let pool = (owner.options().clone())
            .max_connections(16)
            .acquire_timeout(Duration::from_mins(1))
            .connect_lazy_with((*owner.connect_options()).clone().username(OWNER_ROLE));
        let core = Core::new(&served, verifier().await, &settings).await.unwrap();
        Self { core: core.with_background(), pool }
    }

    /// Returns a company's clients, with every scope.
    pub fn company(&self, company: i64) -> GrpcClients {
        self.clients(&token(company))
    }

    /// Returns clients with this token.
    pub fn clients(&self, token: &str) -> GrpcClients {
        GrpcClients::over(self.core.service(), token)
    }
}
