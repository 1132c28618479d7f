//! Runs a command with a private, migrated database that is removed afterwards. `DATABASE_URL` holds its address:
//! `cargo run -p embedded-postgres --bin with_database -- core-server/migrations psql -c '\d affiliates'`

use std::{error::Error, path::Path, process::ExitCode};

use embedded_postgres::{Cluster, ClusterOptions, Endpoint, OWNER_ROLE};
use sqlx::{Connection as _, PgConnection, migrate::Migrator};
use tokio::process::Command;

const DATABASE: &str = "with_database";

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(migrations), Some(program)) = (arguments.next(), arguments.next()) else {
        return Err("usage: with_database <folder of migrations> <program> [<argument> …]".into());
    };
    let mut command = Command::new(program);
    command.args(arguments).kill_on_drop(true);
    let cluster = Cluster::start(ClusterOptions::temporary()).await?;
    let result = tokio::select! {
        result = run(cluster.endpoint(), &migrations, command) => result,
        interrupted = tokio::signal::ctrl_c() => Err(interrupted.err().map_or_else(|| "interrupted".into(), Into::into)),
    };
    cluster.stop().await?;
    result
}

async fn run(endpoint: &Endpoint, migrations: &str, mut command: Command) -> Result<ExitCode, Box<dyn Error>> {
    endpoint.create_database(DATABASE).await?;
    let mut connection = PgConnection::connect_with(&endpoint.options(OWNER_ROLE, DATABASE)).await?;
    Migrator::new(Path::new(migrations)).await?.run(&mut connection).await?;
    connection.close().await?;
    let status = command.env("DATABASE_URL", endpoint.url(OWNER_ROLE, DATABASE)).status().await?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
