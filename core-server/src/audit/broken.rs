//! What is wrong with a record of changes.

/// What is wrong with a record of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// Rows are missing.
    #[error("changes {first} to {last} were removed")]
    Removed {
        /// The first position that is missing.
        first: i64,
        /// The last one.
        last: i64,
    },
    /// The company has records or dropped changes, but its record of changes is empty.
    #[error("all changes were removed")]
    RemovedAll,
    /// A row is not what was written: its content, its time, or its order.
    #[error("changes {first} to {last} were altered or reordered, or are not of this record")]
    Altered {
        /// The first position of the row.
        first: i64,
        /// The last one.
        last: i64,
    },
    /// The record has another hash than the checkpoint.
    #[error("the record up to change {position} is not the one of the checkpoint")]
    Rewritten {
        /// The position of the checkpoint.
        position: i64,
    },
    /// A restore has passed over the position of a checkpoint.
    #[error("change {position} is lost since a backup was restored, so the checkpoint cannot be compared")]
    Lost {
        /// The position of the checkpoint.
        position: i64,
    },
    /// The change that a checkpoint names was dropped.
    #[error("change {position} was dropped, so the checkpoint cannot be compared")]
    NotKept {
        /// The position of the checkpoint.
        position: i64,
    },
}
