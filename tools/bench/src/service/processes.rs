//! Runs the service in one process and in two processes.

use std::{net::SocketAddr, path::Path};

use compliance_api::token::{Claims, Secret, issue};

use crate::child::{Build, Child, free_address};

/// Signs tokens. Not confidential, because only measurements use it.
const SECRET: &str = "a secret for measurements, useless elsewhere";
/// Lifetime of a token, in seconds.
const TOKEN_TIME: i64 = 86_400;

/// Issues a token for a company.
pub(crate) fn token(company: i64) -> anyhow::Result<String> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs() as i64;
    Ok(issue(&Secret::new(SECRET)?, &Claims::new(company, now, TOKEN_TIME))?)
}

/// REST and gRPC in one process.
#[derive(Debug)]
pub(crate) struct OneProcess {
    /// The REST address.
    pub(crate) rest: SocketAddr,
    /// The gRPC address.
    pub(crate) grpc: SocketAddr,
    /// The process.
    pub(crate) process: Child,
}

impl OneProcess {
    /// Starts the service for a database, without a rate limit. Writes logs to `folder`.
    pub(crate) async fn start(build: &Build, database_url: &str, folder: &Path) -> anyhow::Result<Self> {
        let (rest, grpc) = (free_address()?, free_address()?);
        let mut command = build.command("serve");
        command.args(["--rest-addr", &rest.to_string(), "--grpc-addr", &grpc.to_string()]);
        command.args(["--rate-limit", "off", "--database-url", database_url]);
        command.env("COMPLIANCE_JWT_SECRET", SECRET);
        let mut process = Child::start("compliance-serve", folder, command)?;
        process.accepts(rest).await?;
        process.accepts(grpc).await?;
        Ok(Self { rest, grpc, process })
    }
}

/// The gateway and the core in separate processes, with TCP between them.
#[derive(Debug)]
pub(crate) struct TwoProcesses {
    /// The REST address.
    pub(crate) rest: SocketAddr,
    /// The gateway's process.
    pub(crate) gateway: Child,
    /// The core's process.
    pub(crate) core: Child,
}

impl TwoProcesses {
    /// Starts the service for a database, without a rate limit. Writes logs to `folder`.
    pub(crate) async fn start(build: &Build, database_url: &str, folder: &Path) -> anyhow::Result<Self> {
        let (rest, grpc) = (free_address()?, free_address()?);
        let mut command = build.command("core");
        command.args(["--grpc-addr", &grpc.to_string(), "--rate-limit", "off", "--database-url", database_url]);
        command.env("COMPLIANCE_JWT_SECRET", SECRET);
        let mut core = Child::start("compliance-core", folder, command)?;
        core.accepts(grpc).await?;
        let mut command = build.command("gateway");
        command.args(["--rest-addr", &rest.to_string(), "--core-url", &format!("http://{grpc}")]);
        command.env("COMPLIANCE_JWT_SECRET", SECRET);
        let mut gateway = Child::start("compliance-gateway", folder, command)?;
        gateway.accepts(rest).await?;
        Ok(Self { rest, gateway, core })
    }
}
