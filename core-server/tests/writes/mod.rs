//! Writes of partners: what concurrent and large ones come to, and what they take.

mod coalesced;
mod created;
mod large;
mod updates;

use test_support::Test;

/// The tests of every module.
pub(crate) fn tests() -> Vec<Test> {
    [coalesced::tests(), created::tests(), large::tests(), updates::tests()].concat()
}
