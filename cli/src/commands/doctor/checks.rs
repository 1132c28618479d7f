//! What a service needs on this machine, each with a next step if it is not there.

use std::{
    net::SocketAddr,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use compliance_api::token::{KeySource, Secret, Verifier};
use core_server::database::{DatabaseError, check_migrated};
use embedded_postgres::{Installation, check_data_dir, has_cluster};
use runtime::{Descriptors, Port, describe};
use serde::Serialize;
use sqlx::{PgPool, postgres::PgConnectOptions};
use tokio::time::timeout;

/// How long the database may take to answer.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Descriptors that suffice for a few thousand connections.
const ENOUGH_DESCRIPTORS: u64 = 10_000;
/// How far two clocks may be apart, in seconds. Tokens are refused before and after their time.
const CLOCK_TOLERANCE: f64 = 5.0;
/// A token that ends sooner is mentioned, in seconds.
const SOON: i64 = 3600;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Ok,
    Warning,
    Problem,
}

/// What a check has found.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub(super) check: &'static str,
    pub(super) state: State,
    pub(super) found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_step: Option<&'static str>,
}

impl Finding {
    fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, state: State::Ok, found: found.into(), next_step: None }
    }

    fn warning(check: &'static str, found: impl Into<String>, next_step: &'static str) -> Self {
        Self { check, state: State::Warning, found: found.into(), next_step: Some(next_step) }
    }

    fn problem(check: &'static str, found: impl Into<String>, next_step: &'static str) -> Self {
        Self { check, state: State::Problem, found: found.into(), next_step: Some(next_step) }
    }
}

/// The limit of file descriptors.
pub(super) fn descriptors() -> Finding {
    let check = "file descriptors";
    match Descriptors::most() {
        Some(most) if most >= ENOUGH_DESCRIPTORS => Finding::ok(check, format!("the process may have {most}")),
        Some(most) => {
            let next_step = "raise the hard limit: LimitNOFILE in a unit of systemd, ulimit -Hn in a shell";
            Finding::warning(check, format!("the process may open {most}, and each connection needs one"), next_step)
        }
        None => Finding::warning(check, "the limit cannot be read", "see the limits of the system"),
    }
}

/// Whether a service could listen at an address.
pub(super) fn port(check: &'static str, address: SocketAddr, flag: &str, variable: &str) -> Finding {
    match Port::bind(address, false, flag, variable) {
        Ok(_) => Finding::ok(check, format!("{address} is free")),
        Err(error) => {
            let next_step =
                "see whether the service runs already (compliance health); otherwise choose another address";
            Finding::warning(check, describe(&error), next_step)
        }
    }
}

/// The database that was given: whether it answers, its version, its schema and its clock.
pub(super) async fn given_database(options: PgConnectOptions) -> Vec<Finding> {
    let check = "database";
    let asked = timeout(TIMEOUT, async {
        let pool = PgPool::connect_lazy_with(options);
        let before = SystemTime::now();
        let question = "select current_setting('server_version'), current_setting('server_version_num')::int, \
                        extract(epoch from clock_timestamp())::float8";
        let answer = sqlx::query_as::<_, (String, i32, f64)>(question).fetch_one(&pool).await?;
        let here = (before + before.elapsed().unwrap_or_default() / 2).duration_since(UNIX_EPOCH).unwrap_or_default();
        let schema = check_migrated(&pool).await;
        pool.close().await;
        Ok::<_, sqlx::Error>((answer, here.as_secs_f64(), schema))
    });
    let ((version, number, there), here, schema) = match asked.await {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => {
            let next_step =
                "check host, port, database, role and password of --database-url, and pg_hba.conf of the server";
            return vec![Finding::problem(check, format!("it cannot be reached: {error}"), next_step)];
        }
        Err(_) => {
            let next_step = "check that host and port of --database-url are reached from here: firewalls drop silently";
            return vec![Finding::problem(check, format!("no response within {TIMEOUT:?}"), next_step)];
        }
    };
    let version = if number >= 150_000 {
        Finding::ok(check, format!("PostgreSQL {version} responds"))
    } else {
        Finding::problem(check, format!("PostgreSQL {version} responds"), "upgrade to PostgreSQL 15 or newer")
    };
    vec![version, of_schema(schema), clock(there - here)]
}

