//! Parses a command's settings: flags, then environment variables, in order of precedence.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    io::Write as _,
    process::exit,
};

use clap::{
    Arg, ArgMatches, Command, CommandFactory, FromArgMatches,
    error::{ContextKind, ContextValue, ErrorKind},
    parser::ValueSource,
};
use strsim::normalized_damerau_levenshtein;

/// Exit status for invalid settings.
pub(crate) const WRONG_SETTING: u8 = 2;
/// Prefix of variable names.
const PREFIX: &str = "COMPLIANCE_";
/// Minimum similarity of suggested names, from 0 to 1.
const SIMILAR: f64 = 0.7;
/// Commands that run the service.
pub(crate) const TIERS: [&str; 3] = ["serve", "core", "gateway"];
/// Variable without a flag.
const POSTGRES_BIN: &str = "COMPLIANCE_POSTGRES_BIN";

/// Returns the environment variable of a flag.
pub(super) fn variable(setting: &str) -> String {
    match setting {
        // Other tools use this name.
        "database-url" => "DATABASE_URL".to_owned(),
        _ => format!("{PREFIX}{}", setting.replace('-', "_").to_uppercase()),
    }
}

/// Parses the arguments and the environment. The first argument is the program name. Prints a message and exits with status 2 if a setting is
/// invalid, and with status 0 after help.
///
/// Empty environment variables count as unset, because deployment tools often set variables without a value.
pub(crate) fn parse<P: CommandFactory + FromArgMatches>(arguments: impl IntoIterator<Item = OsString>) -> P {
    let mut command = ignore_empty_variables(P::command());
    let parsed = command.try_get_matches_from_mut(arguments);
    let mut matches = parsed.unwrap_or_else(|error| {
        if let Some(variable) = variable_of_wrong_value(&error, &command) {
            // Ignore a closed standard error.
            let error = without_tokens(error);
            let _ = writeln!(std::io::stderr(), "{error}\nThe value comes from the environment variable {variable}.");
            exit(WRONG_SETTING.into())
        }
        let variables = variables_of_flags(&error, &command).join(", ");
        if !variables.is_empty() {
            let _ = writeln!(std::io::stderr(), "{error}\nAs environment variables: {variables}.");
            exit(WRONG_SETTING.into())
        }
        without_tokens(error).exit()
    });
    if let Some((flag, other)) = contradiction(&matches) {
        let text = format!("{flag} and {other} choose different databases: remove one of them");
        command.error(ErrorKind::ArgumentConflict, text).exit()
    }
    P::from_arg_matches_mut(&mut matches).unwrap_or_else(|error| error.format(&mut command).exit())
}

/// Returns a flag that chooses a database, and another setting that would silently replace that database.
fn contradiction(matches: &ArgMatches) -> Option<(String, String)> {
    let (mut command, mut matches) = ("", matches);
    while let Some((name, of_subcommand)) = matches.subcommand() {
        (command, matches) = (name, of_subcommand);
    }
    let source = |id: &str| {
        let is_filled = matches.try_get_raw(id).ok()??.any(|value| !value.is_empty());
        if is_filled { matches.value_source(id) } else { None }
    };
    let flag = |id: &str| source(id) == Some(ValueSource::CommandLine);
    // `doctor` checks a database and the cores. With --core-url, a data folder only provides the secret.
    let core_url = source("core_url").filter(|_| command != "doctor");
    let is_contradicted = |id: &str, other: &str| match (id, other) {
        ("data_dir", "core_url") => core_url == Some(ValueSource::EnvVariable),
        (_, "core_url") => core_url.is_some(),
        // `serve` keeps its signing secret in the data folder, whatever its database.
        ("data_dir", _) => command != "serve" && source(other).is_some(),
        _ => false,
    };
    let others = ["database_url", "database_url_file", "core_url"];
    let find = |id: &'static str| Some((id, others.into_iter().find(|other| is_contradicted(id, other))?));
    let (id, other) =
        ["data_dir", "database_url", "database_url_file"].into_iter().filter(|id| flag(id)).find_map(find)?;
    let shown = |id: &str| {
        let setting = id.replace('_', "-");
        if flag(id) { format!("--{setting}") } else { variable(&setting) }
    };
    Some((shown(id), shown(other)))
}

/// Hides misplaced tokens, because error messages are often logged.
fn without_tokens(mut error: clap::Error) -> clap::Error {
    for kind in [ContextKind::InvalidValue, ContextKind::InvalidArg, ContextKind::InvalidSubcommand] {
        // Every JSON Web Token begins with these letters, which encode `{"`.
        if matches!(error.get(kind), Some(ContextValue::String(shown)) if shown.contains("eyJ")) {
            error.insert(kind, ContextValue::String("…".to_owned()));
        }
    }
    error
}

