//! Tests that are derived from the contract's descriptor set: for each operation, and each rule of a field. A new operation or
//! field is tested without further code, or fails the suite until it is.

mod calls;
mod headers;
pub(crate) mod messages;
mod protocol;
mod rules;

pub(crate) fn all_tests() -> Vec<test_support::Test> {
    [headers::tests(), protocol::tests(), rules::tests()].into_iter().flatten().collect()
}
