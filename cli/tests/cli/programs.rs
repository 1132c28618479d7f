//! Tests the shared behavior of `serve`, `core` and `gateway`: empty variables, a second signal, and a bounded shutdown.

use std::{
    io::Read as _,
    net::{SocketAddr, TcpListener},
    path::Path,
    process::Command,
};

use crate::common::{DataDir, GIVEN, Service, compliance, copy_template, wait_until};
use compliance_api::token::{Claims, SCOPE_MONITOR, Secret, issue};
use embedded_postgres::{ADMIN_ROLE, Cluster, ClusterOptions, OWNER_ROLE, SERVICE_ROLE};
use nix::sys::signal::Signal;
use sqlx::{Connection as _, PgConnection, SqlSafeStr, postgres::PgConnectOptions};
use test_support::kill_process;
use tokio::runtime::Runtime;

pub(crate) const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// Starts the three programs on one database.
pub(crate) struct Programs {
    data: DataDir,
    /// Runs the database and the test's own connections to it.
    threads: Runtime,
    cluster: Option<Cluster>,
}

impl Programs {
    pub(crate) fn new() -> Self {
        Self::with(ClusterOptions::temporary())
    }

    pub(crate) fn with(options: ClusterOptions) -> Self {
        copy_template(&options.data_dir);
        let threads = Runtime::new().unwrap();
        let cluster = threads.block_on(Cluster::start(options)).unwrap();
        Self { data: DataDir::new(), threads, cluster: Some(cluster) }
    }

    pub(crate) fn database(&self) -> String {
        self.cluster.as_ref().unwrap().endpoint().url(OWNER_ROLE, GIVEN)
    }

    /// Returns the folder of the database server's socket.
    pub(crate) fn socket_dir(&self) -> &Path {
        self.cluster.as_ref().unwrap().endpoint().socket_dir()
    }

    /// Returns the superuser's database URL.
    pub(crate) fn admin_database(&self) -> String {
        self.cluster.as_ref().unwrap().endpoint().url(ADMIN_ROLE, GIVEN)
    }

    /// Returns the service role's database URL. The role owns nothing.
    pub(crate) fn service_database(&self) -> String {
        self.cluster.as_ref().unwrap().endpoint().url(SERVICE_ROLE, GIVEN)
    }

    /// Runs statements as the superuser, in any of the server's databases.
    pub(crate) fn run_as_admin(&self, database: &str, statements: &str) {
        self.threads.block_on(async {
            let options = self.cluster.as_ref().unwrap().endpoint().options(ADMIN_ROLE, database);
            let mut connection = PgConnection::connect_with(&options).await.unwrap();
            sqlx::raw_sql(sqlx::AssertSqlSafe(statements.to_owned())).execute(&mut connection).await.unwrap();
        });
    }

    /// Stops the database server.
    pub(crate) fn stop_database(&mut self) {
        self.threads.block_on(self.cluster.take().unwrap().stop()).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = compliance(&self.data);
        command.args(arguments).env("COMPLIANCE_JWT_SECRET", SECRET).env("COMPLIANCE_RATE_LIMIT", "off");
        command
    }

