//! `compliance demo-data` into a new database while a service runs, and without one.

use std::{path::Path, time::Instant};

use load_test::service::Build;

use crate::{
    results::Results,
    service::{Database, OneProcess, Records, make_records, migrate},
    tables::Table,
};

const NAME: &str = "demo_data";

/// Measures one round, each way in its own database.
pub(crate) async fn round(
    database: &Database,
    build: &Build,
    folder: &Path,
    urls: u64,
    results: &mut Results,
) -> anyhow::Result<()> {
    let records = Records { company: 1, affiliates: urls.div_ceil(20), urls, cases: urls.div_ceil(20) };
    let mut times = [0.0; 2];
    for (with_service, time) in [false, true].into_iter().zip(&mut times) {
        database.drop_other(NAME).await?;
        let url = database.create_other(NAME).await?;
        migrate(build, &url).await?;
        let service = if with_service { Some(OneProcess::start(build, &url, folder).await?) } else { None };
        let start = Instant::now();
        make_records(build, &url, &records, 1).await?;
        *time = start.elapsed().as_secs_f64();
        drop(service);
    }
    let [without, with] = times;
    results.add(Table::DemoData, "compliance demo-data", urls, Some(without), with);
    database.drop_other(NAME).await
}
