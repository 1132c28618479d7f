//! Cases: opened, changed, resolved, closed and reopened.

mod dates;
mod fields;
mod open;
mod update;

pub(super) use self::{
    open::{Opening, open},
    update::{Verb, update, with_verb},
};

/// Cases in one message, at most.
pub(super) const MOST: usize = 10_000;
/// Incidents in one message, or of one case as it is opened, at most.
pub(super) const MOST_INCIDENTS: usize = 1000;

/// The case status New.
const NEW: i32 = 1;
/// The case status Open.
const OPEN: i32 = 2;
/// The case status Resolved.
const RESOLVED: i32 = 5;
/// The case statuses Closed, Rejected, Invalid and Duplicate, from the first to the last.
const CLOSED: [i32; 2] = [6, 9];

#[cfg(test)]
mod tests {
    use compliance_api::catalogue::Vocabulary::CaseStatus;

    #[test]
    fn statuses_are_those_of_the_catalogue() {
        let names = [super::NEW, super::OPEN, super::RESOLVED, super::CLOSED[0], super::CLOSED[1]]
            .map(|id| CaseStatus.default_name(id).unwrap());
        assert_eq!(names, ["New", "Open", "Resolved", "Closed", "Duplicate"]);
    }
}
