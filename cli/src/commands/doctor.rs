//! `compliance doctor`: checks the stored data.

use std::{io::Write as _, process::ExitCode};

use clap::Args;
use core_server::doctor::{Difference, check_counts};
use runtime::DatabaseUrlArgs;

use crate::{data_dir::DataDirArgs, database::DatabaseServer};

/// The exit status if something differs and was not repaired.
const DIFFERS: u8 = 3;

/// Check the stored data. Works beside a running service and without one. The exit status is 3 if something is wrong and was not
/// repaired.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  compliance doctor --counts
  compliance doctor --counts --repair")]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    checks: Checks,
    /// Repair what is wrong.
    #[arg(long)]
    repair: bool,
    #[command(flatten)]
    database: DatabaseUrlArgs,
    #[command(flatten)]
    data_dir: DataDirArgs,
}

/// What is checked; at least one.
#[derive(Args, Debug)]
#[group(required = true, multiple = true)]
struct Checks {
    /// Compare the counts of the lists with the records: of every company, in every dimension.
    #[arg(long)]
    counts: bool,
}

pub(super) fn run(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    runtime::block_on(async {
        let server = DatabaseServer::find(&args.database, &args.data_dir, false).await?;
        let pool = server.connect_for_maintenance().await?;
        let mut wrong = 0;
        if args.checks.counts {
            let mut connection = pool.acquire().await?;
            wrong += check_counts(&mut connection, args.repair, |found| print(&found)).await?;
        }
        server.close(&pool).await?;
        let (result, status) = match (wrong, args.repair) {
            (0, _) => ("nothing is wrong".to_owned(), ExitCode::SUCCESS),
            (_, true) => (format!("{wrong} counts were wrong and are repaired"), ExitCode::SUCCESS),
            (_, false) => (format!("{wrong} counts are wrong; `--repair` repairs them"), ExitCode::from(DIFFERS)),
        };
        writeln!(std::io::stdout(), "{result}")?;
        Ok(status)
    })
}

fn print(Difference { company_id, list, counts }: &Difference) {
    // Nobody may be reading.
    let _ = writeln!(std::io::stdout(), "company {company_id}: {counts} counts of {list} differ from the records");
}
