//! Cases: opened, updated, resolved, closed and reopened.

mod change;
mod open;
mod transitions;
mod update;

use std::ops::RangeInclusive;

pub(super) use self::{
    change::INPUT,
    open::{open, open_one},
    transitions::{close, reopen, resolve},
    update::update,
};

// The statements contain these IDs as numbers.

/// The case status Open.
const OPEN: i32 = 2;
/// The case status Resolved.
const RESOLVED: i32 = 5;
/// The case statuses Closed, Rejected, Invalid and Duplicate.
const CLOSED: RangeInclusive<i32> = 6..=9;

#[cfg(test)]
mod tests {
    use compliance_api::catalogue::Vocabulary::{CaseStatus, RiskLevel};

    use super::{CLOSED, OPEN, RESOLVED};

    #[test]
    fn ids_in_statements_are_those_of_the_catalogue() {
        let statuses = [1, OPEN, RESOLVED, *CLOSED.start(), *CLOSED.end()];
        let names = statuses.map(|id| CaseStatus.default_name(id).unwrap());
        assert_eq!(names, ["New", "Open", "Resolved", "Closed", "Duplicate"]);
        assert_eq!([3, 4].map(|id| RiskLevel.default_name(id).unwrap()), ["High", "Critical"]);
    }
}
