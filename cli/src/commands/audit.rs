//! `compliance audit` verifies the record of changes.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use compliance_api::MAX_ID;
use core_server::audit::{self, Checkpoint, Drop, Restore, Retained};
use flags::count;
use sqlx::PgConnection;
use time::{OffsetDateTime, UtcOffset, format_description::well_known::Rfc3339};

use crate::{
    database::{DatabaseArgs, run_as_owner},
    output::{counted, print},
};

/// Exit status for an altered record.
const BROKEN: u8 = 3;

/// Verify the record of changes, or print its last position. Each row contains a hash of its content and of the previous row.
#[derive(Args, Debug)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// Verify that no change was altered, removed or reordered in the database. Otherwise, the command reports the first such
    /// change and exits with status 3.
    #[command(after_help = "Examples:
  compliance audit verify
  compliance audit verify --company 7 --checkpoint checkpoint.json")]
    Verify {
        #[command(flatten)]
        record: RecordArgs,
        /// File with checkpoints. Each checkpoint must match its company's record.
        #[arg(long, value_name = "FILE")]
        checkpoint: Option<PathBuf>,
    },
    /// Print the last position of a company's record and its hash, as one line of JSON. Keep this line where users with write access to
    /// the database cannot change it.
    #[command(after_help = "Example, with a signature:
  compliance audit checkpoint > checkpoint.json
  openssl pkeyutl -sign -rawin -inkey key.pem -in checkpoint.json -out checkpoint.sig")]
    Checkpoint(RecordArgs),
}

#[derive(Args, Debug)]
struct RecordArgs {
    /// Company of the record [default: all].
    #[arg(long, value_name = "N", value_parser = count(1..=MAX_ID))]
    company: Option<i64>,
    #[command(flatten)]
    database: DatabaseArgs,
}

pub(super) fn run(args: &AuditArgs) -> anyhow::Result<ExitCode> {
    let (AuditCommand::Verify { record, .. } | AuditCommand::Checkpoint(record)) = &args.command;
    run_as_owner(&record.database, false, async |connection| match &args.command {
        AuditCommand::Verify { checkpoint, .. } => verify(record.company, checkpoint.as_deref(), connection).await,
        AuditCommand::Checkpoint(_) => checkpoint(record.company, connection).await,
    })
}

async fn verify(
    company: Option<i64>,
    checkpoints: Option<&Path>,
    connection: &mut PgConnection,
) -> anyhow::Result<ExitCode> {
    let checkpoints = checkpoints.map(|path| read(path, company)).transpose()?.unwrap_or_default();
    let (mut broken, mut erased, mut retention) = (0, 0, Retention::default());
    let mut report = |company: i64, found: audit::Broken| {
        broken += 1;
        print(&format!("company {company}: {found}"))
    };
    let companies = companies(company, connection).await?;
    for &each in &companies {
        erased += audit::erased(&mut *connection, each).await?;
        for Restore { first, last, time } in audit::restores(&mut *connection, each).await? {
            let time = time.format(&Rfc3339)?;
            print(&format!("company {each}: a restore lost positions {first} to {last}; detected at {time}"))?;
        }
        retention.add(audit::retained(&mut *connection, each).await?, audit::drops(&mut *connection, each).await?);
        if let Some(found) = audit::verify(connection, each).await? {
            report(each, found)?;
        } else if company.is_some() && audit::checkpoint(&mut *connection, each).await?.is_none() {
            bail!("company {each} has no record of changes");
        }
    }
    for checkpoint in &checkpoints {
        if let Some(found) = audit::compare(&mut *connection, checkpoint).await? {
            report(checkpoint.company_id, found)?;
        }
    }
    if broken == 0 {
        let (companies, checkpoints) = (companies.len(), checkpoints.len());
        let verified = match companies {
            1 => "the record of changes for 1 company is intact and matches".to_owned(),
            _ => format!("the records of changes for {companies} companies are intact and match"),
        };
        let compared = counted(checkpoints, "checkpoint", "checkpoints");
        let erased = if erased > 0 { format!("; they contain {erased} erased rows") } else { String::new() };
        print(&format!("{verified} {compared}{erased}"))?;
        retention.print()?;
    }
    retention.print_drops(company.is_some())?;
    Ok(if broken == 0 { ExitCode::SUCCESS } else { ExitCode::from(BROKEN) })
}

