//! `compliance man`: manual pages.

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::{Args, CommandFactory as _};

use super::Cli;

/// Write the manual pages, one for each command.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  compliance man --output /usr/local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Folder that the pages are written to; it is created if it is missing.
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
}

pub(super) fn run(args: &ManArgs) -> anyhow::Result<ExitCode> {
    let folder = &args.output;
    let write = || {
        fs::create_dir_all(folder)?;
        clap_mangen::generate_to(Cli::command(), folder)
    };
    write().with_context(|| format!("cannot write the manual pages to {}", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}
