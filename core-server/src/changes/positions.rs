//! The positions from which a company's changes can be read, and the records that have changed since a position.

use admission::{MEMORY_WAIT, Reservation};
use compliance_api::error::Error;
use sqlx::{Row as _, postgres::PgRow};
use storage::{
    database::{self, Connections},
    error::from_database,
};

use crate::{backend::Backend, lists::Source, quotas::DatabaseWork};

/// The positions from which a company's changes can be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Positions {
    /// Position of the last removed change.
    pub(super) dropped: i64,
    pub(super) last: i64,
    /// The start of the record if a restore may have lost everything before it, otherwise 0.
    lost: i64,
    /// The positions before and after a restore, if the next entry after the reader's position is a restore.
    restored: Option<(i64, i64)>,
}

impl Positions {
    pub(super) fn of(row: &PgRow) -> Result<Self, sqlx::Error> {
        let kept: Option<i64> = row.try_get("kept_position")?;
        Ok(Self {
            dropped: row.try_get("dropped_position")?,
            last: row.try_get("last_position")?,
            lost: row.try_get("lost_position")?,
            restored: kept.zip(row.try_get("restored_position")?),
        })
    }

    /// Rejects a position that a restore has lost, or after which changes were removed.
    pub(super) fn check(self, position: i64) -> Result<(), Error> {
        let Self { dropped, last, lost, restored } = self;
        let is_whole = dropped == lost;
        match restored {
            Some((kept, restored)) if kept < position && position < restored => {
                Err(Error::position_restored(position, kept, restored))
            }
            _ if (dropped..=last).contains(&position) => Ok(()),
            // A reader at position 0 has read nothing that could be lost.
            _ if is_whole && position == 0 => Ok(()),
            _ if is_whole && position < dropped => Err(Error::position_restored(position, 0, dropped)),
            _ => Err(Error::position_gone(position, dropped, last)),
        }
    }
}

/// Maximum number of changed records per page statement, which takes their IDs as a parameter.
const CHANGED_WINDOW: usize = 1000;
/// Maximum number of rows to search for changed records. If more rows follow a position, the whole list is read.
pub const CHANGED_ROWS: i64 = 50_000;
/// Maximum number of entries in these rows.
pub const CHANGED_ENTRIES: i64 = 200_000;

/// The statement that finds changed records, with its parameter types.
pub(crate) const STATEMENT: (&str, &str) =
    (concat!(include_str!("state.sql"), include_str!("changed.sql")), "bigint, bigint, smallint, bigint, bigint");

/// The IDs of changed records, in ascending order.
pub(crate) struct Changed {
    ids: Vec<i64>,
    _memory: Reservation,
}

impl Changed {
    /// Returns the records of a table that were created or updated after a position.
    ///
    /// Returns `None` if the position is absent, or if reading all records is faster because many changes follow.
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
            .with_permit(company_id, DatabaseWork::Statement, async {
                database::read(&pool, read).await.map_err(from_database)
            })
            .await?;
        positions.check(position)?;
        memory.shrink_to(size_of_val(&*ids));
        Ok(is_complete.then_some(Self { ids, _memory: memory }))
    }

    /// Returns the IDs after this ID that fit on one page.
    pub(crate) fn window(&self, after: i64) -> &[i64] {
        let next = &self.ids[self.ids.partition_point(|id| *id <= after)..];
        &next[..next.len().min(CHANGED_WINDOW)]
    }
}

#[cfg(test)]
mod tests {
    use super::Positions;

    /// The position that a restore jumps to.
    const AT: i64 = 1 << 50;

    fn reason(positions: Positions, position: i64) -> Option<&'static str> {
        positions.check(position).err().map(|error| error.reason.as_str_name())
    }

    #[test]
    fn positions_lost_by_a_restore_are_rejected() {
        let kept = |dropped, restored| Positions { dropped, last: AT + 3, lost: 0, restored };
        let gap = Some((5, AT));
        for position in [6, AT - 1] {
            assert_eq!(reason(kept(0, gap), position), Some("REASON_POSITION_RESTORED"), "{position}");
            assert_eq!(reason(kept(5, gap), position), Some("REASON_POSITION_RESTORED"), "{position}");
        }
        for (dropped, restored, position) in [(0, gap, 0), (0, gap, 5), (0, None, AT), (5, gap, 5)] {
            assert_eq!(reason(kept(dropped, restored), position), None, "{position}");
        }
        // Changes dropped by retention are gone, not lost, regardless of where they end.
        assert_eq!(reason(kept(AT, None), 7), Some("REASON_POSITION_GONE"));
        assert_eq!(reason(kept(0, None), AT + 4), Some("REASON_POSITION_GONE"));
    }

    #[test]
    fn positions_before_a_total_loss_are_rejected() {
        for last in [AT, AT + 3] {
            let kept = Positions { dropped: AT, last, lost: AT, restored: None };
            assert_eq!((reason(kept, 0), reason(kept, AT), reason(kept, last)), (None, None, None));
            for position in [1, AT - 1] {
                assert_eq!(reason(kept, position), Some("REASON_POSITION_RESTORED"), "{position}");
            }
            assert_eq!(reason(kept, last + 1), Some("REASON_POSITION_GONE"));
        }
        // Later changes were dropped, so earlier losses are unknown.
        let kept = Positions { dropped: AT + 2, last: AT + 3, lost: 0, restored: None };
        assert_eq!((reason(kept, 0), reason(kept, 7)), (Some("REASON_POSITION_GONE"), Some("REASON_POSITION_GONE")));
    }
}
