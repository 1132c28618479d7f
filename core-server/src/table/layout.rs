//! The attributes of composite types, in the order that the database has them.

use std::collections::HashMap;

use sqlx::postgres::types::Oid;

/// The layouts of the composite types that batches are sent as.
#[derive(Debug, Default)]
pub(crate) struct Layouts(pub(super) HashMap<&'static str, Layout>);

/// The layout of one type.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) oid: Oid,
    pub(super) array_oid: Oid,
    pub(super) attributes: Vec<LaidOut>,
}

/// One attribute of a type, as the database has it.
#[derive(Debug)]
pub(super) struct LaidOut {
    pub(super) type_oid: Oid,
    /// Its index among the attributes that the program knows; `None` if it does not know it.
    pub(super) known: Option<usize>,
}
