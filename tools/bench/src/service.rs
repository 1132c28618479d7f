//! The service as child processes, over a database server with generated data.

mod database;
mod processes;

pub(crate) use database::{Database, NAME as DATABASE_NAME, Records};
pub(crate) use processes::{OneProcess, TwoProcesses, token};