    pub(crate) fn serve(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&["serve"]);
        command.args(arguments).env("DATABASE_URL", self.database());
        command
    }

    pub(crate) fn core(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&["core"]);
        command.args(arguments).env("DATABASE_URL", self.database());
        command
    }

    pub(crate) fn doctor(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&["doctor"]);
        command.args(arguments).env("DATABASE_URL", self.database());
        command
    }

    pub(crate) fn audit(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&["audit"]);
        command.args(arguments).env("DATABASE_URL", self.database());
        command
    }

    pub(crate) fn erase(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&["erase", "--company", "7"]);
        command.args(arguments).env("DATABASE_URL", self.database());
        command
    }

    fn gateway(&self, core: SocketAddr) -> Command {
        self.gateway_of(&[core], &[])
    }

    /// Returns a command for a gateway in front of several cores.
    pub(crate) fn gateway_of(&self, cores: &[SocketAddr], arguments: &[&str]) -> Command {
        let mut command = self.command(&["gateway"]);
        let urls: Vec<_> = cores.iter().map(|core| format!("http://{core}")).collect();
        command.args(arguments).env("COMPLIANCE_CORE_URL", urls.join(","));
        command
    }

    /// Locks the affiliates table. Requests for affiliates wait until the lock is dropped.
    pub(crate) fn lock_affiliates(&self) -> PgConnection {
        self.threads.block_on(async {
            let mut connection = self.connect().await;
            sqlx::raw_sql("begin; lock table affiliates").execute(&mut connection).await.unwrap();
            connection
        })
    }

    /// Holds a statement's locks until the returned connection is dropped.
    pub(crate) fn hold(&self, lock: &'static str) -> PgConnection {
        self.threads.block_on(async {
            let mut connection = self.connect().await;
            sqlx::raw_sql("begin").execute(&mut connection).await.unwrap();
            sqlx::raw_sql(lock).execute(&mut connection).await.unwrap();
            connection
        })
    }

    /// Like [`Self::hold`], as the superuser and in a transaction that survives deadlocks.
    pub(crate) fn hold_as_admin(&self, lock: &'static str) -> PgConnection {
        self.threads.block_on(async {
            let options: PgConnectOptions = self.admin_database().parse().unwrap();
            let mut connection = PgConnection::connect_with(&options).await.unwrap();
            sqlx::raw_sql("begin; set local deadlock_timeout = '1h'").execute(&mut connection).await.unwrap();
            sqlx::raw_sql(lock).execute(&mut connection).await.unwrap();
            connection
        })
    }

    /// Runs a transaction's last statement, and commits the transaction.
    pub(crate) fn commit(&self, transaction: &mut PgConnection, last: &'static str) {
        self.threads.block_on(async {
            sqlx::raw_sql(last).execute(&mut *transaction).await.unwrap();
            sqlx::raw_sql("commit").execute(transaction).await.unwrap();
        });
    }

    /// Waits until `count` statements wait for the lock.
    pub(crate) fn wait_for_blocked_statements(&self, count: i64) {
        wait_until("all statements wait for the lock", || self.blocked_statements() == count);
    }

    /// Returns the number of statements that wait for the lock.
    pub(crate) fn blocked_statements(&self) -> i64 {
        self.number("select count(*) from pg_locks where not granted and relation = 'affiliates'::regclass")
    }

    /// Returns the PIDs of the server processes that wait for the lock.
    fn blocked_backends(&self) -> Vec<i32> {
        self.threads.block_on(async {
            let mut connection = self.connect().await;
            let backends = "select pid from pg_locks where not granted and relation = 'affiliates'::regclass";
            sqlx::query_scalar(backends).fetch_all(&mut connection).await.unwrap()
        })
    }

    /// Returns the PIDs of the server processes for the service's connections.
    pub(crate) fn backends(&self) -> Vec<i32> {
        self.threads.block_on(async {
            let backends = "select pid from pg_stat_activity where application_name = 'affiliate-compliance'";
            sqlx::query_scalar(backends).fetch_all(&mut self.connect().await).await.unwrap()
        })
    }

    /// Returns the PID of the database server, if it is running.
    pub(crate) fn server_pid(&self) -> Option<i32> {
        self.cluster.as_ref().and_then(Cluster::server_pid)
    }

    /// Runs statements as the owner.
    pub(crate) fn run(&self, statements: &'static str) {
        self.threads.block_on(async {
            sqlx::raw_sql(statements).execute(&mut self.connect().await).await.unwrap();
        });
    }

    /// Returns the number that a statement selects.
    pub(crate) fn number(&self, statement: impl SqlSafeStr) -> i64 {
        self.threads.block_on(async {
            let mut connection = self.connect().await;
            sqlx::query_scalar(statement).fetch_one(&mut connection).await.unwrap()
        })
    }

    /// Returns the text that a statement selects.
    pub(crate) fn text(&self, statement: impl SqlSafeStr) -> String {
        self.threads.block_on(async {
            let mut connection = self.connect().await;
            sqlx::query_scalar(statement).fetch_one(&mut connection).await.unwrap()
        })
    }

    /// Returns a `migrate` command for the database.
    pub(crate) fn migrate(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&["migrate"]);
        command.args(arguments).env("DATABASE_URL", self.database());
        command
    }

    async fn connect(&self) -> PgConnection {
        let options: PgConnectOptions = self.database().parse().unwrap();
        PgConnection::connect_with(&options).await.unwrap()
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        if let Some(cluster) = self.cluster.take() {
            let _ = self.threads.block_on(cluster.stop());
        }
    }
}

/// Returns a token for company 7.
pub(crate) fn token() -> String {
    token_of(7)
}

/// Returns a token for a company.
pub(crate) fn token_of(company: i64) -> String {
    issue(&Secret::new(SECRET).unwrap(), &Claims::new(company, test_support::now(), 3600)).unwrap()
}

