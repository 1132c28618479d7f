//! The configuration file, and the arguments and the environment that it depends on.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use clap::{Arg, ArgMatches, Command, parser::ValueSource};
use toml::{Table, Value};

/// Maximum size of the file, in bytes.
const MAX_BYTES: u64 = 1 << 20;

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
    command: Option<String>,
    /// The settings that flags or variables give.
    settings: BTreeSet<String>,
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

/// The values of one setting. A list has several.
type Values = Vec<String>;

/// A file of settings. Settings at its top are for every command. Settings in a table are for the command of that name, and take
/// precedence.
#[derive(Debug)]
pub(super) struct ConfigurationFile {
    pub(super) path: PathBuf,
    common: BTreeMap<String, Values>,
    commands: BTreeMap<String, BTreeMap<String, Values>>,
    /// Pairs of settings that exclude each other.
    exclusive: BTreeSet<(String, String)>,
}

impl ConfigurationFile {
    /// Reads a file. Fails if it is not TOML, or has a key that is not a setting. The error shows no values: they may be secrets.
    pub(super) fn read(path: &Path, program: &Command) -> anyhow::Result<Self> {
        let shown = path.display();
        let size = std::fs::metadata(path).with_context(|| format!("cannot read the configuration file {shown}"));
        if size?.len() > MAX_BYTES {
            bail!("the configuration file {shown} is larger than {MAX_BYTES} bytes");
        }
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| anyhow::anyhow!("cannot read the configuration file {shown}: {error}"))?;
        let mut file = Self {
            path: path.to_owned(),
            common: BTreeMap::new(),
            commands: BTreeMap::new(),
            exclusive: exclusive(program),
        };
        file.fill(&text, program).map_err(|error| anyhow::anyhow!("{shown}: {error}"))?;
        Ok(file)
    }

    fn fill(&mut self, text: &str, program: &Command) -> anyhow::Result<()> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            let before = text.get(..error.span().map_or(0, |span| span.start)).unwrap_or_default();
            anyhow::anyhow!("line {}: {}", before.matches('\n').count() + 1, error.message())
        })?;
        let all = settings(program);
        for (key, value) in table {
            match value {
                Value::Table(table) => {
                    let Some(command) = program.find_subcommand(&key) else {
                        bail!("[{key}] is not the name of a command");
                    };
                    // The settings of the program are global.
                    let own = own_settings(program).chain(settings(command)).collect();
                    let values = table.into_iter().map(|(key, value)| checked(program, key, &value, &own));
                    self.commands.insert(key, values.collect::<anyhow::Result<_>>()?);
                }
                value => {
                    let (key, values) = checked(program, key, &value, &all)?;
                    self.common.insert(key, values);
                }
            }
        }
        // The values become defaults, which clap does not check for conflicts.
        for table in self.commands.values().chain([&self.common]) {
            let both = self.exclusive.iter().find(|(one, other)| table.contains_key(one) && table.contains_key(other));
            if let Some((one, other)) = both {
                bail!("\"{one}\" and \"{other}\" cannot both be given");
            }
        }
        Ok(())
    }

    /// Makes the values defaults of the command line. Global settings have the values of the chosen command's table.
    pub(super) fn apply(&self, program: Command, given: &Given) -> Command {
        let chosen = given.command.as_deref();
        program.mut_args(|argument| self.with_default(argument, chosen, given)).mut_subcommands(|command| {
            let name = command.get_name().to_owned();
            self.apply_to(command, &name, given)
        })
    }

    fn apply_to(&self, command: Command, name: &str, given: &Given) -> Command {
        let command = command.mut_args(|argument| self.with_default(argument, Some(name), given));
        command.mut_subcommands(|subcommand| self.apply_to(subcommand, name, given))
    }

    fn with_default(&self, argument: Arg, command: Option<&str>, given: &Given) -> Arg {
        let long = argument.get_long().filter(|_| is_setting(&argument));
        // A flag or variable takes precedence over a setting that it excludes.
        let long = long.filter(|long| !self.excludes(long, |other| given.settings.contains(other)));
        match long.and_then(|long| self.values(long, command)) {
            Some(values) => {
                let values = values.clone();
                argument.default_values(values).required(false)
            }
            None => argument,
        }
    }

    /// Returns the values of a setting for a command.
    fn values(&self, setting: &str, command: Option<&str>) -> Option<&Values> {
        let table = command.and_then(|command| self.commands.get(command));
        let own = table.and_then(|table| table.get(setting));
        let is_excluded = table.is_some_and(|table| self.excludes(setting, |other| table.contains_key(other)));
        own.or_else(|| self.common.get(setting).filter(|_| !is_excluded))
    }

    /// Whether a given setting excludes this one.
    fn excludes(&self, setting: &str, is_given: impl Fn(&str) -> bool) -> bool {
        self.exclusive.iter().any(|(one, other)| setting == one && is_given(other) || setting == other && is_given(one))
    }

    /// Returns the commands that have a table.
    pub(super) fn commands(&self) -> impl Iterator<Item = &str> {
        self.commands.keys().map(String::as_str)
    }

    /// Whether the file gives a setting for a command.
    pub(super) fn gives(&self, setting: &str, command: &str) -> bool {
        self.values(setting, Some(command)).is_some()
    }

    /// Whether the file gives this value to a setting, for any command.
    pub(super) fn has(&self, setting: &str, value: &str) -> bool {
        let tables = self.commands.values().chain([&self.common]);
        tables.filter_map(|table| table.get(setting)).any(|values| values.iter().any(|given| given == value))
    }
}

/// Returns pairs of settings of a command that exclude each other. Subcommands are included.
fn exclusive(command: &Command) -> BTreeSet<(String, String)> {
    let own = command.get_arguments().filter(|argument| is_setting(argument)).flat_map(|argument| {
        let others = command.get_arg_conflicts_with(argument).into_iter().filter(|other| is_setting(other));
        others.filter_map(|other| Some((argument.get_long()?.to_owned(), other.get_long()?.to_owned())))
    });
    own.chain(command.get_subcommands().flat_map(exclusive)).collect()
}

/// Returns the settings of a command, without its subcommands.
fn own_settings(command: &Command) -> impl Iterator<Item = &str> {
    command.get_arguments().filter(|argument| is_setting(argument)).filter_map(Arg::get_long)
}

/// Returns the settings of a command and its subcommands.
fn settings(command: &Command) -> BTreeSet<&str> {
    own_settings(command).chain(command.get_subcommands().flat_map(settings)).collect()
}

/// Returns a setting with its values. Fails if it is not allowed.
fn checked(
    program: &Command,
    key: String,
    value: &Value,
    allowed: &BTreeSet<&str>,
) -> anyhow::Result<(String, Values)> {
    if !allowed.contains(key.as_str()) {
        let others = program.get_subcommands().filter(|command| settings(command).contains(key.as_str()));
        let others: Vec<&str> = others.map(Command::get_name).collect();
        if others.is_empty() {
            bail!("\"{key}\" is not a setting; settings have the names of the flags, such as \"log\"");
        }
        bail!("\"{key}\" is not a setting of this command, but of {}", others.join(", "));
    }
    let values = match value {
        Value::Array(values) => values.iter().map(scalar).collect(),
        value => scalar(value).map(|value| vec![value]),
    };
    let values =
        values.with_context(|| format!("\"{key}\" is not a text, a whole number, a boolean or a list of these"));
    Ok((key, values?))
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Boolean(boolean) => Some(boolean.to_string()),
        _ => None,
    }
}