fn of_schema(schema: Result<(), DatabaseError>) -> Finding {
    match schema {
        Ok(()) => Finding::ok("schema", "it is that of this version"),
        Err(error) => {
            let next_step = "run `compliance migrate` as the role that owns the tables";
            Finding::problem("schema", describe(&anyhow::Error::from(error)), next_step)
        }
    }
}

/// The clock of the database's machine, so many seconds ahead of this one.
fn clock(ahead: f64) -> Finding {
    let found = format!("that of the database differs by {:.1} s", ahead.abs());
    if ahead.abs() <= CLOCK_TOLERANCE {
        Finding::ok("clock", found)
    } else {
        let next_step = "synchronise both machines (NTP): tokens are rejected before and after their time";
        Finding::problem("clock", found, next_step)
    }
}

/// The programs and the folder of the service's own database.
pub(super) async fn own_database(data_dir: &Path) -> Vec<Finding> {
    let installation = match Installation::find(None).await {
        Ok(found) => Finding::ok("PostgreSQL", format!("{} in {}", found.version, found.bin_dir.display())),
        Err(error) => {
            let next_step = "install PostgreSQL, set COMPLIANCE_POSTGRES_BIN, or give a database with --database-url";
            Finding::problem("PostgreSQL", describe(&anyhow::Error::from(error)), next_step)
        }
    };
    let folder = data_dir.display();
    let data = match check_data_dir(data_dir) {
        Ok(()) if has_cluster(data_dir) => Finding::ok("data folder", format!("{folder} holds a database")),
        Ok(()) => Finding::ok("data folder", format!("{folder} is empty: `compliance serve` creates a database in it")),
        Err(error) => {
            let next_step = "choose another folder with --data-dir, or correct its owner and permissions";
            Finding::problem("data folder", describe(&anyhow::Error::from(error)), next_step)
        }
    };
    vec![installation, data]
}

/// The keys that tokens are verified with: those that were given, or the secret of the data folder.
pub(super) async fn keys(
    given: anyhow::Result<Option<Arc<Verifier>>>,
    stored: anyhow::Result<Option<Secret>>,
) -> (Finding, Option<Arc<Verifier>>) {
    let check = "keys";
    let next_step = "give a secret of at least 32 bytes (--jwt-secret-file) or a key set (--jwks-url)";
    match (given, stored) {
        (Err(error), _) | (Ok(None), Err(error)) => (Finding::problem(check, describe(&error), next_step), None),
        (Ok(Some(verifier)), _) => (Finding::ok(check, "those that were given can be used"), Some(verifier)),
        (Ok(None), Ok(Some(secret))) => {
            let keys = KeySource { secret: Some(secret), ..KeySource::default() };
            let verifier = Verifier::new(keys, None).await.ok().map(Arc::new);
            (Finding::ok(check, "the data folder holds a secret"), verifier)
        }
        (Ok(None), Ok(None)) => {
            let found = "none are given, and the data folder holds none: `compliance serve` creates a secret in it";
            (Finding::warning(check, found, next_step), None)
        }
    }
}

/// A token, as the service would see it.
pub(super) fn token(token: &str, verifier: Option<&Verifier>, now: i64) -> Finding {
    let check = "token";
    let Some(verifier) = verifier else {
        return Finding::warning(check, "there are no keys to verify it with", "give the keys of the service");
    };
    match verifier.verify(token, now) {
        Ok(claims) => {
            let (company, left) = (claims.company_id, claims.exp - now);
            let found = format!("it is of company {company}, and is valid for {left} s");
            let next_step = "get a new one in time: compliance token --company N";
            if left < SOON { Finding::warning(check, found, next_step) } else { Finding::ok(check, found) }
        }
        Err(error) => {
            let next_step = "get a new one (compliance token --company N), signed with a key of the service";
            Finding::problem(check, describe(&error.into()), next_step)
        }
    }
}
