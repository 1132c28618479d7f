//! Which positions of a company can be read from.

use compliance_api::error::Error;
use sqlx::{Row as _, postgres::PgRow};

use crate::limits::RESTORE_DISTANCE;

/// The positions that have changes, as far as they matter to a reader.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    /// The last one that is no longer kept.
    pub(super) dropped: i64,
    pub(super) last: i64,
    /// If the next entry after the reader's position is that of a restore: the positions before and after it.
    restored: Option<(i64, i64)>,
}

impl Kept {
    pub(super) fn of(row: &PgRow) -> Result<Self, sqlx::Error> {
        let kept: Option<i64> = row.try_get("kept_position")?;
        Ok(Self {
            dropped: row.try_get("dropped_position")?,
            last: row.try_get("last_position")?,
            restored: kept.zip(row.try_get("restored_position")?),
        })
    }

    /// Refuses a position whose next changes are not kept, or that was lost.
    pub(super) fn check(self, position: i64) -> Result<(), Error> {
        let Self { dropped, last, restored } = self;
        match restored {
            Some((kept, restored)) if kept < position && position < restored => {
                Err(Error::position_restored(position, kept, restored))
            }
            _ if (dropped..=last).contains(&position) => Ok(()),
            // All changes of the company were lost, so its record begins after them.
            _ if position < dropped && dropped % RESTORE_DISTANCE == 0 => {
                Err(Error::position_restored(position, 0, dropped))
            }
            _ => Err(Error::position_gone(position, dropped, last)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Kept, RESTORE_DISTANCE};

    #[test]
    fn positions_are_lost_between_the_last_one_and_the_restore() {
        let at = 5 + RESTORE_DISTANCE;
        let reason = |dropped, restored, position| {
            let kept = Kept { dropped, last: at + 3, restored };
            kept.check(position).err().map(|error| error.reason.as_str_name())
        };
        let gap = Some((5, at));
        for position in [6, at - 1] {
            assert_eq!(reason(0, gap, position), Some("REASON_POSITION_RESTORED"), "{position}");
            assert_eq!(reason(5, gap, position), Some("REASON_POSITION_RESTORED"), "{position}");
        }
        assert_eq!((reason(0, gap, 5), reason(0, None, at), reason(5, gap, 5)), (None, None, None));
        assert_eq!(reason(at, None, 7), Some("REASON_POSITION_GONE"));
        assert_eq!(reason(RESTORE_DISTANCE, None, 7), Some("REASON_POSITION_RESTORED"));
        assert_eq!(reason(0, None, at + 4), Some("REASON_POSITION_GONE"));
    }
}
