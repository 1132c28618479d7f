//! Copies rows in PostgreSQL's binary `COPY` format.

use sqlx::{PgConnection, error::BoxDynError, postgres::PgArgumentBuffer};

use super::encoder::{Attribute, Encoder, Layouts};
use crate::limits::COPY_PART;

/// Format signature, with no flags and no header extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// End marker, sent instead of another row's column count.
const END: i16 = -1;

/// Copies rows into a table, in an open transaction.
///
/// Each row contains a company, an ID, and a value. Each attribute of the value fills the column of the same name. Other columns are null.
pub async fn copy<'r, T: 'static>(
    connection: &mut PgConnection,
    table: &str,
    attributes: &[&Attribute<T>],
    rows: impl Iterator<Item = ([i64; 2], &'r T)>,
) -> Result<(), sqlx::Error> {
    let names: String = attributes.iter().flat_map(|attribute| [", ", attribute.name]).collect();
    let statement = format!("copy {table} (company_id, id{names}) from stdin (format binary)");
    let mut copy = connection.copy_in_raw(&statement).await?;
    let mut buffer = PgArgumentBuffer::default();
    buffer.extend_from_slice(HEADER);
    for (ids, value) in rows {
        encode(&mut buffer, ids, attributes, value).map_err(sqlx::Error::Encode)?;
        if buffer.len() >= COPY_PART {
            copy.send(buffer.as_slice()).await?;
            buffer.clear();
        }
    }
    buffer.extend_from_slice(&END.to_be_bytes());
    copy.send(buffer.as_slice()).await?;
    copy.finish().await.map(drop)
}

fn encode<T: 'static>(
    buffer: &mut PgArgumentBuffer,
    ids: [i64; 2],
    attributes: &[&Attribute<T>],
    value: &T,
) -> Result<(), BoxDynError> {
    buffer.extend_from_slice(&((ids.len() + attributes.len()) as i16).to_be_bytes());
    // Only lists of composite values need layouts, and no table has such a column.
    let mut encoder = Encoder { buffer, layouts: &Layouts::default() };
    for id in ids {
        encoder.value(Some(id))?;
    }
    attributes.iter().try_for_each(|attribute| (attribute.write)(value, &mut encoder))
}
