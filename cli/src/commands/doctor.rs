//! `compliance doctor`: checks what a service needs on this machine, or the stored data.

mod checks;

use std::{io::Write as _, net::SocketAddr, process::ExitCode};

use clap::Args;
use core_server::{
    database::check_migrated,
    doctor::{Difference, check_counts},
};
use runtime::{DatabaseUrlArgs, Hidden, KeyArgs, units::listen_address, unix_now};

use self::checks::{Finding, State};
use crate::{data_dir::DataDirArgs, database::DatabaseServer, secret};

/// The exit status if something is wrong and was not repaired.
const WRONG: u8 = 3;

/// Check what a service needs on this machine: ports, PostgreSQL, permissions, clock, keys, a token, file descriptors. With
/// --counts, check the stored data instead.
///
/// Works with and without a running service, and changes nothing unless --repair is given. The exit status is 3 if
/// something is wrong and was not repaired.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  compliance doctor
  compliance doctor --database-url postgres://compliance@db/compliance --jwks-url https://issuer/keys --json
  compliance doctor --counts --repair")]
pub(crate) struct DoctorArgs {
    /// Compare the counts of the lists with the records, for every company.
    #[arg(long)]
    counts: bool,
    /// Repair counts that are wrong.
    #[arg(long, requires = "counts")]
    repair: bool,
    /// Print findings as JSON, one object per line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    database: DatabaseUrlArgs,
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
}

pub(super) fn run(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    runtime::block_on(async { if args.counts { counts(args).await } else { machine(args).await } })
}

async fn machine(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let data_dir = args.data_dir.choose()?;
    let mut findings = vec![
        checks::descriptors(),
        checks::port("REST", args.rest_addr, "--rest-addr", "COMPLIANCE_REST_ADDR"),
        checks::port("gRPC", args.grpc_addr, "--grpc-addr", "COMPLIANCE_GRPC_ADDR"),
    ];
    findings.extend(match args.database.options()? {
        Some(options) => checks::given_database(options).await,
        None => checks::own_database(&data_dir).await,
    });
    let given = args.keys.given().await.map(|keys| keys.map(|(_, verifier)| verifier));
    let (keys, verifier) = checks::keys(given, secret::stored(&data_dir)).await;
    findings.push(keys);
    if let Some(token) = args.token.as_ref().and_then(Hidden::filled) {
        findings.push(checks::token(token, verifier.as_deref(), unix_now()?));
    }
    for finding in &findings {
        print(finding, args.json)?;
    }
    let is_wrong = findings.iter().any(|finding| finding.state == State::Problem);
    Ok(if is_wrong { ExitCode::from(WRONG) } else { ExitCode::SUCCESS })
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
    writeln!(out, "{state:<8} {check:<16} {found}")?;
    if let Some(next_step) = next_step {
        writeln!(out, "{:<8} {:<16} next: {next_step}", "", "")?;
    }
    Ok(())
}

async fn counts(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let server = DatabaseServer::find(&args.database, &args.data_dir, false).await?;
    let pool = server.connect_as_owner(1).await?;
    check_migrated(&pool).await?;
    let mut connection = pool.acquire().await?;
    let print = |Difference { company_id, list, counts }| {
        let line = if args.json {
            serde_json::json!({ "company": company_id, "list": list, "counts": counts }).to_string()
        } else {
            format!("company {company_id}: {counts} counts of {list} differ from the records")
        };
        // Nobody may be reading.
        let _ = writeln!(std::io::stdout(), "{line}");
    };
    let wrong = check_counts(&mut connection, args.repair, print).await?;
    drop(connection);
    server.close(&pool).await?;
    let is_repaired = args.repair && wrong > 0;
    let result = match wrong {
        _ if args.json => serde_json::json!({ "wrong": wrong, "repaired": is_repaired }).to_string(),
        0 => "nothing is wrong".to_owned(),
        _ if is_repaired => format!("{wrong} counts were wrong and are repaired"),
        _ => format!("{wrong} counts are wrong; `--repair` repairs them"),
    };
    writeln!(std::io::stdout(), "{result}")?;
    Ok(if wrong == 0 || is_repaired { ExitCode::SUCCESS } else { ExitCode::from(WRONG) })
}
