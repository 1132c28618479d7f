//! `compliance migrate`: brings a database's schema up to date.

use std::process::ExitCode;

use clap::Args;
use core_server::database;

/// Bring the schema of a database up to date. Does nothing when it is.
#[derive(Args)]
pub(crate) struct MigrateArgs {
    /// Database to bring up to date: `postgres://user:password@host/database`.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_name = "URL")]
    database_url: String,
}

impl std::fmt::Debug for MigrateArgs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The address may hold a password.
        f.write_str("MigrateArgs(…)")
    }
}

pub(super) fn run(args: &MigrateArgs) -> anyhow::Result<ExitCode> {
    super::runtime()?.block_on(async {
        let pool = database::connect(database::options(&args.database_url)?, 2).await?;
        database::migrate(&pool).await?;
        pool.close().await;
        tracing::info!("the database's schema is up to date");
        Ok(ExitCode::SUCCESS)
    })
}
