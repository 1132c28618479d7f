//! The running contenders.

use std::{net::SocketAddr, path::Path};

use anyhow::{Context as _, ensure};

use load_test::{
    service::{Build, Child, Database, OneProcess, TwoProcesses, token},
    target::Target,
    workload::{Chance, Universe},
};

use crate::{
    contender::{Contender, Form, Way},
    peers::{self, Peer, envoy, fastapi, postgrest},
    pgbench,
    question::{HttpWorker, Question},
};

/// Records that are compared field by field before anything is measured.
const COMPARED: usize = 20;

/// The contenders over one database.
#[derive(Debug)]
pub(crate) struct Stage<'a> {
    pub(crate) database: &'a Database,
    pub(crate) folder: &'a Path,
    pub(crate) universe: Universe,
    pub(crate) contenders: Vec<Contender>,
    /// Contenders that do not run, and why.
    pub(crate) skipped: Vec<(String, String)>,
    /// The programs end with the stage.
    _one: OneProcess,
    _two: TwoProcesses,
    _peers: Vec<Child>,
}

impl<'a> Stage<'a> {
    /// Starts our own contenders and, with a folder for them, the peers: `all`, or only those that serve more than point
    /// reads.
    pub(crate) async fn set(
        database: &'a Database,
        build: &Build,
        folder: &'a Path,
        peers_dir: Option<&Path>,
        company: i64,
        all: bool,
    ) -> anyhow::Result<Self> {
        eprintln!("starting the contenders …");
        let universe = database.universe(company).await?;
        let one = OneProcess::start(build, &database.url(), folder).await?;
        let two = TwoProcesses::start(build, &database.url(), folder).await?;
        let core = two.grpc;
        let mut contenders = ours(&one, &two, company)?;
        let (mut running, mut skipped) = (Vec::new(), Vec::new());
        let mut add = |key, name: &'static str, form, started: anyhow::Result<(SocketAddr, Child)>| match started {
            Ok((address, process)) => {
                let token = if form == Form::Transcoded { Some(token(company)?) } else { None };
                let way = Way::Http { target: Target::local(address), form, token };
                let mut processes = vec![process.pid];
                if form == Form::Transcoded {
                    processes.push(two.core.pid);
                }
                contenders.push(Contender { key, name, way, processes });
                running.push(process);
                Ok::<_, anyhow::Error>(())
            }
            Err(error) => {
                eprintln!("without ({key}) {name}: {error:#}");
                skipped.push((format!("({key}) {name}"), format!("{error:#}")));
                Ok(())
            }
        };
        let peers_of_all = peers_dir.filter(|_| all);
        if let Some(peers_dir) = peers_of_all {
            let sqlx = peers::start(Peer::AxumSqlx, database, company, folder).await;
            add('e', "axum + sqlx, its defaults", Form::Documented, sqlx)?;
            let tokio_postgres = peers::start(Peer::AxumTokioPostgres, database, company, folder).await;
            add('f', "axum + tokio-postgres", Form::Documented, tokio_postgres)?;
            let envoy = envoy::start(peers_dir, core, folder).await;
            add('g', "Envoy's transcoder before our core", Form::Transcoded, envoy)?;
        }
        if let Some(peers_dir) = peers_dir {
            let postgrest = postgrest::start(peers_dir, database, folder).await;
            add('h', "PostgREST", Form::Tables, postgrest)?;
        }
        if let Some(peers_dir) = peers_of_all {
            let fastapi = fastapi::start(peers_dir, database, company, folder).await;
            add('i', "FastAPI + asyncpg + uvicorn", Form::Documented, fastapi)?;
            match pgbench::find(database) {
                Ok(_) => contenders.push(Contender {
                    key: 'd',
                    name: "pgbench, prepared: the database alone",
                    way: Way::Pgbench,
                    processes: Vec::new(),
                }),
                Err(error) => skipped.push(("(d) pgbench".to_owned(), format!("{error:#}"))),
            }
        }
        contenders.sort_by_key(|contender| contender.key);
        let mut stage = Self { database, folder, universe, contenders, skipped, _one: one, _two: two, _peers: running };
        stage.agree().await?;
        Ok(stage)
    }

    /// The contender of a letter.
    pub(crate) fn contender(&self, key: char) -> Option<&Contender> {
        self.contenders.iter().find(|contender| contender.key == key)
    }

    /// Leaves out contenders that do not respond, and checks that the others have the same records.
    async fn agree(&mut self) -> anyhow::Result<()> {
        let mut chance = Chance::new(99);
        let ids: Vec<i64> = (0..COMPARED).map(|_| self.universe.affiliates.draw(&mut chance)).collect();
        let mut expected: Option<Vec<serde_json::Value>> = None;
        let mut kept = Vec::new();
        for contender in std::mem::take(&mut self.contenders) {
            let Way::Http { target, form, token } = &contender.way else {
                kept.push(contender);
                continue;
            };
            let (key, name) = (contender.key, contender.name);
            let records = records(target, *form, token.as_deref(), &self.universe, &ids).await;
            match (records, &expected) {
                (Ok(records), Some(expected)) => {
                    for (record, expected) in records.iter().zip(expected) {
                        // A transcoder writes numbers and absent fields in a form of its own.
                        let same = match form {
                            Form::Transcoded => record["distributor_name"] == expected["distributor_name"],
                            _ => record == expected,
                        };
                        ensure!(same, "({key}) {name} has another record than ours: {record} instead of {expected}");
                    }
                    kept.push(contender);
                }
                (Ok(records), None) => {
                    expected = Some(records);
                    kept.push(contender);
                }
                (Err(error), None) => return Err(error.context(format!("({key}) {name} does not respond"))),
                (Err(error), Some(_)) => {
                    eprintln!("without ({key}) {name}: {error:#}");
                    self.skipped.push((format!("({key}) {name}"), format!("{error:#}")));
                }
            }
        }
        self.contenders = kept;
        Ok(())
    }
}

/// The service itself, reached in three ways.
fn ours(one: &OneProcess, two: &TwoProcesses, company: i64) -> anyhow::Result<Vec<Contender>> {
    let rest = |address| -> anyhow::Result<Way> {
        let token = Some(token(company)?);
        Ok(Way::Http { target: Target::local(address), form: Form::Documented, token })
    };
    Ok(vec![
        Contender { key: 'a', name: "our REST, one process", way: rest(one.rest)?, processes: vec![one.process.pid] },
        Contender {
            key: 'b',
            name: "our REST, two processes over TCP",
            way: rest(two.rest)?,
            processes: vec![two.gateway.pid, two.core.pid],
        },
        Contender {
            key: 'c',
            name: "our gRPC, one process",
            way: Way::Grpc { target: Target::local(one.grpc), token: token(company)? },
            processes: vec![one.process.pid],
        },
    ])
}

async fn records(
    target: &Target,
    form: Form,
    token: Option<&str>,
    universe: &Universe,
    ids: &[i64],
) -> anyhow::Result<Vec<serde_json::Value>> {
    let asking = async {
        let mut worker = HttpWorker::open(target, form, token, Question::Affiliate, universe, 0).await?;
        let mut records = Vec::new();
        for id in ids {
            records.push(worker.affiliate(*id).await?);
        }
        anyhow::Ok(records)
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), asking).await.context("no response in 20 s")?
}
