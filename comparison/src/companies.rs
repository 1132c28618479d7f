//! Reads and single writes by one company and by 64 with a token each, beside bare inserts into the same tables.

mod bare;
mod worker;

use std::sync::Arc;

use anyhow::Context as _;
use load_test::{
    grpc,
    service::Database,
    target::Target,
    workload::{Ids, Scenario, Universe},
};

use crate::{
    contender::{Contender, Way},
    dataset::{self, CROWD, MANY},
    measure::{Sample, measure},
    results::CompanyLoad,
    stage::Stage,
};
use bare::BareWorker;
use worker::{GrpcClient, OperationWorker, RestClient};

/// Connections, or calls in flight, of reads and of writes.
const READS: u32 = 64;
const WRITES: u32 = 32;
/// Calls in flight on one HTTP/2 connection, as in a service whose tasks share one channel.
const CALLS_PER_CONNECTION: u32 = 16;
/// The first of the companies that receive writes. They are empty before and after.
const FIRST_WRITER: i64 = 2001;
/// The companies of the two kinds of load.
const COMPANIES: [u32; 2] = [1, CROWD];

/// Writes that are measured: their names in results, their scenarios and their tables.
const WRITTEN: [(&str, Scenario, &str); 2] = [
    ("one new URL a request", Scenario::UrlAdd, "compliance_urls"),
    ("one new affiliate a request", Scenario::Create, "affiliates"),
];

/// The work of point reads in results.
const READ: &str = "point reads";
/// The letter of bare inserts in results.
const BARE: char = 'j';

/// A contender with its number of companies.
type Load = (char, u32);

/// The goals: the work, two loads, and the least ratio of their rates.
pub(crate) fn goals() -> Vec<(&'static str, Load, Load, f64)> {
    let mut goals = vec![
        (READ, ('a', CROWD), ('a', 1), 0.85),
        (READ, ('b', CROWD), ('b', 1), 0.85),
        (READ, ('b', CROWD), ('e', 1), 1.3),
        (READ, ('c', CROWD), ('a', CROWD), 1.0),
    ];
    for (work, ..) in WRITTEN {
        for key in ['a', 'b', 'c'] {
            goals.extend(COMPANIES.map(|companies| (work, (key, companies), (BARE, 1), 0.5)));
        }
    }
    goals
}

/// Measures one round.
pub(crate) async fn round(
    stage: &Stage<'_>,
    round: u64,
    seconds: f64,
    loads: &mut Vec<CompanyLoad>,
) -> anyhow::Result<()> {
    let many = [stage.database.universe(MANY).await?];
    let mut crowd = Vec::new();
    for company in dataset::crowd() {
        crowd.push(stage.database.universe(company).await?);
    }
    let mut contenders: Vec<&Contender> = ['a', 'b', 'c'].iter().filter_map(|key| stage.contender(*key)).collect();
    if round % 2 == 1 {
        contenders.reverse();
    }
    for contender in &contenders {
        for universes in [&many[..], &crowd] {
            let sample = calls(stage.database, contender, Scenario::PointRead, universes, READS, seconds).await?;
            CompanyLoad::of(loads, READ, contender.key, universes.len() as u32).samples.push(sample);
        }
    }
    if let Some(contender) = stage.contender('e') {
        let question = crate::question::Question::Affiliate;
        let sample = crate::point_read::measure_one(stage, contender, READS, question, seconds).await?;
        CompanyLoad::of(loads, READ, 'e', 1).samples.push(sample);
    }
    for (work, scenario, table) in WRITTEN {
        let sample = bare(stage.database, scenario, table, seconds).await?;
        CompanyLoad::of(loads, work, BARE, 1).samples.push(sample);
        for contender in &contenders {
            for companies in COMPANIES {
                let universes: Vec<_> = (FIRST_WRITER..).take(companies as usize).map(empty).collect();
                let sample = calls(stage.database, contender, scenario, &universes, WRITES, seconds).await;
                clear(stage.database).await?;
                CompanyLoad::of(loads, work, contender.key, companies).samples.push(sample?);
            }
        }
    }
    Ok(())
}

/// Puts one contender under load by these companies in turn.
async fn calls(
    database: &Database,
    contender: &Contender,
    scenario: Scenario,
    companies: &[Universe],
    connections: u32,
    seconds: f64,
) -> anyhow::Result<Sample> {
    let (processes, pid) = (&contender.processes, database.pid()?);
    let shared = Arc::from(companies);
    let measured = async {
        match &contender.way {
            Way::Http { target, .. } => {
                let headers = RestClient::headers(target, companies)?;
                let mut workers = Vec::new();
                for number in 0..connections {
                    let client = RestClient::open(target, &headers).await?;
                    workers.push(OperationWorker::new(client, scenario, &shared, number));
                }
                measure(workers, seconds, processes, pid).await
            }
            Way::Grpc { target, .. } => {
                let headers = GrpcClient::headers(companies)?;
                let opened = open(target, connections).await?;
                let mut workers = Vec::new();
                for number in 0..connections {
                    let client = GrpcClient::new(&opened[number as usize % opened.len()], &headers);
                    workers.push(OperationWorker::new(client, scenario, &shared, number));
                }
                measure(workers, seconds, processes, pid).await
            }
            Way::Pgbench => anyhow::bail!("it has no companies"),
        }
    };
    measured.await.with_context(|| format!("({}) cannot be measured with {} companies", contender.key, companies.len()))
}

/// Opens the connections that calls share.
async fn open(target: &Target, calls: u32) -> anyhow::Result<Vec<grpc::Connection>> {
    let mut opened = Vec::new();
    for _ in 0..calls.div_ceil(CALLS_PER_CONNECTION) {
        opened.push(grpc::Connection::open(target).await?);
    }
    Ok(opened)
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
    let sample = measure(workers, seconds, &[], database.pid()?).await;
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
