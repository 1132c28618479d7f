//! Storage: how statements of companies reach PostgreSQL, and what they return.
//!
//! It knows connections, replicas and Citus, reads and writes columns by name, and makes one statement of what many callers
//! ask for at the same time. It knows no operation: what is stored is in a [`Schema`].

pub mod database;
pub mod deadline;
pub mod error;
pub mod limits;
pub mod metrics;
pub mod reads;
mod schema;
pub mod statement;
pub mod table;
pub mod template;
pub mod vocabulary;
pub mod writes;

pub use schema::Schema;
