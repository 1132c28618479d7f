//! What is measured: the database with its records, and the service's own programs.

mod binaries;
mod child;
mod cpu;
mod database;
mod dataset;
mod demo_data;
mod ours;

pub(crate) use binaries::Binaries;
pub(crate) use child::{Child, free_address};
pub(crate) use cpu::{cpu_seconds, peak_memory};
pub(crate) use database::{Database, NAME as DATABASE_NAME};
pub(crate) use dataset::{Dataset, LISTED, MANY, SMALL};
pub(crate) use ours::{OneProcess, TwoProcesses, token};

use std::path::PathBuf;

use anyhow::Context as _;

use crate::workload::Universe;

/// A service with made records that goes away again.
#[derive(Debug)]
pub(crate) struct Demo {
    pub(crate) service: OneProcess,
    pub(crate) universe: Universe,
    pub(crate) token: String,
    database: Database,
    folder: Folder,
}

impl Demo {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let binaries = Binaries::find_or_build(&["compliance"]).await?;
        let folder = Folder::temporary()?;
        let database = Database::start(&folder.0).await?;
        database.load(&Dataset::DEMO, &binaries).await?;
        let service = OneProcess::start(&binaries, &database, &folder.0).await?;
        let universe = database.universe(MANY).await?;
        Ok(Self { service, universe, token: token(MANY)?, database, folder })
    }

    pub(crate) async fn stop(self) {
        drop(self.service);
        self.database.stop().await;
        drop(self.folder);
    }
}

/// A folder that is removed at the end.
#[derive(Debug)]
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn temporary() -> anyhow::Result<Self> {
        let base = std::env::temp_dir();
        // Root's own temporary folder may be closed to the user that the database runs as.
        let base = if embedded_postgres::check_data_dir(&base).is_ok() { base } else { PathBuf::from("/tmp") };
        let folder = base.join(format!("compliance-load-{}", std::process::id()));
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The database's server may be writing its last files.
        for _ in 0..20 {
            if std::fs::remove_dir_all(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }
}
