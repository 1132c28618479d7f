//! `compliance completions`: completion of the command line in shells.

use std::{io::Write as _, process::ExitCode};

use anyhow::Context as _;
use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::Cli;

/// Print a script that completes the command line in a shell.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  compliance completions bash > /etc/bash_completion.d/compliance
  compliance completions zsh > \"${fpath[1]}/_compliance\"
  compliance completions fish > ~/.config/fish/completions/compliance.fish")]
pub(crate) struct CompletionsArgs {
    /// Shell that reads the script.
    shell: Shell,
}

pub(super) fn run(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "compliance", &mut script);
    std::io::stdout().write_all(&script).context("the script cannot be printed")?;
    Ok(ExitCode::SUCCESS)
}
