//! What a service needs on this machine: ports, certificates, a database of its own, keys, a token.

use std::{
    net::SocketAddr,
    path::Path,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::anyhow;
use compliance_api::token::{ClaimRules, KeyError, KeySource, Secret, Verifier};
use core_server::{
    database::{DatabaseError, Target, check_migrated, open},
    doctor::check_schema,
};
use embedded_postgres::{Cluster, ClusterOptions, Installation, OWNER_ROLE, check_data_dir, has_cluster};
use nix::sys::statvfs::statvfs;
use tls::Inspected;
use tokio::time::timeout;

use super::{
    database::{self, TIMEOUT, clock},
    finding::{Finding, State, finding, of_result, ok, problem, warning},
};
use crate::{
    database::NAME,
    program::{Descriptors, InvalidSetting, KeyArgs, Port, describe},
};

/// The database cannot run with less free space, in bytes: four files of its write-ahead log.
const LEAST_SPACE: u64 = 64 << 20;
/// Less free space is a warning, in bytes.
const ENOUGH_SPACE: u64 = 1 << 30;
/// Enough for each port's default limit of connections. With less, a start warns too.
const ENOUGH_DESCRIPTORS: u64 = 10_250;
/// A token that expires earlier is a warning, in seconds.
const TOKEN_EXPIRES_SOON: i64 = 3600;
/// A certificate that expires earlier is a warning, in days.
const CERTIFICATE_EXPIRES_SOON: i64 = 14;

pub(super) fn descriptors(ports: u64) -> Finding {
    let (check, next_step) =
        ("file descriptors", "raise the hard limit: LimitNOFILE in a systemd unit, ulimit -Hn in a shell");
    match Descriptors::most() {
        Some(most) if most >= ports * ENOUGH_DESCRIPTORS => {
            ok(check, format!("the process may open {most} files and connections"))
        }
        Some(most) => warning(check, format!("the process may open {most} files and connections together"), next_step),
        None => warning(check, "cannot read the limit", "check the system's limits"),
    }
}

/// Checks whether a service could listen at an address.
pub(super) fn port(check: &'static str, address: SocketAddr, setting: &str) -> Finding {
    match Port::bind(address, false, setting) {
        Ok(_) => ok(check, format!("{address} is free")),
        Err(error) => {
            let next_step = "check whether the service already runs (compliance health), or choose another address";
            warning(check, describe(&error), next_step)
        }
    }
}

/// Checks the key, the dates and the names of a loaded certificate; `None` if no path is given. Gateways connect to `hosts`.
pub(super) fn certificate<T>(
    check: &'static str,
    loaded: Result<Option<T>, InvalidSetting>,
    path: Option<&Path>,
    hosts: &[String],
    now: i64,
) -> Option<Finding> {
    let read = match (loaded, path) {
        (Err(error), _) => Err(error.into()),
        (Ok(_), path) => Inspected::read(path?).map_err(anyhow::Error::from),
    };
    Some(match read {
        Ok(certificate) => valid_certificate(check, &certificate, hosts, now),
        Err(error) => {
            let next_step = "give a PEM file with the certificate, its intermediate certificates and its key";
            problem(check, describe(&error), next_step)
        }
    })
}

fn valid_certificate(check: &'static str, certificate: &Inspected, hosts: &[String], now: i64) -> Finding {
    let (days, names) = ((certificate.not_after - now).div_euclid(86_400), certificate.names.join(", "));
    let replace = "replace it: programs read changed files without a restart";
    let other_host = hosts.iter().find(|host| !certificate.is_for(host));
    if now < certificate.not_before {
        problem(check, "it is not valid yet", "correct the clock of this machine, or replace the certificate")
    } else if certificate.not_after < now {
        problem(check, format!("it expired {} days ago", -days), replace)
    } else if let Some(host) = other_host {
        let found = format!("it is for {names}, and gateways connect to {host} (--core-url)");
        problem(check, found, "issue it for that host, or connect to one of its names")
    } else {
        let state = if days < CERTIFICATE_EXPIRES_SOON { State::Warning } else { State::Ok };
        finding(check, state, format!("it is valid for {days} days, for {names}"), replace)
    }
}

/// Checks the programs, the folder and the schema of the service's own database.
pub(super) async fn own_database(data_dir: &Path) -> Vec<Finding> {
    let found = Installation::find(None).await;
    let found = found.map(|found| format!("{} in {}", found.version, found.bin_dir.display()));
    let next_step = "install PostgreSQL, set COMPLIANCE_POSTGRES_BIN, or give a database with --database-url";
    let installation = of_result("PostgreSQL", found, next_step);
    let folder = data_dir.display();
    let found = check_data_dir(data_dir).map(|()| {
        if has_cluster(data_dir) {
            format!("{folder} has a database")
        } else {
            format!("{folder} is empty: `compliance serve` creates a database in it")
        }
    });
    let next_step = "choose another folder with --data-dir, or correct its owner and permissions";
    let mut findings = vec![installation, of_result("data folder", found, next_step)];
    findings.extend(disk(data_dir));
    if has_cluster(data_dir) && findings.iter().all(|finding| finding.state != State::Problem) {
        findings.push(own_schema(data_dir).await);
    }
    findings
}

/// Checks the schema of the service's own database. Starts its server if it does not run.
async fn own_schema(data_dir: &Path) -> Finding {
    let server = match Cluster::connect_or_start(ClusterOptions::new(data_dir)).await {
        Ok(server) => server,
        Err(error) => {
            let next_step = "read postgres.log in the data folder; `compliance serve` cannot start the database either";
            return problem("database", describe(&error.into()), next_step);
        }
    };
    let target = Target::from(server.endpoint().options(OWNER_ROLE, NAME));
    let checked = timeout(TIMEOUT, async {
        let pool = open(target, 1).await?.pool;
        let found = match check_migrated(&pool).await {
            Ok(()) => check_schema(&pool).await.map(|()| database::CURRENT)?,
            Err(DatabaseError::NotMigrated { .. }) => "`compliance serve` brings it up to date",
            Err(error) => return Err(error.into()),
        };
        pool.close().await;
        Ok(found)
    });
    let found = checked.await.unwrap_or_else(|_| Err(anyhow!("no response within {TIMEOUT:?}")));
    match server.release().await {
        Ok(()) => database::schema(found),
        Err(error) => problem("database", describe(&error.into()), "end its processes"),
    }
}

/// Checks the free space of the data folder.
fn disk(data_dir: &Path) -> Option<Finding> {
    let existing = data_dir.ancestors().find(|folder| folder.is_dir())?;
    let found = statvfs(existing).ok()?;
    let free = found.blocks_available() * found.fragment_size();
    let state = match free {
        ..LEAST_SPACE => State::Problem,
        LEAST_SPACE..ENOUGH_SPACE => State::Warning,
        _ => State::Ok,
    };
    let found = format!("{} MiB are free for {}", free >> 20, data_dir.display());
    Some(finding("disk", state, found, "free space on its file system, or move the data folder to a larger one"))
}

/// Checks the keys that verify tokens: the given ones, or the secret in the data folder if the command has one.
pub(super) async fn keys(
    given: anyhow::Result<Option<Arc<Verifier>>>,
    stored: Option<anyhow::Result<Option<Secret>>>,
    rules: ClaimRules,
) -> (Finding, Option<Arc<Verifier>>) {
    let check = "keys";
    let next_step = "give a secret of at least 32 bytes (--jwt-secret-file) or a key set (--jwks-url)";
    let is_fetch =
        |error: &anyhow::Error| error.chain().any(|cause| matches!(cause.downcast_ref(), Some(KeyError::Fetch { .. })));
    let found = match (given, stored) {
        (Ok(Some(verifier)), _) => return (ok(check, "the given keys can be used"), Some(verifier)),
        (Ok(None), Some(Ok(Some(secret)))) => {
            let keys = KeySource { secret: Some(secret), ..KeySource::default() };
            let verifier = Verifier::with_rules(keys, rules).await.ok().map(Arc::new);
            return (ok(check, "the data folder has a secret"), verifier);
        }
        (Err(error), _) if is_fetch(&error) => {
            let next_step = "check that this machine can reach the server of --jwks-url: its name, firewalls and certificate (--jwks-ca)";
            problem(check, describe(&error), next_step)
        }
        (Err(error), _) | (Ok(None), Some(Err(error))) => problem(check, describe(&error), next_step),
        (Ok(None), None) => problem(check, "no keys are given", next_step),
        (Ok(None), Some(Ok(None))) => {
            let found = "no keys are given, and the data folder has no secret: `compliance serve` creates one";
            warning(check, found, next_step)
        }
    };
    (found, None)
}

/// Checks the clock of the server of the key set, which is often the issuer's.
pub(super) async fn issuer_clock(keys: &KeyArgs) -> Option<Finding> {
    let (there, took) = match keys.issuer_time().await? {
        Ok(found) => found,
        Err(reason) => {
            let found = format!("cannot read the clock of --jwks-url: {reason}");
            return Some(warning("clock", found, "compare the clocks of both machines"));
        }
    };
    let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let here = seconds(SystemTime::now().checked_sub(took / 2).unwrap_or(UNIX_EPOCH));
    Some(clock("the clock of --jwks-url", seconds(there).as_secs_f64(), here, took))
}

/// Checks a token as the service would.
pub(super) fn token(token: &str, verifier: Option<&Verifier>, now: i64) -> Finding {
    let check = "token";
    let Some(verifier) = verifier else {
        return warning(check, "it cannot be verified without keys", "give the keys of the service");
    };
    match verifier.verify(token, now) {
        Ok(claims) => {
            let (company, left) = (claims.company_id, claims.exp - now);
            let state = if left < TOKEN_EXPIRES_SOON { State::Warning } else { State::Ok };
            let found = format!("it is for company {company}, and is valid for {left} s");
            finding(check, state, found, "get a new one before it expires: compliance token --company N")
        }
        Err(error) => {
            let found = verifier.explain(token, now).unwrap_or_else(|| describe(&error.into()));
            problem(check, found, "get a new one (compliance token --company N), signed with a key of the service")
        }
    }
}
