//! The record of changes: watches, the feed, syncs, and the cost of recording for each kind of write.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use compliance_api::v1::AffiliateInput;
use load_test::{
    http,
    target::{HTTP1, Target},
    workload::{Ids, Scenario, Universe, affiliate, affiliate_json},
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    sync::mpsc,
    task::JoinSet,
};

use crate::{
    batch::{by_request, psql},
    caller::Caller,
    contender::{Contender, Way},
    dataset::MIDDLE,
    lists::ours,
    load::load,
    results::Results,
    service::token,
    stage::Stage,
    tables::Table,
};

/// Concurrent watches.
const WATCHES: i64 = 1_000;
/// The first watched company, and the company that writes. They are empty before and after.
const FIRST_WATCHED: i64 = 3_001;
const WRITER: i64 = 8;
/// Pauses between commits, if all watches share a company and if each has its own.
const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_millis(20)];
/// Maximum delay of a change.
const PATIENCE: Duration = Duration::from_secs(30);
/// Affiliates of a sync and of a batch.
const SIZE: u64 = 10_000;
/// Connections of single writes.
const WRITES: u32 = 32;

/// Single writes whose cost is measured.
const WRITTEN: [(&str, Scenario); 3] = [
    ("one new URL a request", Scenario::UrlAddOne),
    ("one new affiliate a request", Scenario::Create),
    ("one changed affiliate a request", Scenario::Update),
];

/// Measures one round.
pub(crate) async fn round(stage: &Stage<'_>, round: u64, seconds: f64, results: &mut Results) -> anyhow::Result<()> {
    for contender in ['a', 'b'].iter().filter_map(|key| stage.contender(*key)) {
        for (companies, pause) in [1, WATCHES].into_iter().zip(PAUSES) {
            let latencies = watch(stage, contender, companies, pause, seconds).await?;
            let what = format!("({}) {companies} companies", contender.key);
            results.add(
                Table::Watches,
                &what,
                WATCHES as u64,
                Some(percentile(&latencies, 0.5)),
                percentile(&latencies, 0.99),
            );
            results.add(Table::LateChanges, &what, WATCHES as u64, None, percentile(&latencies, 0.99));
        }
    }
    feed(stage, results).await?;
    sync(stage, round, results).await?;
    costs(stage, round, seconds, results).await
}

/// Commits changes for some seconds while this number of companies is watched. Returns the milliseconds from the beginning of a commit until
/// each watch has its change, in order.
async fn watch(
    stage: &Stage<'_>,
    contender: &Contender,
    companies: i64,
    pause: Duration,
    seconds: f64,
) -> anyhow::Result<Vec<f64>> {
    let Way::Rest { target, .. } = &contender.way else { anyhow::bail!("it has no events") };
    let (sender, mut received) = mpsc::unbounded_channel();
    let mut watches = JoinSet::new();
    for number in 0..WATCHES {
        let company = FIRST_WATCHED + number % companies;
        watches.spawn(events(target.clone(), company, sender.clone()));
    }
    let mut positions = HashMap::new();
    for _ in 0..WATCHES {
        let (company, position, _) = next(&mut received).await?;
        positions.insert(company, position);
    }
    let (mut latencies, start, mut commits) = (Vec::new(), Instant::now(), 0);
    while start.elapsed().as_secs_f64() < seconds {
        let company = FIRST_WATCHED + commits % companies;
        let mut transaction = stage.database.pool.begin().await?;
        let insert = "insert into compliance_urls (company_id, url, url_hash)
            select $1, u, sha256(u::bytea) from cast('https://load.example.com/' || gen_random_uuid() as text) u";
        sqlx::query(insert).bind(company).execute(&mut *transaction).await?;
        let committed = Instant::now();
        transaction.commit().await?;
        let expected = positions.entry(company).or_insert(0);
        *expected += 1;
        for _ in 0..WATCHES / companies {
            let (of, position, at) = next(&mut received).await?;
            ensure!((of, position) == (company, *expected), "company {of} has position {position}, not {expected}");
            latencies.push(at.duration_since(committed).as_secs_f64() * 1e3);
        }
        commits += 1;
        tokio::time::sleep(pause.saturating_sub(committed.elapsed())).await;
    }
    watches.shutdown().await;
    let companies = format!("between {FIRST_WATCHED} and {}", FIRST_WATCHED + WATCHES - 1);
    stage.database.run(&format!("delete from compliance_urls where company_id {companies}")).await?;
    latencies.sort_by(f64::total_cmp);
    Ok(latencies)
}

/// The received events of a watch.
type Received = (i64, i64, Instant);

async fn next(received: &mut mpsc::UnboundedReceiver<Received>) -> anyhow::Result<Received> {
    tokio::time::timeout(PATIENCE, received.recv())
        .await
        .context("a watch does not get its change")?
        .context("no watch is left")
}

/// Watches a company, and reports each new position.
async fn events(target: Target, company: i64, received: mpsc::UnboundedSender<Received>) -> anyhow::Result<()> {
    let headers = http::headers(&target, Some(&token(company)?)) + "accept: text/event-stream\r\n";
    let (mut request, mut stream) = (Vec::new(), target.connect(HTTP1).await?);
    http::request(&mut request, "GET", "/api/changes", &headers, b"");
    stream.write_all(&request).await?;
    let (mut text, mut last) = (Vec::new(), -1);
    loop {
        ensure!(stream.read_buf(&mut text).await? > 0, "a watch has ended");
        let now = Instant::now();
        while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = text.drain(..=end).collect();
            let position = line.strip_prefix(b"id: ").and_then(|id| str::from_utf8(id.trim_ascii()).ok()?.parse().ok());
            if let Some(position) = position.filter(|position| *position != last) {
                last = position;
                received.send((company, position, now))?;
            }
        }
    }
}

