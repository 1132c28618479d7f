//! Runs `pgbench` with the same point select, to measure the database's limit.

use std::{path::Path, time::Duration};

use anyhow::{Context as _, ensure};
use tokio::process::Command;

use load_test::workload::Universe;

use crate::{
    cpu::cpu_seconds,
    measure::Sample,
    peers::SELECT,
    service::{DATABASE_NAME, Database},
};

/// Extra time after which `pgbench` is considered stuck.
const EXTRA_TIME: Duration = Duration::from_secs(20);

/// Returns the path of `pgbench`.
pub(crate) fn find(database: &Database) -> anyhow::Result<std::path::PathBuf> {
    let path = database.bin_dir().join("pgbench");
    ensure!(path.is_file(), "{} does not exist", path.display());
    Ok(path)
}

/// Runs one measurement.
pub(crate) async fn measure(
    database: &Database,
    universe: &Universe,
    folder: &Path,
    connections: u32,
    seconds: f64,
) -> anyhow::Result<Sample> {
    let script = folder.join("point-select.sql");
    // The first company's IDs have no gaps.
    let ids = &universe.affiliates;
    let (first, last) = ids.first().zip(ids.last()).context("the company has no affiliates")?;
    let company = universe.company;
    std::fs::write(
        &script,
        format!("\\set id random({first}, {last})\n{SELECT} where company_id = {company} and id = :id;\n"),
    )?;
    let seconds = seconds.ceil();
    let before = cpu_seconds(&[database.pid()?]);
    let mut command = Command::new(find(database)?);
    command.args(["--no-vacuum", "--protocol=prepared", "--username", embedded_postgres::OWNER_ROLE]);
    command.args(["--client", &connections.to_string(), "--jobs", if connections > 1 { "2" } else { "1" }]);
    command.args(["--time", &seconds.to_string(), "--host"]).arg(database.socket_dir());
    command.arg("--file").arg(&script).arg(DATABASE_NAME).kill_on_drop(true);
    let output = tokio::time::timeout(Duration::from_secs_f64(seconds) + EXTRA_TIME, command.output());
    let output = output.await.context("pgbench timed out")?.context("cannot run pgbench")?;
    let after = cpu_seconds(&[database.pid()?]);
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "pgbench failed: {}", String::from_utf8_lossy(&output.stderr));
    let (requests, rate, latency) = parse(&text).with_context(|| format!("cannot parse the pgbench output: {text}"))?;
    Ok(Sample {
        rate,
        // pgbench reports only the mean.
        p50: latency,
        p99: f64::NAN,
        own_cpu: 0.0,
        database_cpu: (after - before) * 1e6 / requests as f64,
    })
}

/// Returns the transactions, the transactions per second, and the mean latency in milliseconds.
fn parse(text: &str) -> Option<(u64, f64, f64)> {
    let after = |label: &str| {
        let rest = text.lines().find_map(|line| line.strip_prefix(label))?;
        rest.split_ascii_whitespace().next()
    };
    let requests = after("number of transactions actually processed: ")?.split('/').next()?.parse().ok()?;
    Some((requests, after("tps = ")?.parse().ok()?, after("latency average = ")?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    #[test]
    fn pgbench_output_is_parsed() {
        let text = "number of transactions actually processed: 1234\nlatency average = 0.5 ms\n\
            tps = 2000.25 (without initial connection time)\n";
        assert_eq!(super::parse(text), Some((1234, 2000.25, 0.5)));
        assert_eq!(super::parse(""), None);
    }
}
