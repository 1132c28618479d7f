//! What is asked of the service, whichever layer it is asked of.

mod bodies;
mod chance;
mod operation;
mod scenario;
mod universe;

pub(crate) use bodies::{affiliate, affiliate_json};
pub(crate) use chance::Chance;
pub(crate) use operation::{Operation, rows_on};
pub(crate) use scenario::{Plan, Scenario};
pub(crate) use universe::{Ids, Universe};
