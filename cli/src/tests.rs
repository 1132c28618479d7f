//! Compares the settings in `docs/configuration.md` with the command line.

use std::{fmt::Write as _, path::Path};

use clap::{Arg, Command, CommandFactory as _};

use crate::commands::Cli;

/// Variable that rewrites the page instead of comparing it. Set by `tools/scripts/write-reference`.
const WRITE: &str = "COMPLIANCE_WRITE_REFERENCE";
const BEGIN: &str = "<!-- generated: settings -->\n";
const END: &str = "<!-- end -->";

#[test]
fn committed_configuration_page_is_current() {
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
        "docs/configuration.md differs from the command line: run tools/scripts/write-reference"
    );
}

fn settings() -> String {
    let program = Cli::command();
    let mut sections = vec![("Every command".to_owned(), "Flags of all commands.".to_owned(), &program)];
    program.get_subcommands().for_each(|command| add("compliance", command, &mut sections));
    let mut text = String::new();
    // Table rows, each with the title of its section. If a row already appears in an earlier section, later sections only name it.
    let mut rows: Vec<(String, String)> = Vec::new();
    for (title, about, command) in sections {
        let _ = write!(text, "\n## {title}\n\n{}\n", sentence(&about));
        let (mut table, mut heading) = (String::new(), None);
        let mut known: Vec<(String, Vec<String>)> = Vec::new();
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            let row = row(argument);
            if let Some((_, section)) = rows.iter().find(|(described, _)| *described == row) {
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
            rows.push((row, title.clone()));
        }
        if !table.is_empty() {
            let _ = write!(text, "\n| Flag | Variable | Default | Value | Meaning |\n|---|---|---|---|---|\n{table}");
        }
        for (section, names) in known {
            let _ = write!(text, "\nSame as in {section}: {}.\n", names.join(", "));
        }
    }
    text
}

/// Adds a section for a command and each of its subcommands: title, description and command.
fn add<'c>(parent: &str, command: &'c Command, sections: &mut Vec<(String, String, &'c Command)>) {
    let name = format!("{parent} {}", command.get_name());
    let about = command.get_long_about().or(command.get_about()).unwrap().to_string();
    sections.push((format!("`{name}`"), about, command));
    command.get_subcommands().for_each(|command| add(&name, command, sections));
}

fn row(argument: &Arg) -> String {
    let variable = argument.get_env().map(|name| format!("`{}`", name.display())).unwrap_or_default();
    let quoted = |texts: Vec<String>| texts.iter().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(", ");
    let takes_value = argument.get_action().takes_values();
    let defaults = argument.get_default_values().iter().map(|value| value.display().to_string()).collect();
    let default = match quoted(defaults) {
        _ if !takes_value => "off".to_owned(),
        none if none.is_empty() && argument.is_required_set() => "required".to_owned(),
        defaults => defaults,
    };
    let choices = argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    let value = match quoted(choices) {
        _ if !takes_value => String::new(),
        none if none.is_empty() => argument.get_value_names().unwrap_or_default().join(" ").replace('|', "\\|"),
        choices => choices,
    };
    let meaning = argument.get_long_help().or(argument.get_help()).unwrap().to_string();
    let meaning = sentence(&meaning).replace("\n\n", " ").replace('|', "\\|");
    format!("| {} | {variable} | {default} | {value} | {meaning} |", name(argument))
}

/// Returns the flag, or the value name of a positional argument.
fn name(argument: &Arg) -> String {
    match (argument.get_long(), argument.get_value_names()) {
        (Some(long), _) => format!("`--{long}`"),
        (None, names) => format!("`{}`", names.unwrap_or_default().join(" ")),
    }
}

/// Returns the text with the final period that clap omits.
fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', ']', ':']) { text.to_owned() } else { format!("{text}.") }
}
