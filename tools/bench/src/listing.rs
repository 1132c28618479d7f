//! The whole list of affiliates: time, compared with `\copy` of the same rows, and memory.

use std::path::Path;

use anyhow::ensure;

use load_test::{affiliate_list::AffiliateList, service::Build, target::Target};

use crate::{
    batch::psql,
    caller::Caller,
    cpu::peak_memory,
    dataset::{LISTED, SMALL},
    peers::SELECT,
    results::Results,
    service::{Database, OneProcess, TwoProcesses},
    tables::Table,
};

const PATH: &str = "/api/affiliates";
/// Bytes of a MiB.
const MIB: f64 = 1_048_576.0;

/// Measures one round with new processes, since the peak of a process's memory never shrinks.
pub(crate) async fn round(
    database: &Database,
    build: &Build,
    folder: &Path,
    results: &mut Results,
) -> anyhow::Result<()> {
    let expected = database.universe(LISTED).await?.affiliates_total.unwrap_or_default();
    let rows = format!("select row_to_json(r) from ({SELECT} where company_id = {LISTED} order by id) r");
    let copy = psql(database, &format!("\\copy ({rows}) to '/dev/null'")).await?;
    let one = OneProcess::start(build, &database.url(), folder).await?;
    let listed = list(one.rest, &[one.process.pid], expected).await?;
    add(results, "one process", &["one process"], expected, copy, listed);
    drop(one);
    let two = TwoProcesses::start(build, &database.url(), folder).await?;
    let listed = list(two.rest, &[two.gateway.pid, two.core.pid], expected).await?;
    add(results, "two processes", &["gateway", "core"], expected, copy, listed);
    Ok(())
}

/// Adds the times and the growth of memory of one round.
fn add(
    results: &mut Results,
    what: &str,
    processes: &[&str],
    affiliates: u64,
    copy: f64,
    ((first, last), grown): Listed,
) {
    results.add(Table::WholeList, what, affiliates, Some(copy / 1e3), last / 1e3);
    results.add(Table::FirstByte, what, affiliates, None, first);
    for (process, grown) in processes.iter().zip(grown) {
        results.add(Table::Memory, process, affiliates, None, grown);
    }
}

/// The milliseconds to the first and last byte, and the growth of each process's peak memory in MiB.
type Listed = ((f64, f64), Vec<f64>);

/// Lists a small company, then the large one. Memory grows from the first list to the second.
async fn list(address: std::net::SocketAddr, processes: &[i32], expected: u64) -> anyhow::Result<Listed> {
    let target = Target::local(address);
    let mut small = Caller::of(&target, SMALL).await?;
    for _ in 0..3 {
        small.streamed(PATH, |_| {}).await?;
    }
    let before = processes.iter().map(|pid| peak_memory(*pid)).collect::<anyhow::Result<Vec<u64>>>()?;
    let mut large = Caller::of(&target, LISTED).await?;
    let mut list = AffiliateList::default();
    let times = large.streamed(PATH, |part| list.read(part)).await?;
    let records = list.records()?;
    ensure!(records == expected, "the list has {records} affiliates instead of {expected}");
    let after = processes.iter().map(|pid| peak_memory(*pid)).collect::<anyhow::Result<Vec<u64>>>()?;
    let grown = after.iter().zip(before).map(|(after, before)| after.saturating_sub(before) as f64 / MIB);
    Ok((times, grown.collect()))
}
