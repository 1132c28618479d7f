//! `compliance doctor`: checks what a service needs on this machine, or the stored data.

mod cores;
mod counts;
mod database;
mod finding;
mod machine;
mod needs;

use std::{io::Write as _, net::SocketAddr, path::PathBuf, process::ExitCode};

use clap::Args;
use compliance_api::PrivateUrl;
use flags::listen_address;

use self::finding::{Finding, State, problem};
pub(super) use self::needs::{DatabaseNeed, Needs};
use crate::{
    data_dir::DataDirArgs,
    database::{DatabaseArgs, run_as_owner},
    program::{CoreTlsArgs, Hidden, KeyArgs, ReplicaArgs, from_value_or_file, unix_now},
    secret,
};

/// The exit status if something is wrong and was not repaired.
const WRONG: u8 = 3;

/// Check what a service needs on this machine: ports, certificates, PostgreSQL and its connections, permissions, clocks, keys, a
/// token, file descriptors, cores that a gateway calls. With --counts, check the stored data instead.
///
/// Works with and without a running service, and changes nothing unless --repair is given. If the service's own database does not run,
/// the command starts it for the check. The exit status is 3 if something is wrong and was not repaired.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  compliance doctor
  compliance doctor --database-url postgres://compliance@db/compliance --jwks-url https://issuer/keys --json
  compliance doctor --counts --repair")]
pub(crate) struct DoctorArgs {
    /// Compare the counts of every company's lists with its records, and the ID sequences with the tables. List rows whose values are out
    /// of range.
    #[arg(long)]
    counts: bool,
    /// Repair counts that are wrong, and sequences that are behind.
    #[arg(long, requires = "counts")]
    repair: bool,
    /// Print findings as JSON, one object per line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    replicas: ReplicaArgs,
    /// Maximum number of connections of a core to the database.
    #[arg(long, env = "COMPLIANCE_DATABASE_CONNECTIONS", default_value_t = 16, value_name = "N",
          value_parser = clap::value_parser!(u32).range(2..=1000))]
    database_connections: u32,
    /// Number of cores that use the database [default: the number of --core-url addresses in the file, or one].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    cores: Option<u32>,
    /// Address of REST; port 0 chooses a free port.
    #[arg(long, env = "COMPLIANCE_REST_ADDR", default_value = "127.0.0.1:8080", value_name = "ADDR",
          value_parser = listen_address)]
    rest_addr: SocketAddr,
    /// Address of gRPC; port 0 chooses a free port.
    #[arg(long, env = "COMPLIANCE_GRPC_ADDR", default_value = "127.0.0.1:50051", value_name = "ADDR",
          value_parser = listen_address)]
    grpc_addr: SocketAddr,
    #[command(flatten)]
    keys: KeyArgs,
    /// Token to verify.
    #[arg(long, env = "COMPLIANCE_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    token: Option<Hidden>,
    /// File with a token to verify, instead of --token.
    #[arg(long, env = "COMPLIANCE_TOKEN_FILE", value_name = "FILE", conflicts_with = "token")]
    token_file: Option<PathBuf>,
    /// Address of a core that a gateway calls: `http://host:port` or `https://host:port`. Separate several by commas, or
    /// repeat the flag.
    #[arg(long, env = "COMPLIANCE_CORE_URL", hide_env_values = true, value_name = "URL", value_delimiter = ',')]
    core_url: Vec<PrivateUrl>,
    #[command(flatten)]
    core_tls: CoreTlsArgs,
}

impl DoctorArgs {
    /// The needs of a service without tables. With cores and without a database, it is a gateway.
    fn needs(&self) -> Needs<'_> {
        let is_gateway =
            !self.core_url.is_empty() && !self.database.url.is_given() && !self.database.data_dir.is_given();
        let cores = &self.core_url;
        let needs =
            Needs { rest: Some(self.rest_addr), cores, core_tls: Some(&self.core_tls), ..Needs::of(&self.keys) };
        if is_gateway {
            return needs;
        }
        let database = DatabaseNeed {
            url: &self.database.url,
            replicas: &self.replicas,
            connections: self.database_connections,
            retention: None,
        };
        let (database, data_dir) = (Some(database), Some(&self.database.data_dir));
        Needs { grpc: Some(self.grpc_addr), database, data_dir, ..needs }
    }
}

