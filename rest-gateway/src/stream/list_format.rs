//! The formats of lists, written one record after another.

use std::io;

use axum::BoxError;
use compliance_api::{csv_cell::Escape, description::Message, json::lines, v1::PageMeta};
use csv::{Terminator, Writer, WriterBuilder};
use serde::Serialize;

use crate::{accept::Format, envelope::Envelope};

/// A document that is written while its records arrive.
pub(crate) enum ListFormat {
    Json {
        /// The message of the envelope.
        msg: &'static str,
        meta: Option<PageMeta>,
        is_first: bool,
    },
    Ndjson,
    Csv {
        /// The fields of a record.
        columns: Vec<&'static str>,
        escape: Escape,
    },
}

impl ListFormat {
    /// An envelope with this message, and the position of a page.
    pub(crate) fn envelope(msg: &'static str, meta: Option<PageMeta>) -> Self {
        Self::Json { msg, meta, is_first: true }
    }

    /// A list of records, by the name of their message in the contract. `msg` is the message of an envelope.
    pub(crate) fn of(format: Format, msg: &'static str, record: &str) -> Self {
        match format {
            Format::Json => Self::envelope(msg, None),
            Format::Ndjson => Self::Ndjson,
            Format::Csv(escape) => {
                let fields = Message::of(record).map_or(&[][..], |message| message.fields);
                let written = fields.iter().filter(|field| field.form != "omitted");
                Self::Csv { columns: written.map(|field| field.name).collect(), escape }
            }
        }
    }

    pub(crate) fn content_type(&self) -> &'static str {
        match self {
            Self::Json { .. } => "application/json",
            Self::Ndjson => "application/x-ndjson",
            Self::Csv { escape: Escape::Formulas, .. } => "text/csv; charset=utf-8; header=present",
            Self::Csv { escape: Escape::None, .. } => "text/csv; charset=utf-8; header=present; escape=none",
        }
    }

    /// Writes the part before the first record.
    pub(super) fn begin(&self, chunk: &mut Vec<u8>) -> Result<(), BoxError> {
        match self {
            Self::Json { msg, .. } => {
                serde_json::to_writer(&mut *chunk, &Envelope::found(msg, &[(); 0], None))?;
                chunk.truncate(chunk.len() - "]}".len());
            }
            Self::Ndjson => {}
            Self::Csv { columns, .. } => row(chunk, columns.iter().copied())?,
        }
        Ok(())
    }

    pub(super) fn add(&mut self, chunk: &mut Vec<u8>, record: &impl Serialize) -> Result<(), BoxError> {
        match self {
            Self::Json { is_first, .. } => {
                if !std::mem::take(is_first) {
                    chunk.push(b',');
                }
                serde_json::to_writer(chunk, record)?;
            }
            Self::Ndjson => {
                lines::write(&mut *chunk, record)?;
                chunk.push(b'\n');
            }
            Self::Csv { columns, escape } => {
                let record = serde_json::to_value(record)?;
                row(chunk, columns.iter().map(|column| escape.of_json(record.get(column))))?;
            }
        }
        Ok(())
    }

    /// Writes the part after the last record.
    pub(super) fn end(&self, chunk: &mut Vec<u8>) -> Result<(), BoxError> {
        if let Self::Json { meta, .. } = self {
            chunk.push(b']');
            if let Some(meta) = meta {
                chunk.extend_from_slice(br#","meta":"#);
                serde_json::to_writer(&mut *chunk, meta)?;
            }
            chunk.push(b'}');
        }
        Ok(())
    }
}

fn row<C: AsRef<str>>(chunk: &mut Vec<u8>, cells: impl Iterator<Item = C>) -> Result<(), BoxError> {
    let mut writer: Writer<&mut Vec<u8>> = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(chunk);
    for cell in cells {
        writer.write_field(cell.as_ref())?;
    }
    writer.write_record(None::<&[u8]>)?;
    writer.flush().map_err(io::Error::into)
}
