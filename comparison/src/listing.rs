//! The whole list of affiliates: time beside `\copy` of the same rows, and memory.

use std::path::Path;

use anyhow::ensure;

use load_test::{
    affiliate_list::AffiliateList,
    service::{Build, Database, OneProcess, TwoProcesses},
    target::Target,
};

use crate::{
    batch::psql,
    caller::Caller,
    cpu::peak_memory,
    dataset::{Dataset, LISTED, MANY, SMALL},
    peers::SELECT,
    results::Listing,
};

const PATH: &str = "/api/affiliates";
/// Bytes of a MiB.
const MIB: f64 = 1_048_576.0;

/// Measures one round with new processes, since the peak of a process's memory never shrinks.
pub(crate) async fn round(
    database: &Database,
    build: &Build,
    folder: &Path,
    dataset: &Dataset,
    listing: &mut Listing,
) -> anyhow::Result<()> {
    let company = if dataset.listed > 0 { LISTED } else { MANY };
    let expected = database.universe(company).await?.affiliates_total.unwrap_or_default();
    listing.affiliates = expected;
    {
        let one = OneProcess::start(build, &database.url(), folder).await?;
        let (times, grown) = list(one.rest, &[one.process.pid], company, expected).await?;
        listing.one_first.push(times.0);
        listing.one_time.push(times.1);
        listing.one_growth.extend(grown);
    }
    {
        let two = TwoProcesses::start(build, &database.url(), folder).await?;
        let (times, grown) = list(two.rest, &[two.gateway.pid, two.core.pid], company, expected).await?;
        listing.two_first.push(times.0);
        listing.two_time.push(times.1);
        listing.gateway_growth.push(grown[0]);
        listing.core_growth.push(grown[1]);
    }
    let rows = format!("select row_to_json(r) from ({SELECT} where company_id = {company} order by id) r");
    listing.copy_time.push(psql(database, &format!("\\copy ({rows}) to '/dev/null'")).await?);
    Ok(())
}

/// Lists a small company, then the large one. Returns the milliseconds to the first and last byte, and the growth of
/// each process's peak memory from the first list to the second, in MiB.
async fn list(
    address: std::net::SocketAddr,
    processes: &[i32],
    company: i64,
    expected: u64,
) -> anyhow::Result<((f64, f64), Vec<f64>)> {
    let target = Target::local(address);
    let mut small = Caller::open(&target, SMALL).await?;
    for _ in 0..3 {
        small.streamed(PATH, |_| {}).await?;
    }
    let before = processes.iter().map(|pid| peak_memory(*pid)).collect::<anyhow::Result<Vec<u64>>>()?;
    let mut large = Caller::open(&target, company).await?;
    let mut list = AffiliateList::default();
    let times = large.streamed(PATH, |part| list.read(part)).await?;
    let records = list.records()?;
    ensure!(records == expected, "the list has {records} affiliates instead of {expected}");
    let after = processes.iter().map(|pid| peak_memory(*pid)).collect::<anyhow::Result<Vec<u64>>>()?;
    let grown = after.iter().zip(before).map(|(after, before)| after.saturating_sub(before) as f64 / MIB);
    Ok((times, grown.collect()))
}
