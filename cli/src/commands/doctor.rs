//! `compliance doctor` checks this machine's setup, or the stored data.
//!
//! Each check runs the same code as startup, so it reports the same message.

mod counts;

use std::{
    io::{Write as _, stdout},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, anyhow, bail, ensure};
use clap::Args;
use compliance_api::{
    PrivateUrl,
    token::{Claims, KeySource, Verifier},
    v1::{CheckAccessRequest, access_service_client::AccessServiceClient},
};
use core_server::{
    database::{DatabaseError, check_complete, check_migrated, connection_limit, is_owner, missing_rights},
    doctor::{self, Months},
};
use embedded_postgres::{Installation, check_data_dir, has_cluster};
use flags::count;
use nix::sys::statvfs::statvfs;
use rest_gateway::Settings;
use serde::Serialize;
use sqlx::PgPool;
use tls::ClientTls;
use tokio::time::timeout;
use tonic::{Request, metadata::MetadataValue};

use super::{
    core_tier::CoreArgs,
    health::{self, FailedConnection},
};
use crate::{
    data_dir::DataDirArgs,
    database::{DatabaseArgs, DatabaseServer, run_as_owner},
    output::counted,
    program::{
        CoreTlsArgs, Descriptors, Hidden, InvalidSetting, Port, RestTlsArgs, describe, from_value_or_file, unix_now,
        without_scheme,
    },
    secret,
};

/// Exit status if a problem remains.
const WRONG: u8 = 3;
/// Maximum wait for a response from the database or a core.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Minimum free space for the database, in bytes: four write-ahead log files.
const LEAST_SPACE: u64 = 64 << 20;
/// Free space below which the check warns, in bytes.
const ENOUGH_SPACE: u64 = 1 << 30;
/// Descriptors that a port's default connection limit requires. With fewer descriptors, startup also warns.
const ENOUGH_DESCRIPTORS: u64 = 10_250;
/// Remaining token lifetime below which the check warns, in seconds.
const TOKEN_EXPIRES_SOON: i64 = 3600;
/// Remaining certificate lifetime below which the check warns, in days.
const CERTIFICATE_EXPIRES_SOON: i64 = 14;
/// Maximum number of missing privileges named in a finding.
const NAMED_RIGHTS: usize = 5;

/// Reads the version, whether the server accepts writes, and the number of free connections.
const SERVER: &str = "
    select current_setting('server_version'), current_setting('server_version_num')::int,
        not pg_is_in_recovery() and not current_setting('transaction_read_only')::boolean,
        current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint
            - coalesce(current_setting('reserved_connections', true)::bigint, 0)
            - greatest(0, (select sum(numbackends)::bigint from pg_stat_database)
                - (select count(*) from pg_stat_activity
                   where usename = current_user and application_name = current_setting('application_name'))),
        case when (select ssl from pg_stat_ssl where pid = pg_backend_pid()) then ', over TLS'
             when inet_server_addr() is null then '' else ', without encryption' end";

/// Check whether this machine has what a service needs: ports, certificates, the database and its connections, permissions, keys, a token,
/// file descriptors, and the cores behind a gateway. With --counts, check the stored data instead.
///
/// Specify the same flags and variables as for `serve`, `core` or `gateway`. With --core-url and without a database, the command checks what
/// a gateway needs.
///
/// Works with and without a running service, and changes no records unless you specify --repair. If the service's own database is not running, the
/// command starts it for the check. The exit status is 3 if a problem remains.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  compliance doctor
  compliance doctor --database-url postgres://compliance@db/compliance --jwks-url https://issuer/keys --json
  compliance doctor --counts --repair")]
