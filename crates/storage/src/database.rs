//! PostgreSQL connections, migrations and Citus support.

mod citus;
mod connections;
mod error;
mod manager;
mod measure;
mod migrate;
mod objects;
mod open;
mod pool;
mod probe;
pub mod restores;
mod rows;
mod session;
mod target;
mod url;
mod write;

pub use citus::{Session, statements_on_shards};
pub use connections::{Connections, read, retried, short_read};
pub use error::DatabaseError;
pub use measure::measure;
pub use migrate::{check_complete, check_migrated, migrate, refuse_other_superuser};
pub use open::{Database, connect, connection_limit, open};
pub use pool::{BorrowedConnection, Outage};
pub use restores::{Jump, jump_ahead};
pub use rows::{End, Fetched, size};
pub use target::Target;
pub use url::target;
