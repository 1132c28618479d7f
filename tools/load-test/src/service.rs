//! Builds the service and runs it as child processes.

mod build;
mod child;

pub use build::{Build, TemporaryFolder};
pub use child::{Child, free_address};
