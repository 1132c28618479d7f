//! The service as child processes, over a database of its own with made data.

mod build;
mod child;
mod database;
mod demo;
mod processes;

pub use build::{Build, Share};
pub use child::{Child, free_address};
pub use database::{Database, NAME as DATABASE_NAME};
pub use demo::{Demo, Folder};
pub use processes::{OneProcess, TwoProcesses, token};
