//! `compliance doctor`: checks what a service needs on this machine, or the stored data.

mod certificate;
mod checks;
mod cores;
mod database;
mod finding;
mod needs;

use std::{fs, io::Write as _, net::SocketAddr, path::PathBuf, process::ExitCode};

use crate::program::{CoreTlsArgs, DatabaseUrlArgs, Hidden, InvalidSetting, KeyArgs, ReplicaArgs, named, unix_now};
use anyhow::Context as _;
use clap::Args;
use compliance_api::PrivateUrl;
use core_server::doctor::{BehindSequence, Difference, ViolatingRow, check_counts, check_sequences, check_values};
use flags::listen_address;
use serde_json::json;

pub(super) use self::needs::{CertificateNeed, DatabaseNeed, Needs, PortNeed};

use self::finding::{Finding, State};
use crate::{data_dir::DataDirArgs, database::run_as_owner, secret};

/// Rows of each constraint that are named.
const VIOLATING_ROWS: i64 = 20;

/// The exit status if something is wrong and was not repaired.
const WRONG: u8 = 3;

/// Check what a service needs on this machine: ports, certificates, PostgreSQL and its connections, permissions, clocks, keys, a
/// token, file descriptors, cores that a gateway calls. With --counts, check the stored data instead.
///
/// If the configuration file has tables of `serve`, `core` or `gateway`, the settings of these commands are checked.
///
/// Works with and without a running service, and changes nothing unless --repair is given. If the service's own database does not run,
/// it is started for the check. The exit status is 3 if something is wrong and was not repaired.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  compliance doctor
  compliance doctor --database-url postgres://compliance@db/compliance --jwks-url https://issuer/keys --json
  compliance doctor --config /etc/compliance/compliance.toml --cores 2
  compliance doctor --counts --repair")]
pub(crate) struct DoctorArgs {
    /// Compare the counts of the lists with the records, for every company, and the sequences of IDs with the tables; name rows with values
    /// that are out of range.
    #[arg(long)]
    counts: bool,
    /// Repair counts that are wrong, and sequences that are behind.
    #[arg(long, requires = "counts")]
    repair: bool,
    /// Print findings as JSON, one object per line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    database: DatabaseUrlArgs,
    #[command(flatten)]
    replicas: ReplicaArgs,
    /// Maximum number of connections of a core to the database.
    #[arg(long, env = "COMPLIANCE_DATABASE_CONNECTIONS", default_value_t = 16, value_name = "N",
          value_parser = clap::value_parser!(u32).range(2..=1000))]
    database_connections: u32,
    /// Number of cores that use the database [default: those of --core-url in the file, or one].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    cores: Option<u32>,
    #[command(flatten)]
    data_dir: DataDirArgs,
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
    /// Address of a core that a gateway is to call: `http://host:port` or `https://host:port`. Separate several by commas, or
    /// repeat the flag.
    #[arg(long, env = "COMPLIANCE_CORE_URL", hide_env_values = true, value_name = "URL", value_delimiter = ',')]
    core_url: Vec<PrivateUrl>,
    #[command(flatten)]
    core_tls: CoreTlsArgs,
}

impl DoctorArgs {
    /// The settings of a service without tables. With cores and without a database, it is a gateway.
    fn needs(&self) -> Needs<'_> {
        let is_gateway = !self.core_url.is_empty() && !self.database.is_given() && !self.data_dir.is_given();
        let [rest, grpc] = [PortNeed::rest(self.rest_addr), PortNeed::grpc(self.grpc_addr)];
        Needs {
            ports: if is_gateway { vec![rest] } else { vec![rest, grpc] },
            certificates: CertificateNeed::of(
                "client certificate",
                self.core_tls.load(),
                self.core_tls.certificate(),
                false,
            )
            .into_iter()
            .collect(),
            database: (!is_gateway).then_some(DatabaseNeed {
                url: &self.database,
                replicas: &self.replicas,
                connections: self.database_connections,
                retention: None,
            }),
            data_dir: (!is_gateway).then_some(&self.data_dir),
            keys: &self.keys,
            cores: &self.core_url,
            core_tls: Some(&self.core_tls),
        }
    }

    /// The token to verify, if one is given.
    fn token(&self) -> anyhow::Result<Option<String>> {
        match &self.token_file {
            Some(path) => {
                let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
                Ok(Some(text.map_err(InvalidSetting::of(named("token-file")))?.trim().to_owned()))
            }
            None => Ok(self.token.as_ref().and_then(Hidden::filled).map(str::to_owned)),
        }
    }
}

/// A command with its needs, or why its settings are wrong.
type CommandNeeds<'a> = (&'a str, Result<Option<Needs<'a>>, &'a str>);

/// Checks what these commands need, or, without any, what the settings of this one name.
pub(super) fn run(args: &DoctorArgs, commands: Vec<CommandNeeds<'_>>) -> anyhow::Result<ExitCode> {
    if args.counts { counts(args) } else { crate::program::block_on(machine(args, commands)) }
}

