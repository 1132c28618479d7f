//! Starts the contenders, and checks that they return the same records.

use std::{net::SocketAddr, path::Path, time::Duration};

use anyhow::{Context as _, ensure};

use load_test::{
    target::Target,
    workload::{LoadRequest, Rng, Universe},
};

use crate::{
    child::{Build, Child},
    contender::{Contender, Way},
    dataset::in_memory,
    peers::{self, Peer, postgrest},
    pgbench,
    service::{Database, OneProcess, TwoProcesses},
};

/// The contender that returns the same bytes from memory.
pub(crate) const LIMIT: char = 'k';

/// Number of records to compare before the measurements.
const COMPARED: usize = 20;
/// Timeout for this comparison, per contender.
const RESPONSE_TIME: Duration = Duration::from_secs(20);

/// The contenders for one database.
#[derive(Debug)]
pub(crate) struct Stage<'a> {
    pub(crate) database: &'a Database,
    pub(crate) folder: &'a Path,
    pub(crate) universe: Universe,
    pub(crate) contenders: Vec<Contender>,
    /// Contenders that do not run, and why.
    pub(crate) skipped: Vec<(String, String)>,
    /// Dropping the stage stops the programs.
    _one: OneProcess,
    _two: TwoProcesses,
    _peers: Vec<Child>,
}

impl<'a> Stage<'a> {
    /// Starts our own contenders and, if there is a folder, the peers.
    pub(crate) async fn set(
        database: &'a Database,
        build: &Build,
        folder: &'a Path,
        peers_dir: Option<&Path>,
        company: i64,
    ) -> anyhow::Result<Self> {
        eprintln!("starting the contenders …");
        let universe = database.universe(company).await?;
        let one = OneProcess::start(build, &database.url(), folder).await?;
        let two = TwoProcesses::start(build, &database.url(), folder).await?;
        let mut contenders = ours(&one, &two);
        let (mut running, mut skipped) = (Vec::new(), Vec::new());
        let mut add =
            |key, name: &'static str, way: fn(Target) -> Way, started: anyhow::Result<(SocketAddr, Child)>| {
                match started {
                    Ok((address, process)) => {
                        let way = way(Target::local(address));
                        contenders.push(Contender { key, name, way, processes: vec![process.pid] });
                        running.push(process);
                    }
                    Err(error) => {
                        eprintln!("skipping ({key}) {name}: {error:#}");
                        skipped.push((format!("({key}) {name}"), format!("{error:#}")));
                    }
                }
            };
        if let Some(peers_dir) = peers_dir {
            let postgrest = postgrest::start(peers_dir, database, folder).await;
            add('h', "PostgREST", |target| Way::Tables { target }, postgrest);
            let sqlx = peers::start(Peer::AxumSqlx, database, company, folder).await;
            add('e', "axum + sqlx, its defaults", |target| Way::Rest { target, has_token: false }, sqlx);
            let memory = peers::start(Peer::Memory, database, company, folder).await;
            let name = "axum alone, the same bytes from memory";
            add(LIMIT, name, |target| Way::Rest { target, has_token: true }, memory);
            match pgbench::find(database) {
                Ok(_) => contenders.push(Contender {
                    key: 'd',
                    name: "pgbench, prepared: the database alone",
                    way: Way::Pgbench,
                    processes: Vec::new(),
                }),
                Err(error) => skipped.push(("(d) pgbench".to_owned(), format!("{error:#}"))),
            }
            contenders.push(Contender { key: 'j', name: "bare inserts", way: Way::Bare, processes: Vec::new() });
        }
        contenders.sort_by_key(|contender| contender.key);
        let mut stage = Self { database, folder, universe, contenders, skipped, _one: one, _two: two, _peers: running };
        stage.agree().await?;
        Ok(stage)
    }

    /// Returns the contender with this letter.
    pub(crate) fn contender(&self, key: char) -> Option<&Contender> {
        self.contenders.iter().find(|contender| contender.key == key)
    }

    /// Drops contenders that do not respond, and checks that the others return the same records.
    async fn agree(&mut self) -> anyhow::Result<()> {
        let (mut random, company) = (Rng::with_seed(99), self.universe.company);
        let affiliates = in_memory(&self.universe).affiliates;
        let reads: Vec<_> =
            (0..COMPARED).map(|_| LoadRequest::GetAffiliate(affiliates[random.usize(..affiliates.len())])).collect();
        let mut expected: Option<Vec<serde_json::Value>> = None;
        let mut kept = Vec::new();
        for contender in std::mem::take(&mut self.contenders) {
            let (key, name) = (contender.key, contender.name);
            let records = tokio::time::timeout(RESPONSE_TIME, records(&contender, company, &reads)).await;
            match (records.context("no response within 20 s").flatten(), &expected) {
                (Ok(None), _) => {}
                (Ok(Some(records)), Some(expected)) => {
                    for (record, expected) in records.iter().zip(expected) {
                        let same = record == expected;
                        ensure!(same, "({key}) {name} returned {record} instead of {expected}");
                    }
                }
                (Ok(Some(records)), None) => expected = Some(records),
                (Err(error), None) => return Err(error.context(format!("({key}) {name} does not respond"))),
                (Err(error), Some(_)) => {
                    eprintln!("skipping ({key}) {name}: {error:#}");
                    self.skipped.push((format!("({key}) {name}"), format!("{error:#}")));
                    continue;
                }
            }
            kept.push(contender);
        }
        self.contenders = kept;
        Ok(())
    }
}

/// Returns the records of some reads, if the contender speaks HTTP and JSON.
async fn records(
    contender: &Contender,
    company: i64,
    reads: &[LoadRequest],
) -> anyhow::Result<Option<Vec<serde_json::Value>>> {
    let Some(mut caller) = contender.caller(company, &reads[0]).await? else { return Ok(None) };
    let mut records = Vec::new();
    for read in reads {
        records.push(contender.ask(&mut caller, company, read).await?);
    }
    Ok(Some(records))
}

/// Returns the service's contenders.
fn ours(one: &OneProcess, two: &TwoProcesses) -> Vec<Contender> {
    let rest = |address| Way::Rest { target: Target::local(address), has_token: true };
    let (all, tiers) = (vec![one.process.pid], vec![two.gateway.pid, two.core.pid]);
    vec![
        Contender { key: 'a', name: "our REST, one process", way: rest(one.rest), processes: all.clone() },
        Contender { key: 'b', name: "our REST, two processes over TCP", way: rest(two.rest), processes: tiers },
        Contender {
            key: 'c',
            name: "our gRPC, one process",
            way: Way::Grpc { target: Target::local(one.grpc) },
            processes: all,
        },
    ]
}
