//! `compliance erase` permanently erases an affiliate or a whole company.

use anyhow::bail;
use clap::Args;
use compliance_api::{MAX_ID, v1::EraseAffiliateResponse};
use core_server::erasure;
use flags::count;

use crate::{
    database::{DatabaseArgs, run_as_owner},
    output::print,
};

/// Permanently erase an affiliate, or a company with all its records. The record of changes keeps IDs, dates and statuses. The command works in
/// batches: after an interruption, run it again. Revoke the company's tokens first, because records added during the erasure may remain.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  compliance erase --company 7 --dry-run
  compliance erase --company 7 --yes
  compliance erase --company 7 --affiliate 12 --yes")]
pub(crate) struct EraseArgs {
    /// Company to erase.
    #[arg(long, value_name = "N", value_parser = count(1..=MAX_ID))]
    company: i64,
    /// Erase only this affiliate of the company, with its URLs and cases.
    #[arg(long, value_name = "ID", value_parser = count(1..=MAX_ID))]
    affiliate: Option<i64>,
    /// Print the number of records without erasing anything.
    #[arg(long, conflicts_with_all = ["yes", "affiliate"])]
    dry_run: bool,
    /// Confirm the erasure. Only a backup can restore the records.
    #[arg(long, required_unless_present = "dry_run")]
    yes: bool,
    #[command(flatten)]
    database: DatabaseArgs,
}

pub(super) fn run(args: &EraseArgs) -> anyhow::Result<()> {
    run_as_owner(&args.database, !args.dry_run, async |connection| erase(args, connection).await)
}

async fn erase(args: &EraseArgs, connection: &mut sqlx::PgConnection) -> anyhow::Result<()> {
    let company = args.company;
    if let Some(affiliate) = args.affiliate {
        let Some(erased) = erasure::erase_affiliate(connection, company, affiliate).await? else {
            bail!("company {company} has no affiliate {affiliate}");
        };
        let EraseAffiliateResponse { urls, cases, incidents, infractions } = erased;
        return print(&format!(
            "erased affiliate {affiliate} with {urls} URLs, {cases} cases, {incidents} incidents and {infractions} infractions"
        ));
    }
    let tables = erasure::rows_by_table(connection, company).await?;
    let list: Vec<String> = tables.iter().map(|(table, rows)| format!("{rows} {table}")).collect();
    let list = list.join(", ");
    if args.dry_run {
        return print(&format!("company {company} has {list}"));
    }
    erasure::erase_company(connection, company).await?;
    if erasure::rows_by_table(connection, company).await?.iter().any(|(_, rows)| *rows > 0) {
        bail!("records of company {company} were added during the erasure: run the command again");
    }
    let none =
        if tables.iter().all(|(_, rows)| *rows == 0) { "; the company had no records: check --company" } else { "" };
    print(&format!("erased company {company}: {list}{none}"))
}
