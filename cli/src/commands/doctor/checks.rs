//! What a service needs on this machine, each with a next step if it is not there.

use std::{
    net::SocketAddr,
    path::Path,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use crate::program::{Descriptors, KeyArgs, Port, describe};
use compliance_api::token::{ClaimRules, KeyError, KeySource, Secret, Verifier};
use embedded_postgres::{Installation, check_data_dir, has_cluster};
use nix::sys::statvfs::statvfs;

use super::{
    database::{self, clock},
    finding::{Finding, State},
};

/// The database cannot go on with less space, in bytes: four files of its write-ahead log.
const LEAST_SPACE: u64 = 64 << 20;
/// Less space is mentioned, in bytes.
const ENOUGH_SPACE: u64 = 1 << 30;
/// Enough for a few thousand connections.
const ENOUGH_DESCRIPTORS: u64 = 10_000;
/// A token that ends sooner is mentioned, in seconds.
const SOON: i64 = 3600;

pub(super) fn descriptors() -> Finding {
    let check = "file descriptors";
    let next_step = "raise the hard limit: LimitNOFILE in a unit of systemd, ulimit -Hn in a shell";
    match Descriptors::most() {
        Some(most) if most >= ENOUGH_DESCRIPTORS => {
            Finding::new(check, State::Ok, format!("the process may have {most}"), next_step)
        }
        Some(most) => {
            let found = format!("the process may open {most}, and each connection needs one");
            Finding::new(check, State::Warning, found, next_step)
        }
        None => Finding::new(check, State::Warning, "the limit cannot be read", "see the limits of the system"),
    }
}

/// Whether a service could listen at an address.
pub(super) fn port(check: &'static str, address: SocketAddr, setting: &str) -> Finding {
    let found = Port::bind(address, false, setting).map(|_| format!("{address} is free"));
    let next_step = "see whether the service runs already (compliance health); otherwise choose another address";
    Finding::of(check, found, State::Warning, next_step)
}

/// The programs and the folder of the service's own database, and that database if there is one.
pub(super) async fn own_database(data_dir: &Path) -> Vec<Finding> {
    let found = Installation::find(None).await;
    let found = found.map(|found| format!("{} in {}", found.version, found.bin_dir.display()));
    let next_step = "install PostgreSQL, set COMPLIANCE_POSTGRES_BIN, or give a database with --database-url";
    let installation = Finding::of("PostgreSQL", found, State::Problem, next_step);
    let folder = data_dir.display();
    let found = check_data_dir(data_dir).map(|()| {
        if has_cluster(data_dir) {
            format!("{folder} holds a database")
        } else {
            format!("{folder} is empty: `compliance serve` creates a database in it")
        }
    });
    let next_step = "choose another folder with --data-dir, or correct its owner and permissions";
    let mut findings = vec![installation, Finding::of("data folder", found, State::Problem, next_step)];
    findings.extend(disk(data_dir));
    if has_cluster(data_dir) && findings.iter().all(|finding| finding.state != State::Problem) {
        findings.push(database::own(data_dir).await);
    }
    findings
}

/// The free space of the data folder.
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
    Some(Finding::new("disk", state, found, "free space on its file system, or move the data folder to a larger one"))
}

/// The keys that tokens are verified with: those that were given, or the secret of the data folder, if the command has one.
pub(super) async fn keys(
    given: anyhow::Result<Option<Arc<Verifier>>>,
    stored: Option<anyhow::Result<Option<Secret>>>,
    rules: ClaimRules,
) -> (Finding, Option<Arc<Verifier>>) {
    let check = "keys";
    let next_step = "give a secret of at least 32 bytes (--jwt-secret-file) or a key set (--jwks-url)";
    match (given, stored) {
        (Err(error), _) if error.chain().any(|cause| matches!(cause.downcast_ref(), Some(KeyError::Fetch { .. }))) => {
            let next_step = "see whether the server of --jwks-url is reached from here: its name, firewalls, its certificate (--jwks-ca)";
            (Finding::new(check, State::Problem, describe(&error), next_step), None)
        }
        (Err(error), _) | (Ok(None), Some(Err(error))) => {
            (Finding::new(check, State::Problem, describe(&error), next_step), None)
        }
        (Ok(Some(verifier)), _) => {
            (Finding::new(check, State::Ok, "those that were given can be used", next_step), Some(verifier))
        }
        (Ok(None), Some(Ok(Some(secret)))) => {
            let keys = KeySource { secret: Some(secret), ..KeySource::default() };
            let verifier = Verifier::with_rules(keys, rules).await.ok().map(Arc::new);
            (Finding::new(check, State::Ok, "the data folder holds a secret", next_step), verifier)
        }
        (Ok(None), None) => (Finding::new(check, State::Problem, "none are given", next_step), None),
        (Ok(None), Some(Ok(None))) => {
            let found = "none are given, and the data folder holds none: `compliance serve` creates a secret in it";
            (Finding::new(check, State::Warning, found, next_step), None)
        }
    }
}

/// The clock of the server that the key set comes from, which is often the issuer's.
pub(super) async fn issuer_clock(keys: &KeyArgs) -> Option<Finding> {
    let (there, took) = match keys.issuer_time().await? {
        Ok(found) => found,
        Err(reason) => {
            let found = format!("that of --jwks-url is unknown: {reason}");
            return Some(Finding::new("clock", State::Warning, found, "compare the clocks of both machines"));
        }
    };
    let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let here = seconds(SystemTime::now().checked_sub(took / 2).unwrap_or(UNIX_EPOCH));
    Some(clock("that of --jwks-url", seconds(there).as_secs_f64(), here, took))
}

/// A token, as the service would see it.
pub(super) fn token(token: &str, verifier: Option<&Verifier>, now: i64) -> Finding {
    let check = "token";
    let Some(verifier) = verifier else {
        let found = "there are no keys to verify it with";
        return Finding::new(check, State::Warning, found, "give the keys of the service");
    };
    match verifier.verify(token, now) {
        Ok(claims) => {
            let (company, left) = (claims.company_id, claims.exp - now);
            let found = format!("it is of company {company}, and is valid for {left} s");
            let state = if left < SOON { State::Warning } else { State::Ok };
            Finding::new(check, state, found, "get a new one in time: compliance token --company N")
        }
        Err(error) => {
            let next_step = "get a new one (compliance token --company N), signed with a key of the service";
            let found = verifier.explain(token, now).unwrap_or_else(|| describe(&error.into()));
            Finding::new(check, State::Problem, found, next_step)
        }
    }
}
