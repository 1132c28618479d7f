//! What one caller, one company and all together can take of the service.

mod encoded;
mod flood;
mod lists;
mod memory;
mod pages;

use test_support::Test;

pub(crate) fn all_tests() -> Vec<Test> {
    [encoded::tests(), flood::tests(), lists::tests(), memory::tests(), pages::tests()].concat()
}
