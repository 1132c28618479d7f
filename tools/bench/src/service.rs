//! Runs the service as child processes, with a database of generated data.

mod database;
mod processes;

pub(crate) use database::{Database, NAME as DATABASE_NAME, Records};
pub(crate) use processes::{OneProcess, TwoProcesses, token};