pub(crate) struct DoctorArgs {
    /// Compare each company's list counts with its records, and the ID sequences with the tables. List rows that contain out-of-range values.
    #[arg(long)]
    counts: bool,
    /// Repair wrong counts and lagging sequences.
    #[arg(long, requires = "counts")]
    repair: bool,
    /// Print findings as JSON, one object per line.
    #[arg(long)]
    json: bool,
    /// Number of cores that use the database [default: the number of --core-url addresses, or one].
    #[arg(long, value_name = "N", value_parser = count(1..=1000_u32))]
    cores: Option<u32>,
    /// Token to verify.
    #[arg(long, env = "COMPLIANCE_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    token: Option<Hidden>,
    /// File with a token to verify, instead of --token.
    #[arg(long, env = "COMPLIANCE_TOKEN_FILE", value_name = "FILE", conflicts_with = "token")]
    token_file: Option<PathBuf>,
    /// Address of a core that a gateway calls: `http://host:port` or `https://host:port`. Separate multiple addresses with
    /// commas, or repeat the flag.
    #[arg(long, env = "COMPLIANCE_CORE_URL", hide_env_values = true, value_name = "URL", value_delimiter = ',')]
    core_url: Vec<PrivateUrl>,
    #[command(flatten)]
    core_tls: CoreTlsArgs,
    #[command(flatten)]
    data_dir: DataDirArgs,
    #[command(flatten)]
    core: CoreArgs,
    #[command(flatten, next_help_heading = "REST")]
    gateway: Settings,
    #[command(flatten)]
    rest_tls: RestTlsArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Warning,
    Problem,
}

/// A check with its result, and the next step unless the state is `ok`.
#[derive(Debug, Serialize)]
struct Finding {
    check: &'static str,
    state: State,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_step: Option<&'static str>,
}

/// Result of a check. Errors are problems.
type Found = anyhow::Result<(State, String)>;

#[expect(clippy::unnecessary_wraps, reason = "checks return this value")]
fn ok(found: impl Into<String>) -> Found {
    Ok((State::Ok, found.into()))
}

/// Returns a warning if the condition is true, otherwise `ok`.
#[expect(clippy::unnecessary_wraps, reason = "checks return this value")]
fn warn_if(is_warning: bool, found: impl Into<String>) -> Found {
    Ok((if is_warning { State::Warning } else { State::Ok }, found.into()))
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, check: &'static str, found: Found, next_step: &'static str) {
        let (state, found) = found.unwrap_or_else(|error| (State::Problem, describe(&error)));
        let next_step = (state != State::Ok).then_some(next_step);
        self.0.push(Finding { check, state, found, next_step });
    }

    /// Adds a finding for a certificate, if one is set. `loaded` contains its expiry.
    fn add_certificate(&mut self, check: &'static str, loaded: Result<Option<i64>, InvalidSetting>, now: i64) {
        let found = match loaded {
            Ok(None) => return,
            Ok(Some(expires)) => match (expires - now).div_euclid(86_400) {
                days if days < 0 => Err(anyhow!("expired {} days ago", -days)),
                days => warn_if(days < CERTIFICATE_EXPIRES_SOON, format!("valid for {days} days")),
            },
            Err(error) => Err(error.into()),
        };
        let next_step = "provide a PEM file with the certificate, its intermediate certificates and its key; processes reload changed files without a restart";
        self.add(check, found, next_step);
    }
}

pub(super) fn run(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let is_right = if args.counts {
        run_as_owner(&args.database(), args.repair, async |connection| {
            counts::check(connection, args.repair, args.json).await
        })?
    } else {
        crate::program::block_on(check_machine(args))?
    };
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::from(WRONG) })
}

impl DoctorArgs {
    fn database(&self) -> DatabaseArgs {
        DatabaseArgs { url: self.core.database.clone(), data_dir: self.data_dir.clone() }
    }
}

