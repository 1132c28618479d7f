//! Operations on the service, for either layer.

mod bodies;
mod chance;
mod operation;
mod scenario;
mod universe;

pub use bodies::{affiliate, affiliate_json};
pub use chance::Chance;
pub use operation::{Operation, rows_on};
pub use scenario::{Plan, Scenario};
pub use universe::{Ids, Universe};
