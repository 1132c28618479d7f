//! The service itself: in one process, and in two.

use std::{net::SocketAddr, path::Path, process::Command};

use compliance_api::token::{Claims, Secret, issue};

use super::{Binaries, Child, Database, free_address};

/// What tokens are signed with. It is known to all, and good for nothing but measurements.
const SECRET: &str = "a secret of load tests, of no use elsewhere";
/// How long a token is good for, in seconds.
const TOKEN_TIME: i64 = 86_400;

/// A token for a company.
pub(crate) fn token(company: i64) -> anyhow::Result<String> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs() as i64;
    Ok(issue(&Secret::new(SECRET)?, &Claims::new(company, now, TOKEN_TIME))?)
}

/// REST and gRPC in one process.
#[derive(Debug)]
pub(crate) struct OneProcess {
    pub(crate) rest: SocketAddr,
    pub(crate) grpc: SocketAddr,
    pub(crate) process: Child,
}

impl OneProcess {
    pub(crate) async fn start(binaries: &Binaries, database: &Database, folder: &Path) -> anyhow::Result<Self> {
        let (rest, grpc) = (free_address()?, free_address()?);
        let mut command = Command::new(binaries.path("compliance")?);
        command.args(["serve", "--rest-addr", &rest.to_string(), "--grpc-addr", &grpc.to_string()]);
        command.args(["--rate-limit", "off", "--database-url", &database.url()]);
        settings(&mut command);
        let mut process = Child::start("compliance-serve", folder, command)?;
        process.accepts(rest).await?;
        process.accepts(grpc).await?;
        Ok(Self { rest, grpc, process })
    }
}

/// REST in one process, gRPC in another, TCP between them.
#[derive(Debug)]
pub(crate) struct TwoProcesses {
    pub(crate) rest: SocketAddr,
    pub(crate) grpc: SocketAddr,
    pub(crate) gateway: Child,
    pub(crate) core: Child,
}

impl TwoProcesses {
    pub(crate) async fn start(binaries: &Binaries, database: &Database, folder: &Path) -> anyhow::Result<Self> {
        let (rest, grpc) = (free_address()?, free_address()?);
        let mut command = Command::new(binaries.path("compliance")?);
        command.args([
            "core",
            "--grpc-addr",
            &grpc.to_string(),
            "--rate-limit",
            "off",
            "--database-url",
            &database.url(),
        ]);
        settings(&mut command);
        let mut core = Child::start("core-server", folder, command)?;
        core.accepts(grpc).await?;
        let mut command = Command::new(binaries.path("compliance")?);
        command.args(["gateway", "--rest-addr", &rest.to_string(), "--core-url", &format!("http://{grpc}")]);
        settings(&mut command);
        let mut gateway = Child::start("rest-gateway", folder, command)?;
        gateway.accepts(rest).await?;
        Ok(Self { rest, grpc, gateway, core })
    }
}

fn settings(command: &mut Command) {
    command.env("COMPLIANCE_JWT_SECRET", SECRET).env("COMPLIANCE_LOG", "warn");
}
