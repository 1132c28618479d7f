//! What one caller, one company and all together can take of the service.

mod deadlines;
mod documents;
mod encoded;
mod flood;
mod lists;
mod memory;
mod pages;
mod records;
mod slots;
mod unproven;

use test_support::Test;

pub(crate) fn all_tests() -> Vec<Test> {
    let tests = [
        deadlines::tests(),
        documents::tests(),
        encoded::tests(),
        flood::tests(),
        lists::tests(),
        memory::tests(),
        pages::tests(),
        slots::tests(),
        unproven::tests(),
    ];
    [&tests[..], &[records::tests()]].concat().concat()
}
