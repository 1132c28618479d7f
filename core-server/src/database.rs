//! The database of the service: its schema and its roles.

use sqlx::PgPool;
pub use storage::database::{
    Database, DatabaseError, HostState, Jump, Nodes, ReadTarget, Target, check_nodes, connect, jump_ahead, open,
    replica_states, target,
};

pub use crate::roles::{grant, keep_changes, missing_rights, warn_if_owner};
use crate::schema::SCHEMA;

/// Brings the schema up to date. See [`storage::database::migrate`].
pub async fn migrate(database: impl Into<Database>) -> Result<(), DatabaseError> {
    storage::database::migrate(database, &SCHEMA).await
}

/// Refuses a database whose schema is not up to date, or not distributed on Citus.
pub async fn check_migrated(pool: &PgPool) -> Result<(), DatabaseError> {
    storage::database::check_migrated(pool, &SCHEMA).await
}
