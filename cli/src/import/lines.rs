//! NDJSON: one object a line.

use std::io::BufRead;

use anyhow::Context as _;
use serde_json::Value;

use super::{
    affiliate_rows::{Row, takes_flag, takes_number},
    mapping::{Mapping, Target},
    report::{Fault, Place},
    source::{Meter, Source},
};

/// The lines of a file that hold something.
pub(super) struct Lines {
    text: Box<dyn BufRead + Send>,
    meter: Meter,
    place: Place,
    line: Vec<u8>,
}

impl Lines {
    pub(super) fn of(source: &Source) -> anyhow::Result<Self> {
        let text = source.text().context("the file cannot be read")?;
        Ok(Self { text, meter: source.meter.clone(), place: Place { row: 0, line: 0 }, line: Vec::new() })
    }

    /// The next line and where it stands.
    pub(super) fn next(&mut self) -> anyhow::Result<Option<(Place, &[u8])>> {
        loop {
            self.line.clear();
            let read = self.text.read_until(b'\n', &mut self.line);
            if read.with_context(|| format!("line {} cannot be read", self.place.line + 1))? == 0 {
                return Ok(None);
            }
            self.meter.row_ends();
            self.place.line += 1;
            if self.line.iter().any(|byte| !byte.is_ascii_whitespace()) {
                self.place.row += 1;
                return Ok(Some((self.place, self.line.trim_ascii())));
            }
        }
    }
}

/// An affiliate of a line. Keys are the fields' names, or those of the read form; null clears.
pub(super) fn affiliate(place: Place, line: &[u8], mapping: &Mapping) -> Row {
    let mut row = Row::at(place);
    let object = match serde_json::from_slice(line) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return row.with(Fault::of_row("The line is no JSON object.")),
        Err(error) => return row.with(Fault::of_row(format!("The line is no JSON: {error}."))),
    };
    for (key, value) in object {
        match (mapping.target(&key), value) {
            (Some(Target::Nothing), _) => {}
            (Some(Target::Field(field)), Value::String(text)) => row.set(field, Some(text)),
            (Some(Target::Field(field)), Value::Null) => row.set(field, None),
            (Some(Target::Field(field)), Value::Number(number)) if takes_number(field) => {
                row.set(field, Some(number.to_string()));
            }
            (Some(Target::Field(field)), Value::Bool(flag)) if takes_flag(field) => {
                row.set(field, Some(flag.to_string()));
            }
            (Some(Target::Field(field)), other) => {
                let reason = format!("The {} field must be {}.", key.replace('_', " "), field.expected());
                row.faults.push(Fault::new(&key, &other.to_string(), reason));
            }
            (None, other) => {
                let reason = format!("There is no field of this name; leave it out with --map \"{key}=\".");
                row.faults.push(Fault::new(&key, &other.to_string(), reason));
            }
        }
    }
    row
}
