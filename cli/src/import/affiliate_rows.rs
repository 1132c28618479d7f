//! The affiliates of a file, in either format.

use serde_json::Value;

use super::{
    lines::Lines,
    mapping::{Mapping, Target},
    report::{Position, RowError},
    row::{Row, takes_flag, takes_number},
    source::{InputFormat, Source},
    table::Table,
};

/// The affiliates of a file.
pub(super) enum Rows {
    Table(Table),
    Lines(Lines, Mapping),
}

impl Rows {
    pub(super) fn of(source: &Source, format: InputFormat, mapping: Mapping) -> anyhow::Result<Self> {
        Ok(match format {
            InputFormat::Csv => Self::Table(Table::of(source, &mapping)?),
            InputFormat::Ndjson => Self::Lines(Lines::of(source)?, mapping),
        })
    }

    /// The next `most` rows, each validated; fewer at the end, and none after it.
    pub(super) fn batch(&mut self, most: usize) -> anyhow::Result<Vec<Row>> {
        let mut batch = Vec::with_capacity(most);
        while batch.len() < most {
            let row = match self {
                Self::Table(table) => table.next()?,
                Self::Lines(lines, mapping) => lines.next()?.map(|(position, line)| affiliate(position, line, mapping)),
            };
            let Some(mut row) = row else { break };
            row.check();
            batch.push(row);
        }
        Ok(batch)
    }
}

/// The affiliate of a line. Keys are names of fields, as they are written or as they are read. Null clears a field.
fn affiliate(position: Position, line: &[u8], mapping: &Mapping) -> Row {
    let mut row = Row::at(position);
    let object = match serde_json::from_slice(line) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return row.with(RowError::of_row("The line is no JSON object.")),
        Err(error) => return row.with(RowError::of_row(format!("The line is no JSON: {error}."))),
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
                row.errors.push(RowError::new(&key, &other.to_string(), reason));
            }
            (None, other) => {
                let reason = format!("There is no field of this name; leave it out with --map \"{key}=\".");
                row.errors.push(RowError::new(&key, &other.to_string(), reason));
            }
        }
    }
    row
}