async fn checkpoint(company: Option<i64>, connection: &mut PgConnection) -> anyhow::Result<ExitCode> {
    for each in companies(company, connection).await? {
        match audit::checkpoint(&mut *connection, each).await? {
            Some(checkpoint) => print(&serde_json::to_string(&checkpoint)?)?,
            None if company.is_some() => bail!("company {each} has no record of changes"),
            None => {}
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the given company, or all companies with a record, by ID.
async fn companies(company: Option<i64>, connection: &mut PgConnection) -> Result<Vec<i64>, sqlx::Error> {
    match company {
        Some(company) => Ok(vec![company]),
        None => audit::companies(connection).await,
    }
}

/// Reads checkpoints from a file, one per line. Returns all checkpoints, or those of one company. Fails if the file contains no checkpoints, because an empty
/// file proves nothing.
fn read(path: &Path, company: Option<i64>) -> anyhow::Result<Vec<Checkpoint>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let line = |(number, line): (usize, &str)| {
        serde_json::from_str(line)
            .with_context(|| format!("line {} of {} is not a checkpoint", number + 1, path.display()))
    };
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let mut checkpoints = lines.map(line).collect::<anyhow::Result<Vec<Checkpoint>>>()?;
    checkpoints.retain(|checkpoint| company.is_none_or(|company| company == checkpoint.company_id));
    match company {
        _ if !checkpoints.is_empty() => Ok(checkpoints),
        Some(company) => bail!("{} contains no checkpoint for company {company}", path.display()),
        None => bail!("{} contains no checkpoint", path.display()),
    }
}

/// Counts the changes that retention kept and dropped in the verified records.
#[derive(Default)]
struct Retention {
    changes: i64,
    since: Option<OffsetDateTime>,
    drops: Vec<Drop>,
}

impl Retention {
    fn add(&mut self, kept: Option<Retained>, drops: Vec<Drop>) {
        if let Some(Retained { changes, since }) = kept {
            self.changes += changes;
            self.since = [self.since, since].into_iter().flatten().min();
        }
        // Merge simultaneous drops of the same month.
        for drop in drops {
            match self.drops.iter_mut().find(|other| (&other.part, other.dropped_at) == (&drop.part, drop.dropped_at)) {
                Some(known) => known.changes += drop.changes,
                None => self.drops.push(drop),
            }
        }
    }

    fn print(&self) -> anyhow::Result<()> {
        match self.since {
            Some(since) => {
                print(&format!("kept: {}, since {}", counted(self.changes, "change", "changes"), day(since)))
            }
            None => print("kept: no changes"),
        }
    }

    /// Prints drops: positions for one company, counts for several companies.
    fn print_drops(&self, is_one: bool) -> anyhow::Result<()> {
        for Drop { after, position, changes, part, days, dropped_at, dropped_by, program } in &self.drops {
            let dropped = if is_one {
                format!("changes {} to {position}", after + 1)
            } else {
                counted(*changes, "change", "changes")
            };
            let when = day(*dropped_at);
            print(&match (part, days) {
                (Some(part), Some(days)) => format!(
                    "dropped: {dropped} of {part}, on {when} by {dropped_by} ({program}): changes are kept for {days} days"
                ),
                _ => format!(
                    "dropped: {dropped}, by an earlier release that did not record the drop; detected on {when} by {dropped_by} ({program})"
                ),
            })?;
        }
        Ok(())
    }
}

/// Returns the UTC date.
fn day(time: OffsetDateTime) -> time::Date {
    time.to_offset(UtcOffset::UTC).date()
}
