//! Parsing of the command line and the environment.

use std::ffi::{OsStr, OsString};

use clap::{Arg, Command, CommandFactory, FromArgMatches};

/// Parses `arguments`, program name first, and the environment variables of the settings. Exits the process with status
/// 2 and a message if they are invalid.
///
/// An empty environment variable counts as absent: deployment tools often set a variable without a value.
pub fn parse<P: CommandFactory + FromArgMatches>(arguments: impl IntoIterator<Item = OsString>) -> P {
    let mut command = ignore_empty_variables(P::command());
    let mut matches = command.clone().get_matches_from(arguments);
    P::from_arg_matches_mut(&mut matches).unwrap_or_else(|error| error.format(&mut command).exit())
}

fn ignore_empty_variables(command: Command) -> Command {
    let ignore = |argument: Arg| {
        let value = argument.get_env().and_then(std::env::var_os);
        if value.as_deref().is_some_and(OsStr::is_empty) { argument.env(None::<&'static str>) } else { argument }
    };
    command.mut_args(ignore).mut_subcommands(ignore_empty_variables)
}
