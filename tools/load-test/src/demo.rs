//! A service with made data, in a folder that is removed at the end.

use std::net::SocketAddr;

use load_test::service::{Build, Child, TemporaryFolder, free_address};

/// Numbers of records of all companies together. No company has fewer than [`FEWEST`] of a kind.
const RECORDS: [(&str, u32); 3] = [("--affiliates", 20_000), ("--urls", 40_000), ("--cases", 4_000)];
const FEWEST: u32 = 100;
/// The day on which made data ends. It is fixed, so that every run has the same data.
const UNTIL: &str = "2026-11-01";

/// A running service with made data. Dropping it stops the service and removes the data.
pub(crate) struct Demo {
    pub(crate) rest: SocketAddr,
    pub(crate) grpc: SocketAddr,
    /// A token of each company.
    pub(crate) tokens: Vec<String>,
    _service: Child,
    // Removed after the service, which uses it.
    _folder: TemporaryFolder,
}

impl Demo {
    /// Starts a service without a rate limit, with records of these companies.
    pub(crate) async fn start(companies: u32) -> anyhow::Result<Self> {
        let build = Build::own().await?;
        let folder = TemporaryFolder::create()?;
        let data_dir = folder.0.join("data").to_string_lossy().into_owned();
        let (rest, grpc) = (free_address()?, free_address()?);
        let mut command = build.command("serve");
        command.args(["--rest-addr", &rest.to_string(), "--grpc-addr", &grpc.to_string()]);
        command.args(["--rate-limit", "off", "--data-dir", &data_dir]);
        let mut service = Child::start("compliance-serve", &folder.0, command)?;
        service.accepts(rest).await?;
        service.accepts(grpc).await?;
        let records = RECORDS.map(|(flag, all)| (flag, (all / companies).max(FEWEST).to_string()));
        eprintln!("creating records for {companies} companies");
        let mut tokens = Vec::new();
        for company in 1..=companies {
            let of_company = ["--data-dir", &data_dir, "--company", &company.to_string()];
            let mut arguments = [&of_company[..], &["--until", UNTIL]].concat();
            arguments.extend(records.iter().flat_map(|(flag, number)| [*flag, number]));
            build.run("demo-data", &arguments).await?;
            tokens.push(build.run("token", &[&of_company[..], &["--ttl", "7d"]].concat()).await?);
        }
        Ok(Self { rest, grpc, tokens, _service: service, _folder: folder })
    }
}