fn ignore_empty_variables(command: Command) -> Command {
    let ignore = |argument: Arg| {
        let value = argument.get_env().and_then(std::env::var_os);
        if value.as_deref().is_some_and(OsStr::is_empty) { argument.env(None::<&'static str>) } else { argument }
    };
    command.mut_args(ignore).mut_subcommands(ignore_empty_variables)
}

/// Returns unknown environment variables with the prefix of settings, each with the most similar setting. They are not errors, because deployment
/// tools also set variables for other programs.
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

/// Returns the set variables that configure other tiers, but not this one. Other commands' variables are often set in the same environment.
pub(crate) fn unused_variables(program: &Command, tier: &str) -> Vec<String> {
    let of = |name| program.find_subcommand(name).map(variables).unwrap_or_default();
    let (used, is_set) = (of(tier), |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    // Administrators set the data folder for all commands. The image sets both addresses, so one of them has no effect only if it is set alone.
    let addresses = ["COMPLIANCE_REST_ADDR", "COMPLIANCE_GRPC_ADDR"];
    let are_of_image = addresses.into_iter().all(is_set);
    let is_shared = |name: &str| name == "COMPLIANCE_DATA_DIR" || are_of_image && addresses.contains(&name);
    let is_unused =
        |name: &String| name.starts_with(PREFIX) && is_set(name) && !used.contains(name) && !is_shared(name);
    let unused: BTreeSet<String> = TIERS.into_iter().flat_map(of).filter(is_unused).collect();
    unused.into_iter().collect()
}

/// Returns the documented variables of a command and its subcommands.
fn variables(command: &Command) -> Vec<String> {
    let shown = command.get_arguments().filter(|argument| !argument.is_hide_set());
    let own = shown.filter_map(|argument| argument.get_env()?.to_str().map(str::to_owned));
    own.chain(command.get_subcommands().flat_map(variables)).collect()
}

/// Returns the most similar name, if it is similar enough to suggest.
fn similar(name: &str, known: &[String]) -> Option<String> {
    let rest = |name: &str| name.trim_start_matches(PREFIX).to_owned();
    let scored = known.iter().map(|known| (normalized_damerau_levenshtein(&rest(name), &rest(known)), known));
    let best = scored.max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.filter(|(score, _)| *score >= SIMILAR).map(|(_, known)| known.clone())
}

/// Returns the variable whose value an error rejects, or `None` if the value is from the command line.
fn variable_of_wrong_value<'c>(error: &clap::Error, command: &'c Command) -> Option<std::ffi::os_str::Display<'c>> {
    let Some(ContextValue::String(shown)) = error.get(ContextKind::InvalidArg) else { return None };
    let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) else { return None };
    let variable = variable_of_flag(shown, command)?;
    let is_source = std::env::var_os(variable).is_some_and(|set| set == value.as_str());
    is_source.then(|| variable.display())
}

/// Returns the variables of missing or contradictory flags. The error names only flags, although deployments often set variables.
fn variables_of_flags(error: &clap::Error, command: &Command) -> Vec<String> {
    if !matches!(error.kind(), ErrorKind::ArgumentConflict | ErrorKind::MissingRequiredArgument) {
        return Vec::new();
    }
    let named = [ContextKind::InvalidArg, ContextKind::PriorArg].into_iter().filter_map(|kind| error.get(kind));
    let flags = named.flat_map(|value| match value {
        ContextValue::String(flag) => std::slice::from_ref(flag),
        ContextValue::Strings(flags) => flags,
        _ => &[],
    });
    flags.filter_map(|flag| Some(variable_of_flag(flag, command)?.display().to_string())).collect()
}

/// Returns the variable of a flag in an error, such as `--database-url <URL>`.
fn variable_of_flag<'c>(shown: &str, command: &'c Command) -> Option<&'c OsStr> {
    let long = shown.strip_prefix("--")?.split([' ', '=']).next()?;
    find(command, &|argument| argument.get_long() == Some(long))?.get_env()
}

/// Finds an argument of a command or its subcommands.
fn find<'c>(command: &'c Command, matches: &dyn Fn(&Arg) -> bool) -> Option<&'c Arg> {
    let own = command.get_arguments().find(|argument| matches(argument));
    own.or_else(|| command.get_subcommands().find_map(|subcommand| find(subcommand, matches)))
}
