//! `compliance audit`: the chain of the record of changes.

use std::{fs, io::Write as _, path::PathBuf, process::ExitCode};

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use compliance_api::MAX_ID;
use core_server::{
    audit::{self, Checkpoint},
    database::check_migrated,
};
use runtime::DatabaseUrlArgs;

use crate::{data_dir::DataDirArgs, database::DatabaseServer};

/// The exit status if the record is not what was written.
const BROKEN: u8 = 3;

/// Verify the record of changes, or write down where it ends. Each of its rows has a hash of its content and of the row before.
#[derive(Args, Debug)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    Verify(VerifyArgs),
    Checkpoint(CheckpointArgs),
}

/// Verify that no change was altered, removed or reordered in the database, and name the first that was. The exit status is 3 then.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  compliance audit verify
  compliance audit verify --company 7 --checkpoint checkpoint.json")]
struct VerifyArgs {
    /// Company whose record is verified [default: all].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=MAX_ID))]
    company: Option<i64>,
    /// File with checkpoints, of which each must be a part of its company's record.
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    #[command(flatten)]
    database: DatabaseUrlArgs,
    #[command(flatten)]
    data_dir: DataDirArgs,
}

/// Print the last position of a company's record and its hash, as one line of JSON. Keep it where nobody can change it who can change
/// the database.
#[derive(Args, Debug)]
#[command(after_help = "Example, with a signature:
  compliance audit checkpoint > checkpoint.json
  openssl pkeyutl -sign -rawin -inkey key.pem -in checkpoint.json -out checkpoint.sig")]
struct CheckpointArgs {
    /// Company whose record it is of [default: all, one line each].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=MAX_ID))]
    company: Option<i64>,
    #[command(flatten)]
    database: DatabaseUrlArgs,
    #[command(flatten)]
    data_dir: DataDirArgs,
}

pub(super) fn run(args: &AuditArgs) -> anyhow::Result<ExitCode> {
    let (database, data_dir) = match &args.command {
        AuditCommand::Verify(args) => (&args.database, &args.data_dir),
        AuditCommand::Checkpoint(args) => (&args.database, &args.data_dir),
    };
    runtime::block_on(async {
        let server = DatabaseServer::find(database, data_dir, false).await?;
        let pool = server.connect_as_owner(1).await?;
        let result = async {
            check_migrated(&pool).await?;
            let mut connection = pool.acquire().await?;
            match &args.command {
                AuditCommand::Verify(args) => verify(args, &mut connection).await,
                AuditCommand::Checkpoint(args) => checkpoint(args, &mut connection).await,
            }
        };
        let result = result.await;
        server.close(&pool).await?;
        result
    })
}

async fn verify(args: &VerifyArgs, connection: &mut sqlx::PgConnection) -> anyhow::Result<ExitCode> {
    let checkpoints = args.checkpoint.as_ref().map(read).transpose()?.unwrap_or_default();
    let (mut verified, mut broken, mut erased) = (0, 0, 0);
    let mut report = |company: i64, found: audit::Broken| {
        broken += 1;
        writeln!(std::io::stdout(), "company {company}: {found}").context("the result cannot be printed")
    };
    let mut companies = Companies::of(args.company);
    while let Some(company) = companies.next(connection).await? {
        verified += 1;
        erased += audit::erased(&mut *connection, company).await?;
        if let Some(found) = audit::verify(connection, company).await? {
            report(company, found)?;
        } else if args.company.is_some() && audit::checkpoint(&mut *connection, company).await?.is_none() {
            bail!("company {company} has no record of changes");
        }
    }
    let is_verified = |checkpoint: &&Checkpoint| args.company.is_none_or(|company| company == checkpoint.company_id);
    for checkpoint in checkpoints.iter().filter(is_verified) {
        if let Some(found) = audit::compare(&mut *connection, checkpoint).await? {
            report(checkpoint.company_id, found)?;
        }
    }
    if broken > 0 {
        return Ok(ExitCode::from(BROKEN));
    }
    let compared = checkpoints.iter().filter(is_verified).count();
    let erased = if erased > 0 { format!("; of their rows, {erased} are erased") } else { String::new() };
    let whole = format!("the records of {verified} companies are whole, and agree with {compared} checkpoints{erased}");
    writeln!(std::io::stdout(), "{whole}").context("the result cannot be printed")?;
    Ok(ExitCode::SUCCESS)
}

async fn checkpoint(args: &CheckpointArgs, connection: &mut sqlx::PgConnection) -> anyhow::Result<ExitCode> {
    let mut companies = Companies::of(args.company);
    while let Some(company) = companies.next(connection).await? {
        match audit::checkpoint(&mut *connection, company).await? {
            Some(checkpoint) => writeln!(std::io::stdout(), "{}", serde_json::to_string(&checkpoint)?)
                .context("the checkpoint cannot be printed")?,
            None if args.company.is_some() => bail!("company {company} has no record of changes"),
            None => {}
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// One company, or all that have a record, by ID.
enum Companies {
    One(i64),
    After(i64),
    End,
}

impl Companies {
    fn of(company: Option<i64>) -> Self {
        company.map_or(Self::After(i64::MIN), Self::One)
    }

    async fn next(&mut self, connection: &mut sqlx::PgConnection) -> anyhow::Result<Option<i64>> {
        let next = match *self {
            Self::One(company) => {
                *self = Self::End;
                return Ok(Some(company));
            }
            Self::After(company) => audit::company_after(connection, company).await?,
            Self::End => None,
        };
        *self = next.map_or(Self::End, Self::After);
        Ok(next)
    }
}

/// The checkpoints of a file, one a line.
fn read(path: &PathBuf) -> anyhow::Result<Vec<Checkpoint>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let line = |(number, line): (usize, &str)| {
        serde_json::from_str(line)
            .with_context(|| format!("line {} of {} is not a checkpoint", number + 1, path.display()))
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(line).collect()
}
