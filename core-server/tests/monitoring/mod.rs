//! The operations of internal services: what they write, and what partners then read.

pub(crate) mod builders;
mod cases;
mod columns;
mod concurrency;
mod dates;
mod etags;
mod export;
mod incidents;
mod infractions;
mod input_types;
mod lost_updates;
mod observations;
mod stream;
mod vocabularies;

use test_support::Test;

/// The tests of every module.
pub(crate) fn tests() -> Vec<Test> {
    [
        cases::tests(),
        columns::tests(),
        concurrency::tests(),
        dates::tests(),
        etags::tests(),
        export::tests(),
        incidents::tests(),
        input_types::tests(),
        infractions::tests(),
        lost_updates::tests(),
        observations::tests(),
        stream::tests(),
        vocabularies::tests(),
    ]
    .concat()
}
