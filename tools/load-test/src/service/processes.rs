//! The service in one process and in two.

use std::{net::SocketAddr, path::Path, process::Command};

use compliance_api::token::{Claims, Secret, issue};

use super::{
    build::Build,
    child::{Child, free_address},
};

/// The secret of tokens. It is public, so it is for measurements only.
const SECRET: &str = "a secret of load tests, of no use elsewhere";
/// Lifetime of a token in seconds.
const TOKEN_TIME: i64 = 86_400;

/// Issues a token for a company.
pub fn token(company: i64) -> anyhow::Result<String> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs() as i64;
    Ok(issue(&Secret::new(SECRET)?, &Claims::new(company, now, TOKEN_TIME))?)
}

/// REST and gRPC in one process.
#[derive(Debug)]
pub struct OneProcess {
    /// Address of REST.
    pub rest: SocketAddr,
    /// Address of gRPC.
    pub grpc: SocketAddr,
    /// The process.
    pub process: Child,
}

impl OneProcess {
    /// Starts the service without a rate limit over a database. Logs go to `folder`.
    pub async fn start(build: &Build, database_url: &str, folder: &Path) -> anyhow::Result<Self> {
        let (rest, grpc) = (free_address()?, free_address()?);
        let mut command = build.command("serve");
        command.args(["--rest-addr", &rest.to_string(), "--grpc-addr", &grpc.to_string()]);
        command.args(["--rate-limit", "off", "--database-url", database_url]);
        settings(&mut command);
        let mut process = Child::start("compliance-serve", folder, command)?;
        process.accepts(rest).await?;
        process.accepts(grpc).await?;
        Ok(Self { rest, grpc, process })
    }
}

/// The gateway in one process and the core in another, with TCP between them.
#[derive(Debug)]
pub struct TwoProcesses {
    /// Address of REST.
    pub rest: SocketAddr,
    /// Address of gRPC.
    pub grpc: SocketAddr,
    /// The process of the gateway.
    pub gateway: Child,
    /// The process of the core.
    pub core: Child,
}

impl TwoProcesses {
    /// Starts the service over a database. Logs go to `folder`.
    pub async fn start(build: &Build, database_url: &str, folder: &Path) -> anyhow::Result<Self> {
        let (rest, grpc) = (free_address()?, free_address()?);
        let mut command = build.command("core");
        command.args(["--grpc-addr", &grpc.to_string(), "--rate-limit", "off", "--database-url", database_url]);
        settings(&mut command);
        let mut core = Child::start("compliance-core", folder, command)?;
        core.accepts(grpc).await?;
        let mut command = build.command("gateway");
        command.args(["--rest-addr", &rest.to_string(), "--core-url", &format!("http://{grpc}")]);
        settings(&mut command);
        let mut gateway = Child::start("compliance-gateway", folder, command)?;
        gateway.accepts(rest).await?;
        Ok(Self { rest, grpc, gateway, core })
    }
}

fn settings(command: &mut Command) {
    command.env("COMPLIANCE_JWT_SECRET", SECRET).env("COMPLIANCE_LOG", "warn");
}