/// Returns a company's token with the `monitor` scope.
pub(crate) fn monitoring_token_of(company: i64) -> String {
    token_with(company, SCOPE_MONITOR)
}

/// Returns a company's token with a scope.
pub(crate) fn token_with(company: i64, scope: &str) -> String {
    let claims = Claims::new(company, test_support::now(), 3600);
    issue(&Secret::new(SECRET).unwrap(), &Claims { scope: Some(scope.to_owned()), ..claims }).unwrap()
}

#[test]
fn empty_variables_count_as_unset() {
    const VARIABLES: [&str; 9] = [
        "COMPLIANCE_JWKS_URL",
        "COMPLIANCE_JWKS_FILE",
        "COMPLIANCE_JWT_ISSUER",
        "COMPLIANCE_LOG",
        "COMPLIANCE_MAX_IN_FLIGHT",
        "COMPLIANCE_CALL_TIMEOUT",
        "COMPLIANCE_BODY_LIMIT",
        "COMPLIANCE_REST_IDLE_TIMEOUT",
        "COMPLIANCE_DATABASE_CONNECTIONS",
    ];
    let programs = Programs::new();
    let start = |mut command: Command| Service::start_as(command.envs(VARIABLES.map(|name| (name, ""))));
    let serve = start(programs.serve(&[]));
    let core = start(programs.core(&[]));
    let gateway = start(programs.gateway(core.grpc));
    for service in [&serve, &gateway] {
        assert_eq!(service.get("/api/affiliates", &token())["data"], serde_json::json!([]));
    }
    // An empty required variable is missing, not invalid.
    for (command, variable, flag) in
        [("core", "DATABASE_URL", "--database-url"), ("gateway", "COMPLIANCE_CORE_URL", "--core-url")]
    {
        let (status, _, errors) = crate::common::output(programs.command(&[command]).env(variable, ""));
        assert_eq!(status.code(), Some(2), "{errors}");
        assert!(errors.contains("required") && errors.contains(flag), "{errors}");
    }
}

#[test]
fn second_signal_stops_program_immediately() {
    let programs = Programs::new();
    let token = token();
    let core = Service::start_as(&mut programs.core(&[]));
    let before_core = Service::start_as(&mut programs.gateway(core.grpc));
    let serve = Service::start_as(&mut programs.serve(&[]));
    let silent_core = TcpListener::bind("127.0.0.1:0").unwrap();
    let gateway = Service::start_as(&mut programs.gateway(silent_core.local_addr().unwrap()));

    // Each program has an in-flight request that never ends.
    let _lock = programs.lock_affiliates();
    let mut requests = Vec::new();
    for service in [&before_core, &serve, &gateway] {
        requests.push(service.send("GET", "/api/affiliates/1", &token, ""));
    }
    programs.wait_for_blocked_statements(2);
    let _accepted = silent_core.accept().unwrap();

    for service in [core, serve, gateway] {
        service.signal(Signal::SIGTERM);
        service.wait_for_log("a second signal stops the process immediately");
        service.signal(Signal::SIGINT);
        assert_eq!(service.end().code(), Some(1));
    }
}

/// The service cancels abandoned statements. The program exits even if a frozen server process makes the cancellation impossible.
#[test]
fn abandoned_statements_do_not_delay_exit() {
    let programs = Programs::new();
    let token = token();
    for stopped in [false, true] {
        let core = Service::start_as(&mut programs.core(&["--call-timeout", "2s"]));
        let gateway = Service::start_as(&mut programs.gateway(core.grpc));
        let serve = Service::start_as(&mut programs.serve(&["--call-timeout", "2"]));
        let lock = programs.lock_affiliates();
        let calls = [&gateway, &serve].map(|service| service.send("GET", "/api/affiliates/1", &token, ""));
        programs.wait_for_blocked_statements(2);
        let backends = if stopped { programs.blocked_backends() } else { Vec::new() };
        for backend in &backends {
            kill_process(*backend, Signal::SIGSTOP);
        }
        for mut call in calls {
            let mut answer = String::new();
            call.read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with("HTTP/1.0 50"), "{answer}");
        }
        for service in [&core, &serve] {
            service.signal(Signal::SIGTERM);
        }
        for service in [core, serve] {
            assert_eq!(service.end().code(), Some(0));
        }
        for backend in backends {
            kill_process(backend, Signal::SIGCONT);
        }
        drop(lock);
        programs.wait_for_blocked_statements(0);
    }
}
