//! The settings in `docs/configuration.md`, made from the description of the command line.

use std::{fmt::Write as _, path::Path};

use clap::{Arg, Command, CommandFactory as _};

use super::Cli;

/// Set to rewrite the page instead of comparing with it: `scripts/write-reference`.
const WRITE: &str = "COMPLIANCE_WRITE_REFERENCE";
const BEGIN: &str = "<!-- generated: settings -->\n";
const END: &str = "<!-- end -->";

#[test]
fn the_committed_page_has_every_setting() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/configuration.md");
    let committed = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = committed.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let expected = format!("{before}{BEGIN}{}{END}{after}", settings());
    if std::env::var_os(WRITE).is_some() {
        return std::fs::write(path, expected).unwrap();
    }
    assert!(
        committed == expected,
        "docs/configuration.md differs from the command line; scripts/write-reference rewrites it"
    );
}

fn settings() -> String {
    let program = Cli::command();
    let mut reference = Reference::default();
    reference.add("Every command", "Flags of all commands.", &program);
    for command in program.get_subcommands() {
        reference.add_command("compliance", command);
    }
    reference.text
}

/// The page so far.
#[derive(Default)]
struct Reference {
    text: String,
    /// Rows of the tables, each with the name of its section.
    rows: Vec<(String, String)>,
}

impl Reference {
    fn add_command(&mut self, parent: &str, command: &Command) {
        let name = format!("{parent} {}", command.get_name());
        let about = command.get_long_about().or(command.get_about()).unwrap().to_string();
        self.add(&format!("`{name}`"), &about, command);
        for subcommand in command.get_subcommands() {
            self.add_command(&name, subcommand);
        }
    }

    /// Adds a section. A setting that another section describes in the same words is only named.
    fn add(&mut self, title: &str, about: &str, command: &Command) {
        let _ = write!(self.text, "\n## {title}\n\n{}\n", sentence(about));
        let (mut table, mut heading) = (String::new(), None);
        let mut known: Vec<(String, Vec<String>)> = Vec::new();
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            let row = row(argument);
            if let Some((_, section)) = self.rows.iter().find(|(described, _)| *described == row) {
                match known.iter_mut().find(|(of, _)| of == section) {
                    Some((_, names)) => names.push(name(argument)),
                    None => known.push((section.clone(), vec![name(argument)])),
                }
                continue;
            }
            if heading != argument.get_help_heading() {
                heading = argument.get_help_heading();
                let _ = writeln!(table, "| **{}** | | | | |", heading.unwrap_or("Others"));
            }
            let _ = writeln!(table, "{row}");
            self.rows.push((row, title.to_owned()));
        }
        if !table.is_empty() {
            let _ =
                write!(self.text, "\n| Flag | Variable | Default | Value | Meaning |\n|---|---|---|---|---|\n{table}");
        }
        for (section, names) in known {
            let _ = write!(self.text, "\nAs for {section}: {}.\n", names.join(", "));
        }
    }
}

fn row(argument: &Arg) -> String {
    let variable = argument.get_env().map(|name| format!("`{}`", name.display())).unwrap_or_default();
    let takes_value = argument.get_action().takes_values();
    let defaults: Vec<String> =
        argument.get_default_values().iter().map(|value| format!("`{}`", value.display())).collect();
    let default = match defaults.as_slice() {
        _ if !takes_value => "off".to_owned(),
        [] if argument.is_required_set() => "required".to_owned(),
        _ => defaults.join(", "),
    };
    let choices: Vec<String> =
        argument.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
    let value = match argument.get_value_names() {
        _ if !takes_value => String::new(),
        _ if !choices.is_empty() => choices.join(", "),
        Some(names) => names.join(" "),
        None => String::new(),
    };
    let meaning = argument.get_long_help().or(argument.get_help()).unwrap().to_string();
    let meaning = sentence(&meaning).replace("\n\n", " ").replace('|', "\\|");
    format!("| {} | {variable} | {default} | {value} | {meaning} |", name(argument))
}

/// The flag, or the name of a value that has none.
fn name(argument: &Arg) -> String {
    match (argument.get_long(), argument.get_value_names()) {
        (Some(long), _) => format!("`--{long}`"),
        (None, names) => format!("`{}`", names.unwrap_or_default().join(" ")),
    }
}

/// The text with the full stop that the command line leaves out.
fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', ']', ':']) { text.to_owned() } else { format!("{text}.") }
}
