//! The database of a program that does not run one itself.

use clap::Args;
use core_server::database::{self, DatabaseError};
use sqlx::postgres::PgConnectOptions;

use super::Hidden;

/// A database that must be given.
#[derive(Args, Clone, Debug)]
pub struct RequiredDatabaseArgs {
    /// Database to use: `postgres://user:password@host/database`.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_name = "URL")]
    database_url: Hidden,
}

impl RequiredDatabaseArgs {
    /// How to connect to it. Fails if the URL is malformed.
    pub fn options(&self) -> Result<PgConnectOptions, DatabaseError> {
        database::options(self.database_url.filled().unwrap_or_default())
    }
}
