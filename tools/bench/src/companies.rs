//! Reads and single writes by one company and by 64 with a token each, compared with the same bytes from memory and with bare inserts
//! into the same tables.

mod bare;

use load_test::workload::{Ids, Scenario, Universe};

use crate::{
    contender::Contender,
    dataset::{self, CROWD, MANY},
    load::load,
    measure::Sample,
    results::Results,
    service::Database,
    stage::{LIMIT, Stage},
};
use bare::BareWorker;

/// Connections, or calls in flight, of reads and of writes.
const READS: u32 = 64;
const WRITES: u32 = 32;
/// The first of the companies that receive writes. They are empty before and after.
const FIRST_WRITER: i64 = 2001;
/// The companies of the two kinds of load.
const COMPANIES: [u32; 2] = [1, CROWD];

/// The measured writes: names in results, scenarios and tables.
const WRITTEN: [(&str, Scenario, &str); 2] = [
    ("one new URL a request", Scenario::UrlAddOne, "compliance_urls"),
    ("one new affiliate a request", Scenario::Create, "affiliates"),
];

/// The work of point reads in results.
const READ: &str = "point reads by companies";
/// Bare inserts in results.
const BARE: (char, &str) = ('j', "bare inserts");

/// A contender with its number of companies.
type Load = (char, u32);

/// The goals: the work with its connections, two loads, and the minimum ratio of their rates.
pub(crate) fn goals() -> Vec<((&'static str, u32), Load, Load, f64)> {
    let mut goals = vec![
        ((READ, READS), ('a', 1), (LIMIT, 1), 0.6),
        ((READ, READS), ('a', CROWD), (LIMIT, CROWD), 0.55),
        ((READ, READS), ('b', 1), ('a', 1), 0.8),
        ((READ, READS), ('b', CROWD), ('a', CROWD), 0.8),
        ((READ, READS), ('a', CROWD), ('a', 1), 0.85),
        ((READ, READS), ('b', CROWD), ('b', 1), 0.85),
        ((READ, READS), ('b', CROWD), ('e', 1), 1.3),
        ((READ, READS), ('c', CROWD), ('a', CROWD), 1.0),
    ];
    for (work, ..) in WRITTEN {
        for key in ['a', 'b', 'c'] {
            goals.extend(COMPANIES.map(|companies| ((work, WRITES), (key, companies), (BARE.0, 1), 0.5)));
        }
    }
    goals
}

/// Measures one round.
pub(crate) async fn round(stage: &Stage<'_>, round: u64, seconds: f64, results: &mut Results) -> anyhow::Result<()> {
    let many = [stage.database.universe(MANY).await?];
    let mut crowd = Vec::new();
    for company in dataset::crowd() {
        crowd.push(stage.database.universe(company).await?);
    }
    let mut contenders: Vec<&Contender> =
        ['a', 'b', 'c', LIMIT].iter().filter_map(|key| stage.contender(*key)).collect();
    if round % 2 == 1 {
        contenders.reverse();
    }
    for contender in &contenders {
        for universes in [&many[..], &crowd] {
            let universes = if contender.key == LIMIT {
                universes.iter().map(dataset::in_memory).collect()
            } else {
                universes.to_vec()
            };
            let sample = load(stage, contender, Scenario::PointRead, &universes, READS, seconds).await?;
            let companies = universes.len() as u32;
            results.series(READ, (contender.key, contender.name), companies, READS).samples.push(sample);
        }
    }
    if let Some(peer) = stage.contender('e') {
        let sample = load(stage, peer, Scenario::PointRead, &many, READS, seconds).await?;
        results.series(READ, (peer.key, peer.name), 1, READS).samples.push(sample);
    }
    contenders.retain(|contender| contender.key != LIMIT);
    for (work, scenario, table) in WRITTEN {
        let sample = bare(stage.database, scenario, table, seconds).await?;
        results.series(work, BARE, 1, WRITES).samples.push(sample);
        for contender in &contenders {
            for companies in COMPANIES {
                let universes: Vec<_> = (FIRST_WRITER..).take(companies as usize).map(empty).collect();
                let sample = load(stage, contender, scenario, &universes, WRITES, seconds).await;
                clear(stage.database).await?;
                results.series(work, (contender.key, contender.name), companies, WRITES).samples.push(sample?);
            }
        }
    }
    Ok(())
}

/// Inserts single rows into a table with the same columns, indexes and rows, without triggers and foreign keys. After a
/// checkpoint, as for the others, each page that is changed for the first time is logged as a whole: an empty table has none.
async fn bare(database: &Database, scenario: Scenario, table: &str, seconds: f64) -> anyhow::Result<Sample> {
    let copy = format!(
        "drop table if exists bare; create table bare (like {table} including all);
        insert into bare select * from {table}"
    );
    database.run(&copy).await?;
    database.tidy().await?;
    let mut workers = Vec::new();
    for number in 0..WRITES {
        workers.push(BareWorker::open(database, scenario, &empty(FIRST_WRITER), number).await?);
    }
    let sample = Sample::of(workers, seconds, &[], database.pid()?).await;
    database.run("drop table bare").await?;
    sample
}

async fn clear(database: &Database) -> anyhow::Result<()> {
    let writers = format!("between {FIRST_WRITER} and {}", FIRST_WRITER + i64::from(CROWD) - 1);
    for table in ["compliance_urls", "affiliates"] {
        database.run(&format!("delete from {table} where company_id {writers}")).await?;
    }
    database.tidy().await
}

/// A company without records.
fn empty(company: i64) -> Universe {
    Universe { company, affiliates: Ids::Range(1..=1), affiliates_total: None, urls: 0, cases: 0 }
}