/// Checks what the settings of `doctor` name.
pub(super) fn run(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let is_right = if args.counts {
        run_as_owner(&args.database, async |connection| counts::check(connection, args.repair, args.json).await)?
    } else {
        crate::program::block_on(check_machine(args))?
    };
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::from(WRONG) })
}

/// Prints all findings. Returns false if one of them is a problem.
async fn check_machine(args: &DoctorArgs) -> anyhow::Result<bool> {
    let needs = args.needs();
    let ports = u64::from(needs.rest.is_some()) + u64::from(needs.grpc.is_some());
    let mut findings = vec![machine::descriptors(ports.max(1))];
    let hosts: Vec<String> = needs.secure_hosts().collect();
    let cores = args.cores.unwrap_or(needs.cores.len().max(1) as u32);
    findings.extend(check(args, needs, &hosts, cores).await?);
    for finding in &findings {
        print(finding, args.json)?;
    }
    Ok(findings.iter().all(|finding| finding.state != State::Problem))
}

/// Checks what one command needs. Gateways of the same file connect to its cores at `hosts`.
async fn check(args: &DoctorArgs, needs: Needs<'_>, hosts: &[String], cores: u32) -> anyhow::Result<Vec<Finding>> {
    let now = unix_now()?;
    let mut findings = Vec::new();
    findings.extend(needs.rest.map(|address| machine::port("REST", address, "rest-addr")));
    findings.extend(needs.grpc.map(|address| machine::port("gRPC", address, "grpc-addr")));
    if let Some(tls) = needs.grpc_tls {
        findings.extend(machine::certificate("gRPC certificate", tls.load(), tls.certificate(), hosts, now));
    }
    findings.extend(machine::certificate("webhook authorities", needs.webhooks.map(Some), None, &[], now));
    if let Some(tls) = needs.rest_tls {
        findings.extend(machine::certificate("REST certificate", tls.load(), tls.certificate(), &[], now));
    }
    if let Some(tls) = needs.core_tls {
        findings.extend(machine::certificate("client certificate", tls.load(), tls.certificate(), &[], now));
    }
    let data_dir = needs.data_dir.map(DataDirArgs::choose).transpose()?;
    if let Some(DatabaseNeed { url, replicas, connections, retention }) = needs.database {
        // The flags of `doctor` name a database for commands whose table has none.
        let target = url.target()?;
        let target = if target.is_none() { args.database.url.target()? } else { target };
        let replicas = replicas.replicas()?;
        let replicas = if replicas.is_none() { args.replicas.replicas()? } else { replicas };
        findings.extend(match (target, &data_dir) {
            (Some(target), _) => database::check(target, replicas, connections, cores, retention).await,
            (None, Some(data_dir)) => machine::own_database(data_dir).await,
            (None, None) => vec![problem("database", "none is given", "give its URL with --database-url-file")],
        });
    }
    let mut given = needs.keys.given().await;
    if matches!(given, Ok(None)) {
        given = args.keys.given().await;
    }
    let given = given.map(|keys| keys.map(|(_, verifier)| verifier));
    let (keys, verifier) =
        machine::keys(given, data_dir.map(|data_dir| secret::stored(&data_dir)), needs.keys.rules()).await;
    findings.push(keys);
    findings.extend(machine::issuer_clock(needs.keys).await);
    let (token, file) = (args.token.as_ref(), args.token_file.as_ref());
    let token: Option<String> = from_value_or_file(token, file, "token", Ok::<_, String>)?;
    if let Some(token) = &token {
        findings.push(machine::token(token, verifier.as_deref(), now));
    }
    if let Some(tls) = needs.core_tls {
        findings.extend(cores::check(needs.cores, tls, token.as_deref()).await);
    }
    Ok(findings)
}

fn print(finding: &Finding, as_json: bool) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
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
    writeln!(out, "{state:<8} {check:<25} {found}")?;
    if let Some(next_step) = next_step {
        writeln!(out, "{:<8} {:<25} next: {next_step}", "", "")?;
    }
    Ok(())
}
