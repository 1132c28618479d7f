//! Writes of partners: what concurrent and large ones come to, and what they take.

mod abandoned;
mod coalesced;
mod created;
mod etags;
mod large;
mod locks;
mod stopped;
mod synced;
mod updates;

use test_support::Test;

/// The tests of every module.
pub(crate) fn tests() -> Vec<Test> {
    [
        abandoned::tests(),
        coalesced::tests(),
        created::tests(),
        etags::tests(),
        large::tests(),
        locks::tests(),
        stopped::tests(),
        synced::tests(),
        updates::tests(),
    ]
    .concat()
}
