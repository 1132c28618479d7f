//! Runs the statements of all operations on PostgreSQL.
//!
//! Storage manages connections and Citus, reads and writes columns by name, and combines concurrent requests into one statement. A [`Schema`]
//! describes the stored data, so the crate is independent of the operations.

pub mod database;
pub mod error;
pub mod limits;
pub mod metrics;
pub mod reads;
mod schema;
pub mod statement_context;
pub mod table;
pub mod template;
pub mod vocabulary;
pub mod writes;

pub use schema::Schema;
pub use statement_context::deadline;
