//! Ten thousand affiliates in one request, compared with `\copy` of the same into the same table.

use std::{fmt::Write as _, path::Path, time::Duration};

use anyhow::{Context as _, ensure};
use compliance_api::{
    country,
    record::{Record as _, RecordField, StoredAs},
    v1::AffiliateInput,
};
use serde_json::json;
use tokio::process::Command;

use load_test::workload::{affiliate, affiliate_json};

use crate::{caller::Caller, lists::ours, results::Results, service::Database, stage::Stage, tables::Table};

/// Affiliates of a batch.
const SIZE: u64 = 10_000;
/// The companies for requests and for `\copy`. Both are empty before and after.
const BY_REQUEST: i64 = 5;
const BY_COPY: i64 = 6;
/// Minimum number of batches of each kind, because single times differ by a factor of two.
const LEAST: u64 = 20;
/// Bound of one `\copy`.
const COPY_TIME: Duration = Duration::from_mins(5);

/// Measures all rounds, after a first round that does not count.
pub(crate) async fn run(stage: &Stage<'_>, rounds: u64, results: &mut Results) -> anyhow::Result<()> {
    let database = stage.database;
    let mut caller = Caller::of(&ours(stage)?, BY_REQUEST).await?;
    for company in [BY_REQUEST, BY_COPY] {
        database.clear(company).await?;
    }
    for round in 0..=rounds.max(LEAST) {
        eprintln!("batches, round {round} of {}", rounds.max(LEAST));
        let inputs: Vec<AffiliateInput> = (0..SIZE).map(|number| affiliate(round, number)).collect();
        let request = by_request(&mut caller, &inputs).await?;
        let copy = by_copy(database, stage.folder, &inputs).await?;
        if round > 0 {
            results.add(Table::Batches, "POST /affiliates", SIZE, Some(copy), request);
        }
    }
    for company in [BY_REQUEST, BY_COPY] {
        database.clear(company).await?;
    }
    database.tidy().await
}

/// Sends one request and returns its milliseconds.
pub(crate) async fn by_request(caller: &mut Caller, inputs: &[AffiliateInput]) -> anyhow::Result<f64> {
    let inputs: Vec<_> = inputs.iter().map(affiliate_json).collect();
    let body = json!({ "affiliates": inputs }).to_string();
    let taken = caller.timed("POST", "/api/affiliates", body.as_bytes(), 201).await?;
    let answer = caller.answer()?;
    let results = answer.as_array().context("the response is no array")?;
    ensure!(results.len() == inputs.len(), "{} results of {}", results.len(), inputs.len());
    ensure!(results.iter().all(|result| result["code"] == "1020"), "not every affiliate was created");
    Ok(taken)
}

/// Runs one `\copy` and returns its milliseconds.
async fn by_copy(database: &Database, folder: &Path, inputs: &[AffiliateInput]) -> anyhow::Result<f64> {
    let given = |field: &RecordField<AffiliateInput>| inputs.iter().any(|input| field.is_given(input));
    let present: Vec<_> = AffiliateInput::FIELDS.iter().filter(|field| given(field)).collect();
    let names: Vec<&str> = present.iter().map(|field| field.column.name).collect();
    let mut rows = String::new();
    for input in inputs {
        write!(rows, "{BY_COPY}")?;
        for field in &present {
            let text = field.text(input).unwrap_or("\\N");
            match country::numeric(text).filter(|_| field.column.form == StoredAs::CountryCode) {
                Some(code) => write!(rows, "\t{code}")?,
                None => write!(rows, "\t{text}")?,
            }
        }
        rows.push('\n');
    }
    let file = folder.join("affiliates.tsv");
    std::fs::write(&file, rows).with_context(|| format!("cannot write {}", file.display()))?;
    let copy = format!("\\copy affiliates (company_id, {}) from '{}'", names.join(", "), file.display());
    psql(database, &copy).await
}

/// Runs a command in `psql` and returns the milliseconds that it reports, which leave out connecting.
pub(crate) async fn psql(database: &Database, command: &str) -> anyhow::Result<f64> {
    let mut psql = Command::new(database.bin_dir().join("psql"));
    psql.args(["--no-psqlrc", "--set", "ON_ERROR_STOP=1", "--command", "\\timing on", "--command", command]);
    psql.arg(database.url()).kill_on_drop(true).env("LC_ALL", "C");
    let output = tokio::time::timeout(COPY_TIME, psql.output()).await.context("psql takes too long")??;
    ensure!(output.status.success(), "psql failed: {}", String::from_utf8_lossy(&output.stderr));
    let output = String::from_utf8_lossy(&output.stdout);
    milliseconds(&output).with_context(|| format!("psql reports no time: {output}"))
}

/// The time in the output of `psql`.
fn milliseconds(output: &str) -> Option<f64> {
    output.lines().find_map(|line| line.strip_prefix("Time: "))?.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_time_is_read() {
        assert_eq!(super::milliseconds("Timing is on.\nCOPY 3\nTime: 1234.5 ms (00:01.234)\n"), Some(1234.5));
        assert_eq!(super::milliseconds("COPY 3\n"), None);
    }
}