/// Prints all findings. Returns false if any finding is a problem.
async fn check_machine(args: &DoctorArgs) -> anyhow::Result<bool> {
    let now = unix_now()?;
    let is_gateway = !args.core_url.is_empty() && !args.core.database.is_given() && !args.data_dir.is_given();
    let mut findings = Findings::default();
    let next_step = "raise the hard limit: LimitNOFILE in a systemd unit, ulimit -Hn in a shell";
    findings.add("file descriptors", descriptors(if is_gateway { 1 } else { 2 }), next_step);
    let next_step = "check whether the service is already running (compliance health), or choose another address";
    findings.add("REST", port(args.gateway.address, "rest-addr"), next_step);
    if !is_gateway {
        findings.add("gRPC", port(args.core.core.address, "grpc-addr"), next_step);
        let settings = args.core.check().map_err(Into::into);
        let settings = settings.and_then(|()| ok("company limits and webhook settings are valid"));
        findings.add("settings", settings, "correct the setting");
        let loaded = args.core.grpc_tls.load().map(|tls| tls.and_then(|tls| tls.expires()));
        findings.add_certificate("gRPC certificate", loaded, now);
    }
    let loaded = args.rest_tls.load().map(|tls| tls.and_then(|tls| tls.expires()));
    findings.add_certificate("REST certificate", loaded, now);
    let core_tls = args.core_tls.load_for(&args.core_url).unwrap_or_else(|error| {
        findings.add("client certificate", Err(error.into()), "correct the certificate files");
        None
    });
    findings.add_certificate("client certificate", Ok(core_tls.as_ref().and_then(ClientTls::expires)), now);
    if !is_gateway {
        check_database(args, &mut findings).await;
    }
    let (keys, verifier) = keys(args, !is_gateway).await;
    let next_step =
        "set a secret of at least 32 bytes (--jwt-secret-file), or a key set that this machine can reach (--jwks-url)";
    findings.add("keys", keys, next_step);
    let (token, file) = (args.token.as_ref(), args.token_file.as_ref());
    let token: Option<String> =
        from_value_or_file(token, file, "token", |token| Ok::<_, String>(without_scheme(&token).to_owned()))?;
    if let Some(token) = &token {
        let next_step =
            "get a new token (compliance token --company N), or correct the keys, --jwt-issuer or --jwt-audience";
        findings.add("token", check_token(token, verifier.as_deref(), now), next_step);
    }
    // Without a given token, the cores check a token with this machine's secret.
    let secret = args.core.keys.signing.secret().ok().flatten();
    let claims = Claims::new(1, now, TOKEN_EXPIRES_SOON);
    let token = token.or_else(|| args.core.keys.signing.issue(&secret?, claims).ok());
    for url in &args.core_url {
        let found = timeout(TIMEOUT, check_core(url, core_tls.clone(), token.as_deref())).await;
        let found = found.unwrap_or_else(|_| Err(anyhow!("{url}: no response within {TIMEOUT:?}")));
        let known = found.as_ref().err().and_then(|error| error.downcast_ref::<FailedConnection>());
        let next_step =
            known.map_or("compare the keys on both sides, and check the core's log", |known| known.next_step);
        findings.add("core", found, next_step);
    }
    findings.0.iter().try_for_each(|finding| print(finding, args.json))?;
    Ok(findings.0.iter().all(|finding| finding.state != State::Problem))
}

fn descriptors(ports: u64) -> Found {
    let most = Descriptors::most().context("cannot read the file descriptor limit")?;
    warn_if(most < ports * ENOUGH_DESCRIPTORS, format!("the process can open {most} files and connections in total"))
}

/// Checks whether a service could listen on an address. Warns if the service is already running.
fn port(address: std::net::SocketAddr, setting: &str) -> Found {
    match Port::bind(address, false, setting) {
        Ok(_) => ok(format!("{address} is free")),
        Err(error) => warn_if(true, describe(&error)),
    }
}

/// Checks the configured database, or the service's own database.
async fn check_database(args: &DoctorArgs, findings: &mut Findings) {
    let database = args.database();
    let next_step = "fix this problem: the service is not ready until then";
    if !database.url.is_given() {
        let folder = match database.data_dir.choose() {
            Ok(folder) => folder,
            Err(error) => return findings.add("data folder", Err(error), "choose another folder with --data-dir"),
        };
        let free = "free space on its file system, or move the data folder to a larger one";
        findings.add("disk", disk(&folder), free);
        let found = check_data_dir(&folder).map_err(Into::into);
        let found = found.and_then(|()| ok(format!("{} is usable", folder.display())));
        findings.add(
            "data folder",
            found,
            "choose another folder with --data-dir, or correct its owner and permissions",
        );
        if !has_cluster(&folder) {
            let found = Installation::find(None).await.map_err(Into::into);
            let found = found.and_then(|found| ok(format!("{} in {}", found.version, found.bin_dir.display())));
            let install = "install PostgreSQL, set COMPLIANCE_POSTGRES_BIN, or specify a database with --database-url";
            return findings.add("PostgreSQL", found, install);
        }
    }
    let server = match DatabaseServer::find(&database, false).await {
        Ok(server) => server,
        Err(error) => return findings.add("database", Err(error), next_step),
    };
    let checked = timeout(TIMEOUT, ask(args, &server, findings)).await;
    let checked = checked.unwrap_or_else(|_| Err(anyhow!("the database did not respond within {TIMEOUT:?}")));
    if let Err(error) = checked.and(server.stop().await) {
        findings.add("database", Err(error), next_step);
    }
}

