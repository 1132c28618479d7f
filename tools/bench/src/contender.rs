//! Defines the contenders and their protocols.

use anyhow::{Context as _, bail, ensure};
use http::{HeaderValue, header::ACCEPT};
use load_test::{
    check,
    client::{Layer, headers},
    measure::Worker,
    target::Target,
    workload::{LoadRequest, Plan, Scenario, Universe},
};
use serde_json::Value;

use crate::{caller::Caller, peers::postgrest, service::token};

/// A contender.
#[derive(Clone, Debug)]
pub(crate) struct Contender {
    /// Letter of the contender in tables.
    pub(crate) key: char,
    pub(crate) name: &'static str,
    pub(crate) way: Way,
    /// The contender's processes, without the database.
    pub(crate) processes: Vec<i32>,
}

/// A contender's protocol.
#[derive(Clone, Debug)]
pub(crate) enum Way {
    /// The documented paths and envelope.
    Rest {
        target: Target,
        has_token: bool,
    },
    /// Tables as paths, conditions as parameters, and bare rows, without tokens.
    Tables {
        target: Target,
    },
    Grpc {
        target: Target,
    },
    /// `pgbench` queries the database directly.
    Pgbench,
    /// Bare inserts into the database.
    Bare,
}

impl Contender {
    /// Returns a company's token, if the contender receives tokens.
    pub(crate) fn token(&self, company: i64) -> anyhow::Result<Option<String>> {
        match self.way {
            Way::Rest { has_token: false, .. } | Way::Tables { .. } | Way::Pgbench | Way::Bare => Ok(None),
            _ => token(company).map(Some),
        }
    }

    /// Returns a company's client for `read`, if the contender speaks HTTP and JSON.
    pub(crate) async fn caller(&self, company: i64, read: &LoadRequest) -> anyhow::Result<Option<Caller>> {
        let (Way::Rest { target, .. } | Way::Tables { target }) = &self.way else {
            return Ok(None);
        };
        let mut headers = headers(Layer::Rest, self.token(company)?.as_deref())?;
        if matches!((&self.way, read), (Way::Tables { .. }, LoadRequest::GetAffiliate(_))) {
            // Asks for a single row instead of a list.
            headers.insert(ACCEPT, HeaderValue::from_static("application/vnd.pgrst.object+json"));
        }
        Caller::open(target, headers).await.map(Some)
    }

    /// Returns the path of a read.
    fn path(&self, company: i64, read: &LoadRequest) -> anyhow::Result<String> {
        Ok(match (&self.way, read) {
            (Way::Rest { .. }, _) => read.rest().1,
            (Way::Tables { .. }, LoadRequest::GetAffiliate(id)) => postgrest::affiliate(company, *id),
            (Way::Tables { .. }, LoadRequest::ListUrls { .. }) => postgrest::url_page(company),
            _ => bail!("({}) {} does not serve this read", self.key, self.name),
        })
    }

    /// Sends a read, and returns the response's record or records.
    pub(crate) async fn ask(&self, caller: &mut Caller, company: i64, read: &LoadRequest) -> anyhow::Result<Value> {
        let mut answer = caller.json(&self.path(company, read)?).await?;
        Ok(if let Way::Rest { .. } = self.way { answer["data"].take() } else { answer })
    }
}

/// Reads from a contender with its own paths.
pub(crate) struct PeerWorker {
    contender: Contender,
    caller: Caller,
    plan: Plan,
    universe: Universe,
    number: u64,
}

impl PeerWorker {
    pub(crate) async fn open(
        contender: &Contender,
        scenario: Scenario,
        universe: &Universe,
        worker: u32,
    ) -> anyhow::Result<Self> {
        let mut plan = Plan::new(scenario, 1, worker);
        let caller = contender.caller(universe.company, &plan.step(universe)).await?;
        let (caller, universe) = (caller.context("the contender does not speak HTTP")?, universe.clone());
        Ok(Self { contender: contender.clone(), caller, plan, universe, number: 0 })
    }
}

impl Worker for PeerWorker {
    async fn once(&mut self) -> anyhow::Result<()> {
        let Self { contender, caller, plan, universe, number } = self;
        let read = plan.step(universe);
        let is_sampled = check::is_sampled(*number);
        *number += 1;
        if !is_sampled {
            let body = caller.get(&contender.path(universe.company, &read)?).await?.body;
            ensure!(body.starts_with(b"{") || body.starts_with(b"["), "the response is not JSON");
            return Ok(());
        }
        let data = contender.ask(caller, universe.company, &read).await?;
        match (&read, data.as_array()) {
            (LoadRequest::GetAffiliate(id), _) => ensure!(data["id"] == *id, "the affiliate is not {id}"),
            (_, Some(rows)) => {
                ensure!(rows.len() as u64 == universe.urls.min(100), "the page contains {} rows", rows.len())
            }
            _ => bail!("the response is not a page"),
        }
        Ok(())
    }
}
