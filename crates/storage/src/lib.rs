//! Storage: runs the statements of all operations on PostgreSQL.
//!
//! It manages connections and Citus, reads and writes columns by name, and combines concurrent requests into one statement. It
//! does not know the operations: a [`Schema`] describes what is stored.

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
