//! A route and its documentation.

use super::operation::Operation;

/// A documented route.
#[derive(Clone, Copy)]
pub(crate) struct Documented {
    pub(crate) path: &'static str,
    pub(crate) method: &'static str,
    /// Documents it.
    pub(crate) document: fn() -> Operation,
}
