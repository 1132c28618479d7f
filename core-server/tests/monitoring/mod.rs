//! The operations of internal services: what they write, and what partners then read.

mod builders;
mod cases;
mod concurrency;
mod dates;
mod export;
mod incidents;
mod infractions;
mod input_types;
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
        input_types::tests(),
        infractions::tests(),
        isolation::tests(),
        observations::tests(),
        stream::tests(),
        vocabularies::tests(),
    ]
    .concat()
}
