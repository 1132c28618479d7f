//! The effective settings, as a configuration file.

use std::fmt::Write as _;

use clap::{Arg, ArgMatches, Command, parser::ValueSource};
use toml::Value;

use super::file::{ConfigurationFile, is_setting};

/// Returns every setting of a command with its value and origin. Settings without a value and secrets are comments.
pub(super) fn settings(
    program: &Command,
    command: &Command,
    matches: &ArgMatches,
    file: Option<&ConfigurationFile>,
) -> String {
    let mut text = format!("# The settings of `compliance {}`.\n", command.get_name());
    let arguments = command.get_arguments().chain(program.get_arguments());
    for argument in arguments.filter(|argument| is_setting(argument)) {
        let Some(long) = argument.get_long() else { continue };
        let value = value(argument, matches);
        let origin = origin(argument, long, command.get_name(), matches, file);
        // Writing to a text does not fail.
        let _ = match value {
            None => writeln!(text, "# {long} is not set"),
            Some(_) if argument.is_hide_env_values_set() => writeln!(text, "# {long} is set and hidden   # {origin}"),
            Some(value) => writeln!(text, "{long} = {value}   # {origin}"),
        };
    }
    text
}

/// Returns the value of a setting in TOML.
fn value(argument: &Arg, matches: &ArgMatches) -> Option<Value> {
    let mut values: Vec<Value> = matches
        .try_get_raw(argument.get_id().as_str())
        .ok()??
        .map(|value| match value.to_string_lossy().into_owned() {
            boolean if !argument.get_action().takes_values() => Value::Boolean(boolean == "true"),
            text => text.parse().map_or(Value::String(text), Value::Integer),
        })
        .collect();
    if values.len() > 1 { Some(Value::Array(values)) } else { values.pop() }
}

/// Returns the origin of a setting's value.
fn origin(argument: &Arg, long: &str, command: &str, matches: &ArgMatches, file: Option<&ConfigurationFile>) -> String {
    match matches.value_source(argument.get_id().as_str()) {
        Some(ValueSource::CommandLine) => "flag".to_owned(),
        Some(ValueSource::EnvVariable) => {
            format!("environment variable {}", argument.get_env().unwrap_or_default().display())
        }
        _ => match file.filter(|file| file.gives(long, command)) {
            Some(file) => file.path.display().to_string(),
            None => "default".to_owned(),
        },
    }
}
