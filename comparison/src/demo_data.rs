//! `compliance demo-data` into a new database beside a running service, and without one.

use std::{path::Path, time::Instant};

use load_test::service::{Build, Database, OneProcess, Share};

use crate::results::DemoData;

const NAME: &str = "demo_data";

/// Measures one round, each way in a database of its own.
pub(crate) async fn round(
    database: &Database,
    build: &Build,
    folder: &Path,
    urls: u64,
    demo_data: &mut DemoData,
) -> anyhow::Result<()> {
    demo_data.urls = urls;
    let share = Share { company: 1, affiliates: urls.div_ceil(20), urls, cases: urls.div_ceil(20) };
    for beside_service in [false, true] {
        database.drop_other(NAME).await?;
        let url = database.create_other(NAME).await?;
        build.migrate(&url).await?;
        let service = if beside_service { Some(OneProcess::start(build, &url, folder).await?) } else { None };
        let start = Instant::now();
        build.make_demo_data(&url, &share, 1).await?;
        let seconds = start.elapsed().as_secs_f64();
        drop(service);
        if beside_service { &mut demo_data.beside_service } else { &mut demo_data.alone }.push(seconds);
    }
    database.drop_other(NAME).await
}