/// The quantile of sorted values. NaN without values.
fn percentile(sorted: &[f64], part: f64) -> f64 {
    sorted.get(((sorted.len() as f64 * part) as usize).min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

/// All changes of a company, in pages, compared with `\copy` of their rows.
async fn feed(stage: &Stage<'_>, results: &mut Results) -> anyhow::Result<()> {
    let rows = format!("\\copy (select * from changes where company_id = {MIDDLE} order by position) to '/dev/null'");
    let copied = psql(stage.database, &rows).await?;
    let mut caller = Caller::of(&ours(stage)?, MIDDLE).await?;
    let first = caller.timed("GET", "/api/changes", b"", 200).await.and(caller.answer())?;
    let (start, last) = (Instant::now(), first["data"]["last_position"].as_i64().unwrap_or_default());
    let (dropped, mut changes) = (first["data"]["dropped_position"].as_i64().unwrap_or_default(), 0);
    let mut after = dropped;
    while after < last {
        caller.timed("GET", &format!("/api/changes?after={after}&limit=1000"), b"", 200).await?;
        let page = &caller.answer()?["data"];
        changes += page["changes"].as_array().map_or(0, Vec::len) as u64;
        after = page["position"].as_i64().context("a page has a position")?;
    }
    ensure!(changes == (last - dropped) as u64, "{changes} of {} changes", last - dropped);
    let per_thousand = 1e3 / changes.max(1) as f64;
    let read = start.elapsed().as_secs_f64() * 1e3;
    results.add(Table::Feed, "GET /changes?limit=1000", changes, Some(copied * per_thousand), read * per_thousand);
    Ok(())
}

/// A sync of new affiliates, and the same sync again.
async fn sync(stage: &Stage<'_>, round: u64, results: &mut Results) -> anyhow::Result<()> {
    stage.database.clear(WRITER).await?;
    let mut caller = Caller::of(&ours(stage)?, WRITER).await?;
    let mut roster: Vec<_> = (0..SIZE).map(|number| affiliate_json(&affiliate(round, number))).collect();
    for (number, item) in roster.iter_mut().enumerate() {
        item["client_affiliate_id"] = json!(format!("roster {number}"));
    }
    let body = json!({ "affiliates": roster }).to_string();
    let created = caller.timed("POST", "/api/affiliates:sync", body.as_bytes(), 200).await?;
    stage.database.tidy().await?;
    let again = caller.timed("POST", "/api/affiliates:sync", body.as_bytes(), 200).await?;
    let outcomes = &caller.answer()?["data"]["results"];
    let unchanged = outcomes.as_array().is_some_and(|all| all.iter().all(|item| item["outcome"] == "unchanged"));
    ensure!(unchanged, "the same roster changes something");
    results.add(Table::Syncs, "POST /affiliates:sync", SIZE, Some(created), again);
    results.add(Table::SameRoster, "POST /affiliates:sync", SIZE, None, again);
    stage.database.clear(WRITER).await
}

/// Each kind of write with and without the record.
async fn costs(stage: &Stage<'_>, round: u64, seconds: f64, results: &mut Results) -> anyhow::Result<()> {
    let contender = stage.contender('a').context("it runs")?;
    let mut caller = Caller::of(&ours(stage)?, WRITER).await?;
    let mut order = [false, true];
    if round % 2 == 1 {
        order.reverse();
    }
    let mut times: HashMap<(&str, bool), f64> = HashMap::new();
    for is_recorded in order {
        record(stage, is_recorded).await?;
        let measured = async {
            stage.database.clear(WRITER).await?;
            let inputs: Vec<AffiliateInput> = (0..SIZE).map(|number| affiliate(round, number)).collect();
            times.insert(("a batch of new affiliates", is_recorded), by_request(&mut caller, &inputs).await?);
            stage.database.tidy().await?;
            for (work, scenario) in WRITTEN {
                let mut universe = stage.database.universe(WRITER).await?;
                if !scenario.keeps_affiliates() {
                    universe = Universe { affiliates: Ids::Range(1..=1), ..universe };
                }
                let sample = load(stage, contender, scenario, &[universe], WRITES, seconds).await?;
                times.insert((work, is_recorded), 1e3 / sample.rate);
            }
            anyhow::Ok(())
        };
        let measured = measured.await;
        record(stage, true).await?;
        measured?;
    }
    for work in WRITTEN.iter().map(|(work, _)| *work).chain(["a batch of new affiliates"]) {
        let number = if work.starts_with("one") { 1 } else { SIZE };
        let time = |is_recorded| times.get(&(work, is_recorded)).copied();
        results.add(Table::Recording, work, number, time(false), time(true).context("it was measured")?);
    }
    stage.database.clear(WRITER).await?;
    stage.database.tidy().await
}

/// Switches the record of changes on or off.
async fn record(stage: &Stage<'_>, is_on: bool) -> anyhow::Result<()> {
    let verb = if is_on { "enable" } else { "disable" };
    let statement = format!(
        "do $$ declare t record; begin
            for t in select tgrelid::regclass as name, tgname from pg_trigger where tgname like 'a\\_record\\_%' loop
                execute format('alter table %s {verb} trigger %I', t.name, t.tgname);
            end loop;
        end $$"
    );
    stage.database.run(&statement).await
}

#[cfg(test)]
mod tests {
    use super::percentile;

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        let found = [0.0, 0.5, 0.99, 1.0].map(|part| percentile(&values, part));
        assert_eq!(found.map(f64::to_bits), [1.0, 51.0, 100.0, 100.0].map(f64::to_bits));
        assert!(percentile(&[], 0.5).is_nan());
    }
}
