//! The whole list of affiliates: how long it takes beside `\copy` of the same rows, and what memory it takes.

use std::path::Path;

use anyhow::ensure;

use super::{Effort, batch::psql, results::Listing, single::Caller};
use crate::{
    list::List,
    peers::SELECT,
    service::{Binaries, Database, Dataset, LISTED, MANY, OneProcess, SMALL, TwoProcesses, peak_memory},
    target::Target,
};

const PATH: &str = "/api/affiliates";
/// Bytes of a MiB.
const MIB: f64 = 1_048_576.0;

/// Measures all rounds, each with processes of its own: the most memory that one ever had does not shrink.
pub(super) async fn run(
    database: &Database,
    binaries: &Binaries,
    folder: &Path,
    dataset: &Dataset,
    effort: Effort,
) -> anyhow::Result<Listing> {
    let company = if dataset.listed > 0 { LISTED } else { MANY };
    let expected = database.universe(company).await?.affiliates_total.unwrap_or_default();
    let mut listing = Listing { affiliates: expected, ..Listing::default() };
    for round in 0..effort.rounds {
        eprintln!("whole lists, round {} of {}", round + 1, effort.rounds);
        {
            let one = OneProcess::start(binaries, database, folder).await?;
            let (times, grown) = list(one.rest, &[one.process.pid], company, expected).await?;
            listing.one_first.push(times.0);
            listing.one_time.push(times.1);
            listing.one_growth.extend(grown);
        }
        {
            let two = TwoProcesses::start(binaries, database, folder).await?;
            let (times, grown) = list(two.rest, &[two.gateway.pid, two.core.pid], company, expected).await?;
            listing.two_first.push(times.0);
            listing.two_time.push(times.1);
            listing.gateway_growth.push(grown[0]);
            listing.core_growth.push(grown[1]);
        }
        let rows = format!("select row_to_json(r) from ({SELECT} where company_id = {company} order by id) r");
        listing.copy_time.push(psql(database, &format!("\\copy ({rows}) to '/dev/null'")).await?);
    }
    Ok(listing)
}

/// Lists a small company, then the large one: milliseconds to the first byte and to the last, and by how many MiB the
/// peak of each process grew from the one to the other.
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
    let mut list = List::default();
    let times = large.streamed(PATH, |part| list.read(part)).await?;
    let records = list.records()?;
    ensure!(records == expected, "the list has {records} affiliates instead of {expected}");
    let after = processes.iter().map(|pid| peak_memory(*pid)).collect::<anyhow::Result<Vec<u64>>>()?;
    let grown = after.iter().zip(before).map(|(after, before)| after.saturating_sub(before) as f64 / MIB);
    Ok((times, grown.collect()))
}
