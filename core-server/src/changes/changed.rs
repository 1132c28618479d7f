//! The records of a whole list that have changed since a position.

use admission::{MEMORY_WAIT, Reservation};
use compliance_api::error::Error;
use sqlx::Row as _;

use super::positions::Positions;
use crate::{backend::Backend, lists::Source, quotas::QueueClass};
use storage::{
    database::{self, Connections},
    error::from_database,
};

/// Maximum number of changed records that one page looks for. Their IDs are a parameter of its statement.
const CHANGED_WINDOW: usize = 1000;
/// Maximum number of rows that are read to find changed records. If more follow a position, the whole list is read.
pub const CHANGED_ROWS: i64 = 50_000;
/// Maximum number of entries in these rows.
pub const CHANGED_ENTRIES: i64 = 200_000;

/// The statement that finds them, with the types of its parameters.
pub(crate) const STATEMENT: (&str, &str) =
    (concat!(include_str!("state.sql"), include_str!("changed.sql")), "bigint, bigint, smallint, bigint, bigint");

/// The IDs of changed records, ascending.
pub(crate) struct Changed {
    ids: Vec<i64>,
    _memory: Reservation,
}

impl Changed {
    /// The records of a table that were created or updated after a position.
    ///
    /// `None` without a position, or if so many changes follow it that reading all records is faster.
    pub(crate) async fn after(
        backend: &Backend,
        company_id: i64,
        resource: i16,
        position: Option<i64>,
    ) -> Result<Option<Self>, Error> {
        let Some(position) = position else { return Ok(None) };
        let Source { pool, mut memory, .. } = backend.source(company_id);
        memory.wait_to_grow(CHANGED_ENTRIES as usize * size_of::<i64>(), MEMORY_WAIT).await?;
        let read = async |pool: Connections| {
            let query = sqlx::query(STATEMENT.0).bind(company_id).bind(position).bind(resource);
            let row = query.bind(CHANGED_ROWS).bind(CHANGED_ENTRIES).fetch_one(&pool).await?;
            Ok::<(Positions, bool, Vec<i64>), _>((
                Positions::of(&row)?,
                row.try_get("is_complete")?,
                row.try_get("ids")?,
            ))
        };
        let (positions, is_complete, ids) = backend
            .with_permit(company_id, QueueClass::Statement, async {
                database::read(&pool, read).await.map_err(from_database)
            })
            .await?;
        positions.check(position)?;
        memory.shrink_to(size_of_val(&*ids));
        Ok(is_complete.then_some(Self { ids, _memory: memory }))
    }

    /// The IDs after an ID that one page can have.
    pub(crate) fn window(&self, after: i64) -> &[i64] {
        let next = &self.ids[self.ids.partition_point(|id| *id <= after)..];
        &next[..next.len().min(CHANGED_WINDOW)]
    }
}
