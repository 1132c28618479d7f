//! Rows that are copied into a table, in the binary format of PostgreSQL's `COPY`.

use sqlx::{error::BoxDynError, postgres::PgArgumentBuffer};

use super::{Attribute, Layouts, batch::Encoder};

/// How much is encoded before it is sent, in bytes. The server works on it while the next part is encoded.
const PART: usize = 64 << 10;
/// The signature of the format, no flags, and no extension of the header.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// What stands in place of the number of columns after the last row.
const END: i16 = -1;

/// How values of type `T` are copied into a table: `IDS` columns that are given beside the value, and those of the value.
pub(crate) struct Copy<T, const IDS: usize> {
    table: &'static str,
    ids: [&'static str; IDS],
    attributes: Vec<Attribute<T>>,
}

impl<T: 'static, const IDS: usize> Copy<T, IDS> {
    /// Values become rows of a table. Each attribute is the column of its name.
    pub(crate) fn new(
        table: &'static str,
        ids: [&'static str; IDS],
        attributes: impl IntoIterator<Item = Attribute<T>>,
    ) -> Self {
        Self { table, ids, attributes: attributes.into_iter().collect() }
    }

    /// Rows to be copied: their IDs, and their values. Only the columns that `is_given` names are sent, which saves time;
    /// the others are null.
    pub(crate) fn rows<'r, I: Iterator<Item = ([i64; IDS], &'r T)>>(
        &self,
        is_given: impl Fn(&str) -> bool,
        rows: I,
    ) -> Rows<'_, T, I, IDS> {
        let attributes: Vec<_> = self.attributes.iter().filter(|attribute| is_given(attribute.name)).collect();
        let names: Vec<&str> = self.ids.into_iter().chain(attributes.iter().map(|attribute| attribute.name)).collect();
        let statement = format!("copy {} ({}) from stdin (format binary)", self.table, names.join(", "));
        let mut buffer = PgArgumentBuffer::default();
        buffer.extend_from_slice(HEADER);
        Rows { statement, columns: names.len() as i16, attributes, pending: rows, buffer, is_complete: false }
    }
}

/// Rows to be copied, encoded in parts.
pub(crate) struct Rows<'c, T, I, const IDS: usize> {
    statement: String,
    columns: i16,
    attributes: Vec<&'c Attribute<T>>,
    /// The rows that are not encoded yet.
    pending: I,
    buffer: PgArgumentBuffer,
    is_complete: bool,
}

impl<'r, T: 'static, I: Iterator<Item = ([i64; IDS], &'r T)>, const IDS: usize> Rows<'_, T, I, IDS> {
    pub(crate) fn statement(&self) -> &str {
        &self.statement
    }

    /// The next part of what is sent, after which the part before is no longer needed. `None` at the end.
    pub(crate) fn next_part(&mut self) -> Result<Option<&[u8]>, sqlx::Error> {
        if self.is_complete {
            return Ok(None);
        }
        // The first part has the header.
        if self.buffer.len() > HEADER.len() {
            self.buffer.clear();
        }
        while self.buffer.len() < PART && !self.is_complete {
            if let Some((ids, value)) = self.pending.next() {
                self.encode(ids, value).map_err(sqlx::Error::Encode)?;
            } else {
                self.buffer.extend_from_slice(&END.to_be_bytes());
                self.is_complete = true;
            }
        }
        Ok(Some(&self.buffer))
    }

    fn encode(&mut self, ids: [i64; IDS], value: &T) -> Result<(), BoxDynError> {
        self.buffer.extend_from_slice(&self.columns.to_be_bytes());
        // Only lists of composite values need layouts, and no table has such a column.
        let layouts = Layouts::default();
        let mut encoder = Encoder { buffer: &mut self.buffer, layouts: &layouts };
        for id in ids {
            encoder.value(Some(id))?;
        }
        self.attributes.iter().try_for_each(|attribute| (attribute.write)(value, &mut encoder))
    }
}