async fn machine(args: &DoctorArgs, commands: Vec<CommandNeeds<'_>>) -> anyhow::Result<ExitCode> {
    let mut findings = vec![checks::descriptors()];
    let mut all: Vec<(Option<&str>, Needs<'_>)> = Vec::new();
    if commands.is_empty() {
        all.push((None, args.needs()));
    }
    for (name, needs) in commands {
        match needs {
            Ok(needs) => all.extend(needs.map(|needs| (Some(name), needs))),
            Err(error) => {
                let finding =
                    Finding::new("settings", State::Problem, error, "correct the file: compliance help COMMAND");
                findings.push(Finding { command: Some(name.to_owned()), ..finding });
            }
        }
    }
    let hosts: Vec<String> = all.iter().flat_map(|(_, needs)| needs.secure_hosts()).collect();
    let listed = all.iter().map(|(_, needs)| needs.cores.len() as u32).max().unwrap_or_default();
    let cores = args.cores.unwrap_or(listed.max(1));
    for (name, needs) in all {
        let command = name.map(str::to_owned);
        let found = check(args, needs, &hosts, cores).await?;
        findings.extend(found.into_iter().map(|finding| Finding { command: command.clone(), ..finding }));
    }
    for finding in &findings {
        print(finding, args.json)?;
    }
    let is_wrong = findings.iter().any(|finding| finding.state == State::Problem);
    Ok(if is_wrong { ExitCode::from(WRONG) } else { ExitCode::SUCCESS })
}

/// Checks what one command needs. `hosts` are those of its cores that gateways connect to.
async fn check(args: &DoctorArgs, needs: Needs<'_>, hosts: &[String], cores: u32) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for PortNeed { check, address, setting } in needs.ports {
        findings.push(checks::port(check, address, setting));
    }
    for certificate in needs.certificates {
        findings.push(certificate::check(certificate, hosts, unix_now()?));
    }
    let data_dir = needs.data_dir.map(DataDirArgs::choose).transpose()?;
    if let Some(DatabaseNeed { url, replicas, connections, retention }) = needs.database {
        // The command line of this command may name one, too.
        let target = url.target()?;
        let target = if target.is_none() { args.database.target()? } else { target };
        let replicas = replicas.replicas()?;
        let replicas = if replicas.is_none() { args.replicas.replicas()? } else { replicas };
        findings.extend(match (target, &data_dir) {
            (Some(target), _) => database::check(target, replicas, connections, cores, retention).await,
            (None, Some(data_dir)) => checks::own_database(data_dir).await,
            (None, None) => {
                let next_step = "give its URL with --database-url-file";
                vec![Finding::new("database", State::Problem, "none is given", next_step)]
            }
        });
    }
    let mut given = needs.keys.given().await;
    if matches!(given, Ok(None)) {
        given = args.keys.given().await;
    }
    let given = given.map(|keys| keys.map(|(_, verifier)| verifier));
    let (keys, verifier) =
        checks::keys(given, data_dir.map(|data_dir| secret::stored(&data_dir)), needs.keys.rules()).await;
    findings.push(keys);
    findings.extend(checks::issuer_clock(needs.keys).await);
    let token = args.token()?;
    if let Some(token) = &token {
        findings.push(checks::token(token, verifier.as_deref(), unix_now()?));
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
    let Finding { command, check, state, found, next_step } = finding;
    let check = command.as_ref().map_or_else(|| (*check).to_owned(), |command| format!("{command}: {check}"));
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

fn counts(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let line = |json: serde_json::Value, text: String| if args.json { json.to_string() } else { text };
    let print = |Difference { company_id, list, counts }| {
        let json = json!({ "company": company_id, "list": list, "counts": counts });
        let text = format!("company {company_id}: {counts} counts of {list} differ from the records");
        // Nobody may be reading.
        let _ = writeln!(std::io::stdout(), "{}", line(json, text));
    };
    let (wrong, behind, violating) = run_as_owner(&args.database, &args.data_dir, async |connection| {
        let wrong = check_counts(connection, args.repair, print).await?;
        let behind = check_sequences(connection, args.repair).await?;
        Ok((wrong, behind, check_values(connection, VIOLATING_ROWS).await?))
    })?;
    let mut out = std::io::stdout();
    for BehindSequence { sequence, table, last_id, greatest_id } in &behind {
        let json = json!({ "sequence": sequence, "table": table, "at": last_id, "greatest_id": greatest_id });
        let text = format!(
            "the sequence {sequence} is at {last_id}, and {table} has the ID {greatest_id}: new records meet IDs that are taken"
        );
        writeln!(out, "{}", line(json, text))?;
    }
    for ViolatingRow { table, constraint, company_id, id } in &violating {
        let json = json!({ "company": company_id, "table": table, "id": id, "constraint": constraint });
        let id = id.map(|id| format!(", ID {id}")).unwrap_or_default();
        let text = format!("company {company_id}: a row of {table}{id} violates {constraint}: correct it by hand");
        writeln!(out, "{}", line(json, text))?;
    }
    let is_repaired = args.repair && (wrong > 0 || !behind.is_empty());
    let (sequences, rows) = (behind.len(), violating.len());
    let json = json!({ "wrong": wrong, "repaired": is_repaired, "sequences": sequences, "violating": rows });
    let text = match (wrong, sequences, rows) {
        (0, 0, 0) => "nothing is wrong".to_owned(),
        (0, 0, _) => format!("{rows} rows have values that are out of range"),
        _ if is_repaired => format!("{wrong} counts and {sequences} sequences were wrong and are repaired"),
        _ => format!("{wrong} counts and {sequences} sequences are wrong; `--repair` repairs them"),
    };
    writeln!(out, "{}", line(json, text))?;
    let is_right = (wrong == 0 && behind.is_empty() || is_repaired) && violating.is_empty();
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::from(WRONG) })
}
