//! Writes lists record by record.

use std::io;

use axum::BoxError;
use compliance_api::{csv_cell::Escape, description::Message, json::lines, v1::PageMeta};
use csv::{QuoteStyle, Terminator, Writer, WriterBuilder};
use serde::Serialize;

use crate::{accept::Format, envelope::Envelope};

/// A document that is written record by record.
pub(crate) struct ListFormat {
    format: Format,
    /// Message in the JSON envelope.
    msg: &'static str,
    /// Page metadata in the JSON envelope.
    meta: Option<PageMeta>,
    /// Record fields that become CSV columns.
    columns: Vec<&'static str>,
    is_first: bool,
}

impl ListFormat {
    /// Creates a list of records, given the name of their contract message. `msg` is the envelope's message.
    pub(crate) fn of(format: Format, msg: &'static str, record: &str) -> Self {
        let fields = Message::of(record).map_or(&[][..], |message| message.fields);
        let columns = fields.iter().filter(|field| field.form != "omitted").map(|field| field.name).collect();
        Self { format, msg, meta: None, columns, is_first: true }
    }

    /// Creates a JSON envelope with this message and page metadata.
    pub(crate) fn envelope(msg: &'static str, meta: Option<PageMeta>) -> Self {
        Self { format: Format::Json, msg, meta, columns: Vec::new(), is_first: true }
    }

    pub(crate) fn content_type(&self) -> &'static str {
        match self.format {
            Format::Json => "application/json",
            Format::Ndjson => "application/x-ndjson",
            Format::Csv(Escape::Formulas) => "text/csv; charset=utf-8; header=present",
            Format::Csv(Escape::None) => "text/csv; charset=utf-8; header=present; escape=none",
        }
    }

    /// Writes the part before the first record.
    pub(super) fn begin(&self, chunk: &mut Vec<u8>) -> Result<(), BoxError> {
        match self.format {
            Format::Json => {
                serde_json::to_writer(&mut *chunk, &Envelope::found(self.msg, &[(); 0], None))?;
                chunk.truncate(chunk.len() - "]}".len());
            }
            Format::Ndjson => {}
            Format::Csv(_) => row(chunk, self.columns.iter().copied())?,
        }
        Ok(())
    }

    pub(super) fn add(&mut self, chunk: &mut Vec<u8>, record: &impl Serialize) -> Result<(), BoxError> {
        match self.format {
            Format::Json => {
                if !std::mem::take(&mut self.is_first) {
                    chunk.push(b',');
                }
                serde_json::to_writer(chunk, record)?;
            }
            Format::Ndjson => {
                lines::write(&mut *chunk, record)?;
                chunk.push(b'\n');
            }
            Format::Csv(escape) => {
                let record = serde_json::to_value(record)?;
                row(chunk, self.columns.iter().map(|column| escape.of_json(record.get(column))))?;
            }
        }
        Ok(())
    }

    /// Writes the part after the last record.
    pub(super) fn end(&self, chunk: &mut Vec<u8>) -> Result<(), BoxError> {
        if self.format == Format::Json {
            chunk.push(b']');
            if let Some(meta) = self.meta {
                chunk.extend_from_slice(br#","meta":"#);
                serde_json::to_writer(&mut *chunk, &meta)?;
            }
            chunk.push(b'}');
        }
        Ok(())
    }
}

fn row<C: AsRef<str>>(chunk: &mut Vec<u8>, cells: impl Iterator<Item = C>) -> Result<(), BoxError> {
    let cells: Vec<C> = cells.collect();
    // Some spreadsheets split unquoted cells at these characters, and a formula could begin after them.
    let is_split = cells.iter().any(|cell| cell.as_ref().contains([';', '\t']));
    let style = if is_split { QuoteStyle::NonNumeric } else { QuoteStyle::Necessary };
    let mut writer: Writer<&mut Vec<u8>> =
        WriterBuilder::new().terminator(Terminator::CRLF).quote_style(style).from_writer(chunk);
    for cell in &cells {
        writer.write_field(cell.as_ref())?;
    }
    writer.write_record(None::<&[u8]>)?;
    writer.flush().map_err(io::Error::into)
}

#[cfg(test)]
mod tests {
    use super::row;

    #[test]
    fn rows_with_semicolons_or_tabs_are_quoted() {
        let mut chunk = Vec::new();
        for cells in [["5", "x;=1+1", "a"], ["6", "x\t=1+1", "a"], ["7", "x,y", "a"]] {
            row(&mut chunk, cells.into_iter()).unwrap();
        }
        let text = String::from_utf8(chunk).unwrap();
        assert_eq!(text, "5,\"x;=1+1\",\"a\"\r\n6,\"x\t=1+1\",\"a\"\r\n7,\"x,y\",a\r\n");
    }
}
