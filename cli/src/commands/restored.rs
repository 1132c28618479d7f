//! `compliance restored` reports a restored backup, or a failover that lost changes.

use clap::Args;
use core_server::database::{Jump, jump_ahead};

use crate::{
    database::{DatabaseArgs, run_as_owner},
    output::{counted, print},
};

/// Advance positions and IDs after a restored backup, or after a failover that lost changes. Readers of lost changes then receive 410, and
/// webhooks report the restore. No position, ID or etag is used twice. A service detects most restores when it starts. Run this command
/// after a restore that a service cannot detect, such as from a snapshot or a copy of the data folder. Running it again is safe: positions
/// and IDs advance again.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  compliance restored
  compliance restored --database-url postgres://owner:…@db/compliance")]
pub(crate) struct RestoredArgs {
    #[command(flatten)]
    database: DatabaseArgs,
}

pub(super) fn run(args: &RestoredArgs) -> anyhow::Result<()> {
    let jumps = run_as_owner(&args.database, true, async |connection| Ok(jump_ahead(connection).await?))?;
    for Jump { kind, name, before, after } in &jumps {
        if kind == "company" {
            print(&format!("company {name}: positions {} to {after} are lost", before + 1))?;
        } else {
            print(&format!("{name}: IDs continue after {after} (previously {before})"))?;
        }
    }
    let companies = jumps.iter().filter(|jump| jump.kind == "company").count();
    let sequences = jumps.len() - companies;
    let companies = counted(companies, "company", "companies");
    print(&format!("advanced the positions of {companies} and the IDs of {sequences} record types"))
}
