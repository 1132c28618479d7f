//! Rows for PostgreSQL's `COPY`, in its binary format.

use sqlx::{error::BoxDynError, postgres::PgArgumentBuffer};

use super::{Attribute, Layouts, encoder::Encoder};

use crate::limits::COPY_PART;

/// The signature of the format, no flags, and no extension of the header.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// Replaces the number of columns after the last row.
const END: i16 = -1;

/// Rows that are encoded in parts. Each has a company, an ID, and a value with the other columns.
pub struct Rows<'r, T, I> {
    /// `COPY` statement.
    pub statement: String,
    attributes: Vec<&'r Attribute<T>>,
    pending: I,
    buffer: PgArgumentBuffer,
    is_complete: bool,
}

impl<'r, T: 'static, I: Iterator<Item = ([i64; 2], &'r T)>> Rows<'r, T, I> {
    /// Copies rows into a table. Each attribute is the column of its name, and other columns are null.
    pub fn new(table: &str, attributes: Vec<&'r Attribute<T>>, rows: I) -> Self {
        let names: String = attributes.iter().flat_map(|attribute| [", ", attribute.name]).collect();
        let statement = format!("copy {table} (company_id, id{names}) from stdin (format binary)");
        let mut buffer = PgArgumentBuffer::default();
        buffer.extend_from_slice(HEADER);
        Self { statement, attributes, pending: rows, buffer, is_complete: false }
    }

    /// Returns the next part, in the same buffer as the part before. `None` at the end.
    pub fn next_part(&mut self) -> Result<Option<&[u8]>, sqlx::Error> {
        if self.is_complete {
            return Ok(None);
        }
        // The first part begins with the header, which is already in the buffer.
        if self.buffer.len() > HEADER.len() {
            self.buffer.clear();
        }
        while self.buffer.len() < COPY_PART && !self.is_complete {
            if let Some((ids, value)) = self.pending.next() {
                self.encode(ids, value).map_err(sqlx::Error::Encode)?;
            } else {
                self.buffer.extend_from_slice(&END.to_be_bytes());
                self.is_complete = true;
            }
        }
        Ok(Some(&self.buffer))
    }

    fn encode(&mut self, ids: [i64; 2], value: &T) -> Result<(), BoxDynError> {
        let columns = ids.len() + self.attributes.len();
        self.buffer.extend_from_slice(&(columns as i16).to_be_bytes());
        // Only lists of composite values need layouts, and no table has such a column.
        let layouts = Layouts::default();
        let mut encoder = Encoder { buffer: &mut self.buffer, layouts: &layouts };
        for id in ids {
            encoder.value(Some(id))?;
        }
        self.attributes.iter().try_for_each(|attribute| (attribute.write)(value, &mut encoder))
    }
}
