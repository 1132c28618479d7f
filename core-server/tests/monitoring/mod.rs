//! The internal write side, over a real PostgreSQL: what it is told, and what partners then read.

mod cases;
mod concurrency;
mod dates;
mod export;
mod ground;
mod incidents;
mod infractions;
mod isolation;
mod observations;
mod stream;
mod vocabularies;

use test_support::Test;

/// The tests of every module.
pub(crate) fn tests() -> Vec<Test> {
    [
        cases::tests(),
        concurrency::tests(),
        dates::tests(),
        export::tests(),
        incidents::tests(),
        infractions::tests(),
        isolation::tests(),
        observations::tests(),
        stream::tests(),
        vocabularies::tests(),
    ]
    .concat()
}
