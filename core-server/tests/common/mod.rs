//! What tests of the core share: a database server that ends with them, a fresh database each, and clients.
//!
//! `main` of a test program (`harness = false`) hands its tests to [`main`]. A test takes a [`Service`].

// Each test program compiles this module for itself and uses what it needs.
#![allow(dead_code, reason = "see above")]

use std::{
    panic,
    path::PathBuf,
    process::ExitCode,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use clap::Parser;
use compliance_api::{
    token::{Claims, KeySource, SCOPE_MONITOR, Secret, Verifier, issue},
    v1::{
        affiliate_service_client::AffiliateServiceClient, compliance_case_service_client::ComplianceCaseServiceClient,
        compliance_url_service_client::ComplianceUrlServiceClient, monitoring_service_client::MonitoringServiceClient,
    },
};
use core_server::{Core, CoreService, config::CoreArgs, database};
use embedded_postgres::{Cluster, ClusterOptions, Endpoint};
use futures::future::LocalBoxFuture;
use libtest_mimic::{Arguments, Failed, Trial};
use sqlx::{PgPool, postgres::PgConnectOptions};
use tokio::runtime::{Builder, Runtime};
use tonic::{
    Request, Status,
    metadata::{Ascii, MetadataValue},
    service::{Interceptor, interceptor::InterceptedService},
};

const TEMPLATE: &str = "template_of_tests";
static ENDPOINT: OnceLock<Endpoint> = OnceLock::new();

/// A test: its name, and what it does.
pub(crate) struct Test {
    pub(crate) name: &'static str,
    pub(crate) run: fn() -> LocalBoxFuture<'static, ()>,
}

/// Declares `tests()` of a module: an asynchronous function that is not named here is dead code, and the build says so.
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        pub(crate) fn tests() -> Vec<$crate::common::Test> {
            vec![$($crate::common::Test {
                name: concat!(module_path!(), "::", stringify!($name)),
                run: || Box::pin($name()),
            }),*]
        }
    };
}
pub(crate) use tests;

/// The `main` of a test program.
pub(crate) fn main(tests: Vec<Vec<Test>>) -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = tests.into_iter().flatten().map(trial).collect();
    if arguments.list {
        return libtest_mimic::run(&arguments, trials).exit_code();
    }
    let runtime = runtime();
    let cluster = runtime.block_on(start());
    let conclusion = libtest_mimic::run(&arguments, trials);
    runtime.block_on(cluster.stop()).unwrap();
    conclusion.exit_code()
}

/// Starts the database server and makes the template that every test gets a copy of.
async fn start() -> Cluster {
    let mut options = ClusterOptions::temporary();
    options.settings.max_connections = 300;
    let cluster = Cluster::start(options).await.unwrap_or_else(|error| panic!("no database for tests: {error}"));
    cluster.create_database(TEMPLATE).await.unwrap();
    let pool = database::connect(cluster.connect_options(TEMPLATE), 2).await.unwrap();
    database::migrate(&pool).await.unwrap();
    pool.close().await;
    ENDPOINT.set(cluster.endpoint().clone()).unwrap();
    cluster
}

fn trial(test: Test) -> Trial {
    let name = test.name.split_once("::").map_or(test.name, |(_, name)| name);
    Trial::test(name, move || {
        // A runtime of its own: whatever a test leaves running ends with it.
        let runtime = runtime();
        let result = panic::catch_unwind(panic::AssertUnwindSafe(|| runtime.block_on((test.run)())));
        runtime.shutdown_timeout(Duration::from_secs(10));
        result.map_err(|panic| match panic.downcast::<String>() {
            Ok(message) => Failed::from(*message),
            Err(panic) => Failed::from(panic.downcast_ref::<&str>().copied().unwrap_or("it panicked")),
        })
    })
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    core: CoreArgs,
}

/// The core over a database of its own.
pub(crate) struct Service {
    /// Connections to look behind the service's back with.
    pub(crate) pool: PgPool,
    pub(crate) core: Core,
}

impl Service {
    /// Without a rate limit.
    pub(crate) async fn start() -> Self {
        Self::over(Self::database().await.0, 16).await
    }

    /// A database of its own, and the socket of its server.
    pub(crate) async fn database() -> (PgConnectOptions, PathBuf) {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let endpoint = ENDPOINT.get().unwrap();
        let name = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        endpoint.create_database_from(&name, TEMPLATE).await.unwrap();
        (endpoint.connect_options(&name), endpoint.socket_dir().join(".s.PGSQL.5432"))
    }

    /// The core over a database, with so many connections to it.
    pub(crate) async fn over(database: PgConnectOptions, connections: u32) -> Self {
        let pool = database::connect(database, connections).await.unwrap();
        let source = KeySource { secret: Some(secret()), ..KeySource::default() };
        let verifier = Arc::new(Verifier::new(source, None).await.unwrap());
        let args = Args::parse_from(["core", "--rate-limit", "off"]);
        Self { core: Core::new(&pool, verifier, &args.core).unwrap(), pool }
    }

    /// Clients of a company that may do everything.
    pub(crate) fn company(&self, company_id: i64) -> Clients {
        self.clients(&token(company_id, Some(SCOPE_MONITOR)))
    }

    /// Clients with a token.
    pub(crate) fn clients(&self, token: &str) -> Clients {
        let bearer = Bearer(format!("Bearer {token}").parse().unwrap());
        let service = || InterceptedService::new(self.core.service(), bearer.clone());
        Clients {
            affiliates: AffiliateServiceClient::new(service()),
            urls: ComplianceUrlServiceClient::new(service()),
            cases: ComplianceCaseServiceClient::new(service()),
            monitoring: MonitoringServiceClient::new(service()),
        }
    }
}

type Channel = InterceptedService<CoreService, Bearer>;

/// A client of each service, all with the same token.
#[derive(Clone)]
pub(crate) struct Clients {
    pub(crate) affiliates: AffiliateServiceClient<Channel>,
    pub(crate) urls: ComplianceUrlServiceClient<Channel>,
    pub(crate) cases: ComplianceCaseServiceClient<Channel>,
    pub(crate) monitoring: MonitoringServiceClient<Channel>,
}

/// Presents a token with every call.
#[derive(Clone)]
pub(crate) struct Bearer(MetadataValue<Ascii>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request.metadata_mut().insert("authorization", self.0.clone());
        Ok(request)
    }
}

fn secret() -> Secret {
    Secret::new(vec![7; 32]).unwrap()
}

/// Seconds since 1970.
pub(crate) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64
}

/// A token of a company, good for an hour.
pub(crate) fn token(company_id: i64, scope: Option<&str>) -> String {
    token_for(company_id, scope, 3600)
}

/// A token of a company, good for so many seconds.
pub(crate) fn token_for(company_id: i64, scope: Option<&str>, seconds: i64) -> String {
    let claims = Claims { scope: scope.map(str::to_owned), ..Claims::new(company_id, now(), seconds) };
    issue(&secret(), &claims).unwrap()
}
