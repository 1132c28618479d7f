//! A service with made data that is removed at the end.

use std::path::PathBuf;

use anyhow::Context as _;

use super::{
    build::{Build, Share},
    database::Database,
    processes::{OneProcess, token},
};
use crate::workload::Universe;

/// Numbers of records of all companies together. No company has fewer than [`FEWEST`] of a kind.
const AFFILIATES: u64 = 20_000;
const URLS: u64 = 40_000;
const CASES: u64 = 4_000;
const FEWEST: u64 = 100;

/// A running service with made data.
#[derive(Debug)]
pub struct Demo {
    /// The service.
    pub service: OneProcess,
    /// Token and records of each company under load.
    pub companies: Vec<(String, Universe)>,
    database: Database,
    folder: Folder,
}

impl Demo {
    /// Starts a service with data for these companies.
    pub async fn start(companies: u32) -> anyhow::Result<Self> {
        let build = Build::own().await?;
        let folder = Folder::temporary()?;
        let part = |all: u64| (all / u64::from(companies)).max(FEWEST);
        let share = |company| Share { company, affiliates: part(AFFILIATES), urls: part(URLS), cases: part(CASES) };
        let shares: Vec<Share> = (1..=i64::from(companies)).map(share).collect();
        let database = Database::open(&folder.0, &build, &shares, 1).await?;
        let service = OneProcess::start(&build, &database.url(), &folder.0).await?;
        let mut loaded = Vec::new();
        for company in 1..=i64::from(companies) {
            loaded.push((token(company)?, database.universe(company).await?));
        }
        Ok(Self { service, companies: loaded, database, folder })
    }

    /// Stops the service and removes its data.
    pub async fn stop(self) {
        drop(self.service);
        self.database.stop().await;
        drop(self.folder);
    }
}

/// A folder that is removed when it is dropped.
#[derive(Debug)]
pub struct Folder(pub PathBuf);

impl Folder {
    /// Creates a folder for temporary files that the user of the database can reach.
    pub fn temporary() -> anyhow::Result<Self> {
        let base = std::env::temp_dir();
        let base = if embedded_postgres::check_data_dir(&base).is_ok() { base } else { PathBuf::from("/tmp") };
        let folder = base.join(format!("compliance-load-{}", std::process::id()));
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The database server may still write its last files.
        for _ in 0..20 {
            if std::fs::remove_dir_all(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }
}