/// Checks a reachable database.
async fn ask(args: &DoctorArgs, server: &DatabaseServer, findings: &mut Findings) -> anyhow::Result<()> {
    let pool = server.open().await?.pool;
    let (version, number, takes_writes, free, encryption): (String, i32, bool, i64, String) =
        sqlx::query_as(SERVER).fetch_one(&pool).await?;
    ensure!(
        takes_writes,
        "the database does not accept writes: it is a standby, or `default_transaction_read_only` is on for the role or database"
    );
    let found = if number < 150_000 {
        Err(anyhow!("PostgreSQL {version} is older than 15"))
    } else {
        ok(format!("PostgreSQL {version} responds{encryption}: {}", server.description))
    };
    findings.add("database", found, "upgrade to PostgreSQL 15 or newer");
    let schema = schema(&pool).await;
    let is_outdated = |error: &anyhow::Error| matches!(error.downcast_ref(), Some(DatabaseError::NotMigrated { .. }));
    let is_current = schema.is_ok();
    let schema = match schema {
        Err(error) if server.is_own() && is_outdated(&error) => ok("out of date; `compliance serve` will migrate it"),
        schema => schema,
    };
    findings.add("schema", schema, "see docs/operations/upgrade.md; only migrations may change the schema");
    if is_current {
        let is_owner = is_owner(&pool).await?;
        let next_step = if is_owner {
            "use the URL of the service role; `compliance migrate --service-role ROLE` grants that role its rights"
        } else {
            "run `compliance migrate --service-role ROLE` as the role that owns the tables"
        };
        findings.add("rights", rights(&missing_rights(&pool).await?, is_owner), next_step);
        let found = retention(&doctor::months(&mut *pool.acquire().await?).await?, args.core.core.change_retention);
        let next_step = "run `compliance migrate --change-retention DAYS` as the owner; check that a core is running, and check its log for the task `retention`";
        findings.add("retention", found, next_step);
    }
    let cores = args.cores.unwrap_or(args.core_url.len().max(1) as u32);
    let of_core = args.core.core.database_connections;
    let (found, next_step) = match connection_limit(&pool).await?.map(|(owner, limit)| (owner, i64::from(limit))) {
        Some((owner, limit)) if limit < free => {
            (connections(of_core, cores, limit, &owner), "raise this limit, or lower --database-connections")
        }
        _ => {
            (connections(of_core, cores, free, "the server"), "raise max_connections, or lower --database-connections")
        }
    };
    findings.add("connections", found, next_step);
    pool.close().await;
    Ok(())
}

async fn schema(pool: &PgPool) -> Found {
    check_migrated(pool).await?;
    check_complete(pool).await?;
    doctor::check_schema(pool).await?;
    ok("the schema is up to date")
}

fn rights(missing: &[String], is_owner: bool) -> Found {
    let named = missing.iter().take(NAMED_RIGHTS).map(String::as_str).collect::<Vec<_>>().join(", ");
    ensure!(missing.is_empty(), "the role lacks required privileges ({}): {named}", missing.len());
    let found = if is_owner {
        "the role owns the tables, so the service could change the record of changes"
    } else {
        "the role has all rights that the service needs"
    };
    warn_if(is_owner, found)
}

/// Checks whether changes are kept long enough, and whether months are created and dropped on time.
fn retention(Months { days, missing, overdue }: &Months, expected: Option<i32>) -> Found {
    let kept = format!("the database keeps changes for {days} days");
    if let Some(expected) = expected.filter(|expected| expected > days) {
        bail!("{kept}; cores that require {expected} days do not start");
    }
    ensure!(missing.is_empty(), "{kept}; missing months: {}", missing.join(", "));
    ensure!(overdue.is_empty(), "{kept}; overdue months: {}", overdue.join(", "));
    ok(kept)
}

