//! `compliance migrate` migrates the database schema.

use clap::{Args, builder::NonEmptyStringValueParser};
use core_server::database;
use flags::count;

use crate::{
    program::DatabaseUrlArgs,
    start::{StartArgs, wait_for},
};

/// Migrate the database schema. Does nothing if the schema is up to date.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  DATABASE_URL=postgres://owner:…@db/compliance compliance migrate --service-role compliance_service")]
pub(crate) struct MigrateArgs {
    #[command(flatten)]
    database: DatabaseUrlArgs,
    #[command(flatten)]
    start: StartArgs,
    /// Existing role that the service connects as. The role must not own the tables. The command grants it the rights that the service needs.
    #[arg(long, env = "COMPLIANCE_SERVICE_ROLE", value_name = "ROLE", value_parser = NonEmptyStringValueParser::new())]
    service_role: Option<String>,
    /// Minimum number of days to keep changes; the database drops them by month. Without this flag, the retention does not change
    /// [initially: 90].
    #[arg(long, env = "COMPLIANCE_CHANGE_RETENTION", value_name = "DAYS", value_parser = count(1..=36_500))]
    change_retention: Option<i32>,
}

pub(super) fn run(args: &MigrateArgs) -> anyhow::Result<()> {
    crate::program::block_on(async {
        let target = args.database.required()?;
        let connect = async || Ok(database::open(target.clone(), 2).await?);
        let database = wait_for(&args.start, &mut [], connect).await?;
        if let Some(role) = &args.service_role {
            database::check_service_role(&database.pool, role).await?;
        }
        database::migrate(&database).await?;
        let pool = database.pool;
        if let Some(role) = &args.service_role {
            database::grant(&pool, role).await?;
        }
        if let Some(days) = args.change_retention {
            database::keep_changes(&pool, days).await?;
        }
        crate::program::close_pool(&pool).await;
        tracing::info!("the database schema is up to date");
        Ok(())
    })
}
