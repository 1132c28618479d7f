//! `compliance migrate`: brings a database's schema up to date.

use std::process::ExitCode;

use clap::Args;
use core_server::database;
use runtime::RequiredDatabaseArgs;

/// Bring the schema of a database up to date. Does nothing if it is.
#[derive(Args, Debug)]
pub(crate) struct MigrateArgs {
    #[command(flatten)]
    database: RequiredDatabaseArgs,
}

pub(super) fn run(args: &MigrateArgs) -> anyhow::Result<ExitCode> {
    runtime::block_on(async {
        let pool = database::connect(args.database.options()?, 2).await?;
        database::migrate(&pool).await?;
        runtime::close_pool(&pool).await;
        tracing::info!("the database's schema is up to date");
        Ok(ExitCode::SUCCESS)
    })
}
