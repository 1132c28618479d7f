//! The settings of a command: flags and environment variables, in this order of precedence.

use std::{
    ffi::{OsStr, OsString},
    io::Write as _,
    process::exit,
};

use clap::{
    Arg, Command, CommandFactory, FromArgMatches,
    error::{ContextKind, ContextValue},
};
use strsim::normalized_damerau_levenshtein;

/// The exit status for wrong settings.
pub(crate) const WRONG_SETTING: u8 = 2;
/// The prefix of variable names.
const PREFIX: &str = "COMPLIANCE_";
/// Minimum similarity of a suggested name, from 0 to 1.
const SIMILAR: f64 = 0.7;
/// A variable that is not a setting of a command.
const POSTGRES_BIN: &str = "COMPLIANCE_POSTGRES_BIN";

/// Parses `arguments`, program name first, with the environment. Exits the process with status 2 and a message if they are invalid, and with
/// 0 after help.
///
/// An empty environment variable counts as absent: deployment tools often set a variable without a value.
pub(crate) fn parse<P: CommandFactory + FromArgMatches>(arguments: impl IntoIterator<Item = OsString>) -> P {
    let mut command = ignore_empty_variables(P::command());
    let parsed = command.try_get_matches_from_mut(arguments);
    let mut matches = parsed.unwrap_or_else(|error| {
        if let Some(variable) = variable_of_wrong_value(&error, &command) {
            // Standard error may be closed; there is nowhere else to report to.
            let _ = writeln!(std::io::stderr(), "{error}\nThe value is in the environment variable {variable}.");
            exit(WRONG_SETTING.into())
        }
        error.exit()
    });
    P::from_arg_matches_mut(&mut matches).unwrap_or_else(|error| error.format(&mut command).exit())
}

fn ignore_empty_variables(command: Command) -> Command {
    let ignore = |argument: Arg| {
        let value = argument.get_env().and_then(std::env::var_os);
        if value.as_deref().is_some_and(OsStr::is_empty) { argument.env(None::<&'static str>) } else { argument }
    };
    command.mut_args(ignore).mut_subcommands(ignore_empty_variables)
}

/// Returns environment variables that are named like settings and that no command has, each with the most similar setting. They are not
/// errors: deployment tools also set variables for other programs.
pub(crate) fn unknown_variables(program: &Command) -> Vec<(String, Option<String>)> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let is_unknown = |name: &String| {
        name.starts_with(PREFIX)
            && name != POSTGRES_BIN
            && find(program, &|argument| argument.get_env() == Some(OsStr::new(name))).is_none()
    };
    let mut unknown: Vec<String> = names.filter(is_unknown).collect();
    unknown.sort();
    let known = variables(program);
    let with_similar = |name: String| {
        let similar = similar(&name, &known);
        (name, similar)
    };
    unknown.into_iter().map(with_similar).collect()
}

/// The documented variables of a command and its subcommands.
fn variables(command: &Command) -> Vec<String> {
    let shown = command.get_arguments().filter(|argument| !argument.is_hide_set());
    let own = shown.filter_map(|argument| argument.get_env()?.to_str().map(str::to_owned));
    own.chain(command.get_subcommands().flat_map(variables)).collect()
}

/// Returns the most similar name, if it is similar enough to be what was meant.
fn similar(name: &str, known: &[String]) -> Option<String> {
    let rest = |name: &str| name.trim_start_matches(PREFIX).to_owned();
    let scored = known.iter().map(|known| (normalized_damerau_levenshtein(&rest(name), &rest(known)), known));
    let best = scored.max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.filter(|(score, _)| *score >= SIMILAR).map(|(_, known)| known.clone())
}

/// Returns the variable with the value that an error rejects; `None` if the value is on the command line.
fn variable_of_wrong_value<'c>(error: &clap::Error, command: &'c Command) -> Option<std::ffi::os_str::Display<'c>> {
    let Some(ContextValue::String(shown)) = error.get(ContextKind::InvalidArg) else { return None };
    let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) else { return None };
    let long = shown.strip_prefix("--")?.split([' ', '=']).next()?;
    let variable = find(command, &|argument| argument.get_long() == Some(long))?.get_env()?;
    let is_source = std::env::var_os(variable).is_some_and(|set| set == value.as_str());
    is_source.then(|| variable.display())
}

/// Finds an argument of a command or its subcommands.
fn find<'c>(command: &'c Command, matches: &dyn Fn(&Arg) -> bool) -> Option<&'c Arg> {
    let own = command.get_arguments().find(|argument| matches(argument));
    own.or_else(|| command.get_subcommands().find_map(|subcommand| find(subcommand, matches)))
}
