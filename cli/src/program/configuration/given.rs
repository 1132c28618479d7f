//! The arguments and the environment, before the configuration file is read.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    path::PathBuf,
};

use clap::{Arg, ArgMatches, Command, parser::ValueSource};

/// The argument that names the configuration file.
pub(super) const CONFIG: &str = "config";

pub(super) fn ignore_empty_variables(command: Command) -> Command {
    let ignore = |argument: Arg| {
        let value = argument.get_env().and_then(std::env::var_os);
        if value.as_deref().is_some_and(OsStr::is_empty) { argument.env(None::<&'static str>) } else { argument }
    };
    command.mut_args(ignore).mut_subcommands(ignore_empty_variables)
}

/// What the configuration file depends on.
#[derive(Default)]
pub(super) struct Given {
    /// The path of the configuration file.
    pub(super) file: Option<PathBuf>,
    /// The command, whose table in the file takes precedence.
    pub(super) command: Option<String>,
    /// The settings that flags or variables give.
    pub(super) settings: BTreeSet<String>,
}

/// Reads the arguments and the environment, and ignores errors.
pub(super) fn first_look(program: &Command, arguments: &[OsString]) -> Given {
    let program = ignore_empty_variables(program.clone()).ignore_errors(true);
    let Ok(matches) = program.clone().try_get_matches_from(arguments) else { return Given::default() };
    let file = matches.try_get_one::<PathBuf>(CONFIG).ok().flatten().cloned();
    let (command, found) = subcommand(&program, &matches).unwrap_or((&program, &matches));
    let is_given = |argument: &&Arg| {
        let source = found.value_source(argument.get_id().as_str());
        matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable))
    };
    let settings = command.get_arguments().filter(|argument| is_setting(argument)).filter(is_given);
    let settings = settings.filter_map(Arg::get_long).map(str::to_owned).collect();
    Given { file, command: matches.subcommand_name().map(str::to_owned), settings }
}

/// Returns the chosen command with its matches.
pub(super) fn subcommand<'a>(command: &'a Command, matches: &'a ArgMatches) -> Option<(&'a Command, &'a ArgMatches)> {
    let (name, found) = matches.subcommand()?;
    let chosen = command.find_subcommand(name)?;
    Some(subcommand(chosen, found).unwrap_or((chosen, found)))
}

/// Whether an argument is a setting: it also has a variable.
pub(super) fn is_setting(argument: &Arg) -> bool {
    argument.get_env().is_some() && argument.get_id() != CONFIG
}