/// Checks whether there are enough connections for all cores, plus one more core during a rolling restart. `owner` has `free` connections left.
fn connections(of_core: u32, cores: u32, free: i64, owner: &str) -> Found {
    let left = free - i64::from(of_core) * i64::from(cores);
    let cores = counted(cores, "core", "cores");
    let found = format!(
        "{cores} × {of_core} connections, and a rolling restart needs another {of_core}; {owner} has {free} left"
    );
    ensure!(left >= 0, found);
    warn_if(left < i64::from(of_core), found)
}

/// Checks the free space of the data folder.
fn disk(data_dir: &Path) -> Found {
    let existing =
        data_dir.ancestors().find(|folder| folder.is_dir()).context("the data folder has no parent folder")?;
    let found = statvfs(existing)?;
    let free = found.blocks_available() * found.fragment_size();
    let found = format!("{} MiB are free for {}", free >> 20, data_dir.display());
    ensure!(free >= LEAST_SPACE, found);
    warn_if(free < ENOUGH_SPACE, found)
}

/// Checks the keys that verify tokens: the given keys, or the secret in the data folder if `may_have_folder` is set.
async fn keys(args: &DoctorArgs, may_have_folder: bool) -> (Found, Option<Arc<Verifier>>) {
    let (keys, none) = (&args.core.keys, "no keys are set");
    match keys.given().await {
        Err(error) => return (Err(error), None),
        Ok(Some((_, verifier))) => return (ok("the keys are usable"), Some(verifier)),
        Ok(None) if !may_have_folder => return (Err(anyhow!(none)), None),
        Ok(None) => {}
    }
    match args.data_dir.choose().and_then(|folder| secret::stored(&folder)) {
        Err(error) => (Err(error), None),
        Ok(None) => {
            let text = format!("{none}, and the data folder contains no secret: `compliance serve` creates one");
            (warn_if(true, text), None)
        }
        Ok(secret) => {
            let verifier = Verifier::with_rules(KeySource { secret, ..KeySource::default() }, keys.rules()).await;
            (ok("the data folder contains a secret"), verifier.ok().map(Arc::new))
        }
    }
}

/// Verifies a token as the service does.
fn check_token(token: &str, verifier: Option<&Verifier>, now: i64) -> Found {
    let Some(verifier) = verifier else { return warn_if(true, "the token cannot be verified without keys") };
    let claims = verifier.verify(token, now);
    let claims =
        claims.map_err(|error| verifier.explain(token, now).map_or_else(|| error.into(), anyhow::Error::msg))?;
    let left = claims.exp - now;
    warn_if(left < TOKEN_EXPIRES_SOON, format!("issued for company {}, valid for {left} s", claims.company_id))
}

/// Checks a core through a gateway channel.
async fn check_core(url: &PrivateUrl, tls: Option<ClientTls>, token: Option<&str>) -> Found {
    let channel = health::check_core(url.reveal().trim(), tls).await?;
    let Some(token) = token else { return ok(format!("{url} is healthy")) };
    let mut request = Request::new(CheckAccessRequest {});
    request.metadata_mut().insert("authorization", MetadataValue::try_from(format!("Bearer {token}"))?);
    let checked = AccessServiceClient::new(channel).check_access(request).await;
    checked.map_err(|status| anyhow!("{url} does not accept the token: {}", status.message()))?;
    ok(format!("{url} is healthy and accepts the token"))
}

fn print(finding: &Finding, as_json: bool) -> anyhow::Result<()> {
    let mut out = stdout();
    if as_json {
        writeln!(out, "{}", serde_json::to_string(finding)?)?;
        return Ok(());
    }
    let Finding { check, state, found, next_step } = finding;
    let state = match state {
        State::Ok => "ok",
        State::Warning => "warning",
        State::Problem => "PROBLEM",
    };
    writeln!(out, "{state:<8} {check:<20} {found}")?;
    if let Some(next_step) = next_step {
        writeln!(out, "{:<8} {:<20} next: {next_step}", "", "")?;
    }
    Ok(())
}
