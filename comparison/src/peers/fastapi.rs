//! `FastAPI` over asyncpg, served by uvicorn with uvloop and httptools, one worker per core.

use std::{net::SocketAddr, path::Path, process::Command};

use anyhow::Context as _;

use super::{SELECT, install};
use load_test::service::{Child, DATABASE_NAME, Database, free_address};

const PACKAGES: [&str; 4] = ["fastapi==0.121.2", "asyncpg==0.30.0", "uvicorn[standard]==0.38.0", "orjson==3.11.4"];

/// Starts uvicorn over the database.
pub(crate) async fn start(
    peers: &Path,
    database: &Database,
    company: i64,
    folder: &Path,
) -> anyhow::Result<(SocketAddr, Child)> {
    let environment = install::python(peers, "fastapi", &PACKAGES).await?;
    let address = free_address()?;
    let file = folder.join("peer_app.py");
    std::fs::write(&file, include_str!("fastapi_app.py"))
        .with_context(|| format!("cannot write {}", file.display()))?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut command = Command::new(environment.join("bin/uvicorn"));
    command.args(["peer_app:app", "--app-dir"]).arg(folder).args(["--host", &address.ip().to_string()]);
    command.args(["--port", &address.port().to_string(), "--workers", &cores.to_string()]);
    command.args(["--log-level", "warning", "--no-access-log"]);
    command.env("PEER_COMPANY", company.to_string()).env("PEER_SELECT", SELECT);
    command.env("PEER_HOST", database.socket_dir()).env("PEER_USER", embedded_postgres::OWNER_ROLE);
    command.env("PEER_DATABASE", DATABASE_NAME);
    let mut process = Child::start("uvicorn", folder, command)?;
    process.accepts(address).await?;
    Ok((address, process))
}
