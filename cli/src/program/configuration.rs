//! The settings of a command: flags, environment variables and a configuration file, in this order of precedence.
//!
//! The values of the file become defaults of the command line, so the same code parses and checks them.

mod file;
mod print;

use std::{
    ffi::OsString,
    io::Write as _,
    path::{Path, PathBuf},
    process::exit,
};

use clap::{
    Arg, Args, Command, CommandFactory, FromArgMatches,
    error::{ContextKind, ContextValue},
};

use self::file::{CONFIG, ConfigurationFile, first_look, ignore_empty_variables, subcommand};

/// The exit status for wrong settings.
pub(crate) const WRONG_SETTING: u8 = 2;

/// Where settings come from, and how they are shown.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Configuration")]
pub(crate) struct ConfigurationArgs {
    /// TOML file with settings that are named like the flags. Flags and environment variables take precedence.
    #[arg(id = CONFIG, long, env = "COMPLIANCE_CONFIG", value_name = "FILE", global = true)]
    file: Option<PathBuf>,
    /// Print every setting of the command with its origin, as a configuration file, and exit. Secrets are hidden.
    #[arg(id = PRINT, long = "print-config", global = true)]
    print: bool,
}

impl ConfigurationArgs {
    /// The configuration file.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the commands of a program that have a table in the file.
    pub(crate) fn commands(&self, program: &Command) -> Vec<String> {
        let file = self.file.as_deref().and_then(|path| ConfigurationFile::read(path, program).ok());
        file.map(|file| file.commands().map(str::to_owned).collect()).unwrap_or_default()
    }
}

/// The prefix of variable names.
const PREFIX: &str = "COMPLIANCE_";
/// A variable that is not a setting of a command.
const POSTGRES_BIN: &str = "COMPLIANCE_POSTGRES_BIN";
const PRINT: &str = "print-config";

/// Parses `arguments`, program name first, with the environment and the configuration file. Exits the process with status
/// 2 and a message if they are invalid, and with 0 after help or `--print-config`.
///
/// An empty environment variable counts as absent: deployment tools often set a variable without a value.
pub(crate) fn parse<P: CommandFactory + FromArgMatches>(arguments: impl IntoIterator<Item = OsString>) -> P {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let read = with_file(P::command(), &arguments);
    let (program, file) = read.unwrap_or_else(|error| refuse(&format!("error: {error:#}\n")));
    let mut command = ignore_empty_variables(program.clone());
    let parsed = command.clone().try_get_matches_from(arguments);
    let mut matches = parsed.unwrap_or_else(|error| match origin_of_wrong_value(&error, &program, file.as_ref()) {
        Some(origin) => refuse(&format!("{error}\nThe value is {origin}.\n")),
        None => error.exit(),
    });
    if let Some((chosen, found)) = subcommand(&program, &matches)
        && found.get_flag(PRINT)
    {
        // Standard output may be closed.
        let _ = std::io::stdout().write_all(print::settings(&program, chosen, found, file.as_ref()).as_bytes());
        exit(0)
    }
    P::from_arg_matches_mut(&mut matches).unwrap_or_else(|error| error.format(&mut command).exit())
}

/// Parses arguments like [`parse`]. Returns the message of an error.
pub(crate) fn try_parse<P: CommandFactory + FromArgMatches>(arguments: &[OsString]) -> Result<P, String> {
    let (program, _) = with_file(P::command(), arguments).map_err(|error| format!("{error:#}"))?;
    let parsed = ignore_empty_variables(program).try_get_matches_from(arguments);
    let parsed = parsed.and_then(|mut matches| P::from_arg_matches_mut(&mut matches));
    // The other lines explain the usage.
    parsed
        .map_err(|error| error.to_string().lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned())
}

/// Applies the configuration file, if one is given, to the program. Its values become defaults.
fn with_file(program: Command, arguments: &[OsString]) -> anyhow::Result<(Command, Option<ConfigurationFile>)> {
    let given = first_look(&program, arguments);
    let Some(path) = &given.file else { return Ok((program, None)) };
    let file = ConfigurationFile::read(path, &program)?;
    Ok((file.apply(program, &given), Some(file)))
}

/// Returns environment variables that are named like settings and that no command has. They are not errors: deployment tools also set
/// variables for other programs.
pub(crate) fn unknown_variables(program: &Command) -> Vec<String> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut unknown: Vec<String> =
        names.filter(|name| name.starts_with(PREFIX) && name != POSTGRES_BIN && !is_variable(program, name)).collect();
    unknown.sort();
    unknown
}

fn is_variable(command: &Command, name: &str) -> bool {
    let own = command.get_arguments().filter_map(Arg::get_env).any(|variable| variable == name);
    own || command.get_subcommands().any(|subcommand| is_variable(subcommand, name))
}

/// Returns the origin of the value that an error rejects; `None` for the command line.
fn origin_of_wrong_value(error: &clap::Error, command: &Command, file: Option<&ConfigurationFile>) -> Option<String> {
    let Some(ContextValue::String(shown)) = error.get(ContextKind::InvalidArg) else { return None };
    let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) else { return None };
    let long = shown.strip_prefix("--")?.split([' ', '=']).next()?;
    let variable = find(command, long)?.get_env()?;
    if std::env::var_os(variable).is_some_and(|set| set == value.as_str()) {
        return Some(format!("in the environment variable {}", variable.display()));
    }
    let file = file.filter(|file| file.has(long, value))?;
    Some(format!("in {}", file.path.display()))
}

/// Finds a long flag in a command or its subcommands.
fn find<'a>(command: &'a Command, long: &str) -> Option<&'a Arg> {
    let own = command.get_arguments().find(|argument| argument.get_long() == Some(long));
    own.or_else(|| command.get_subcommands().find_map(|subcommand| find(subcommand, long)))
}

fn refuse(message: &str) -> ! {
    // Standard error may be closed; there is nowhere else to report to.
    let _ = std::io::stderr().write_all(message.as_bytes());
    exit(WRONG_SETTING.into())
}
