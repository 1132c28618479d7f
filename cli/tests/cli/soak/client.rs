//! Runs a client that makes one call after another, on both sides and layers, and records its writes and their acknowledgements.

use std::{
    collections::{BTreeMap, HashMap},
    error::Error as _,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use anyhow::{anyhow, ensure};
use compliance_api::v1::{ObserveUrlsRequest, ResultCode, UrlObservation};
use load_test::workload::{LoadRequest, Rng, affiliate};
use test_support::GrpcClients;
use tonic::transport::Endpoint;

use super::Shared;
use crate::{
    calls::{self, Side, Via},
    programs::{monitoring_token_of, token_of},
    witness::written,
};

/// Wait after a disconnect or rejection, before the client writes the same records again. During this time, the service notices the disconnect
/// and ends running statements.
const SETTLED: Duration = Duration::from_millis(500);
/// Number of affiliates per client. Batches write any of them, and single updates write the first two.
const AFFILIATES: usize = 120;
/// Number of observed URLs per client.
const OBSERVED: usize = 200;
/// Maximum duration of a call.
const PATIENCE: Duration = Duration::from_mins(2);

/// Values sent for each of a company's keys, in order, and whether the service acknowledged each value.
pub(super) type Model = HashMap<(i64, String), Vec<(String, bool)>>;

/// Call outcomes.
#[derive(Default)]
pub(super) struct Outcomes {
    counts: BTreeMap<&'static str, usize>,
    /// Forbidden responses.
    pub(super) wrong: Vec<String>,
}

impl Outcomes {
    pub(super) fn shown(&self) -> String {
        self.counts.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
    }

    fn count(&mut self, name: &'static str) {
        *self.counts.entry(name).or_default() += 1;
    }
}

pub(super) struct Client {
    number: u64,
    company: i64,
    token: String,
    chance: Rng,
    shared: Arc<Shared>,
    model: Model,
    ids: Vec<i64>,
    /// Counter that makes every value and name unique.
    next: usize,
}

enum Write {
    Partner(LoadRequest),
    Monitoring(Vec<UrlObservation>),
}

impl Client {
    pub(super) fn new(number: u64, company: i64, seed: u64, shared: Arc<Shared>) -> Self {
        let chance = Rng::with_seed(seed.wrapping_add(number + 1));
        let token = token_of(company);
        Self { number, company, token, chance, shared, model: Model::new(), ids: Vec::new(), next: 0 }
    }

    /// Makes calls until the load ends, and returns the writes.
    pub(super) async fn run(mut self) -> Model {
        while self.ids.is_empty() && !self.is_over() {
            self.create_own().await;
        }
        while !self.is_over() {
            if self.chance.u64(..5) == 0 {
                self.read().await;
            } else {
                let write = self.write();
                self.send(write).await;
            }
        }
        self.model
    }

    fn is_over(&self) -> bool {
        self.shared.over.load(Ordering::Relaxed)
    }

    fn unique(&mut self) -> String {
        self.next += 1;
        format!("{}-{}", self.number, self.next)
    }

    /// Creates the client's affiliates, and finds their IDs.
    async fn create_own(&mut self) {
        let inputs = self.inputs(AFFILIATES);
        let prefix = inputs[0].affiliate_name().rsplit_once(' ').unwrap().0.to_owned() + " ";
        self.send(Write::Partner(LoadRequest::BatchCreate(inputs))).await;
        let listed = calls::names(&self.shared.sides[0], &self.token).await.unwrap_or_default();
        self.ids = listed.into_iter().filter(|(_, name)| name.starts_with(&prefix)).map(|(id, _)| id).collect();
    }

    fn inputs(&mut self, count: usize) -> Vec<compliance_api::v1::AffiliateInput> {
        let unique = self.unique();
        let input = |index: usize| {
            let mut input = affiliate(self.number, index as u64);
            input.affiliate_name = Some(format!("soak {unique} {index}"));
            input.client_affiliate_id = Some(unique.clone());
            input.notes = None;
            input
        };
        (0..count).map(input).collect()
    }

    /// Returns a random write. The sizes are on both sides of each threshold.
    fn write(&mut self) -> Write {
        let notes = self.unique();
        let some = |chance: &mut Rng, counts: &[usize]| counts[chance.u64(..counts.len() as u64) as usize];
        let request = match self.chance.u64(..100) {
            0..35 => LoadRequest::Update { id: self.ids[self.chance.u64(..2) as usize], notes },
            35..43 => LoadRequest::BatchUpdate {
                ids: self.ids[..some(&mut self.chance, &[2, 5, AFFILIATES])].to_vec(),
                notes,
            },
            43..48 => LoadRequest::BatchUpdate { ids: vec![self.ids[0], self.ids[1], self.ids[0]], notes },
            48..60 => LoadRequest::Create(Box::new(self.inputs(1).remove(0))),
            60..64 => {
                let count = some(&mut self.chance, &[2, 20, 20, 20, 500]);
                LoadRequest::BatchCreate(self.inputs(count))
            }
            64..85 => {
                let count = some(&mut self.chance, &[1, 1, 1, 8, 9, 150]);
                LoadRequest::AddUrls((0..count).map(|index| format!("https://soak-{notes}.example/{index}")).collect())
            }
            _ => {
                let count = some(&mut self.chance, &[1, 1, 10, OBSERVED]);
                let observed = |index| UrlObservation {
                    url: Some(format!("https://observed-{}.example/{index}", self.number)),
                    note: Some(notes.clone()),
                    ..UrlObservation::default()
                };
                return Write::Monitoring((0..count).map(observed).collect());
            }
        };
        Write::Partner(request)
    }

    async fn send(&mut self, write: Write) {
        let keys = match &write {
            Write::Partner(request) => written(request),
            Write::Monitoring(observed) => {
                observed.iter().map(|one| (format!("note of {}", one.url()), one.note().to_owned())).collect()
            }
        };
        // All other writes create new names and URLs, which are written only once.
        let is_repeated = matches!(
            &write,
            Write::Monitoring(_) | Write::Partner(LoadRequest::Update { .. } | LoadRequest::BatchUpdate { .. })
        );
        for (key, value) in &keys {
            self.model.entry((self.company, key.clone())).or_default().push((value.clone(), false));
        }
        let side = self.shared.sides[self.chance.u64(..2) as usize].clone();
        let via = match self.chance.u64(..8) {
            0..4 => Via::Rest,
            4 => Via::Http2,
            5 => Via::Deadline(5 + self.chance.u64(..2000)),
            _ => Via::Grpc,
        };
        let call = make(side, via, self.token.clone(), self.company, write);
        let leaves = self.chance.u64(..10) == 0;
        let stay = if leaves { Duration::from_micros(self.chance.u64(..20_000)) } else { PATIENCE };
        let result = tokio::time::timeout(stay, call).await;
        let name = match &result {
            Ok(Ok(())) => "acknowledged",
            Ok(Err(error)) => self.classified(&format!("{error:#}")),
            Err(_) if leaves => "disconnected",
            Err(_) => {
                self.shared.outcomes.lock().unwrap().wrong.push(format!("no response within {PATIENCE:?}: {via:?}"));
                "not answered"
            }
        };
        self.shared.outcomes.lock().unwrap().count(name);
        if name != "acknowledged" {
            if is_repeated {
                self.settle().await;
            }
            return;
        }
        for (key, _) in keys {
            if let Some(last) = self.model.get_mut(&(self.company, key)).and_then(|values| values.last_mut()) {
                last.1 = true;
            }
        }
    }

    /// Returns the kind of an error. Records a failure if no fault explains the error.
    fn classified(&self, error: &str) -> &'static str {
        let is = |texts: &[&str]| texts.iter().any(|text| error.contains(text));
        if is(&["status 503", "Some(\"14\")", "Unavailable"]) {
            "unavailable"
        } else if is(&["status 504", "Some(\"4\")", "DeadlineExceeded", "Some(\"1\")"]) {
            "timed out"
        } else if is(&["status ", "not every item", "wrong response", "the response"]) {
            let error = format!("company {}: {error}", self.company);
            self.shared.outcomes.lock().unwrap().wrong.push(error);
            "wrong"
        } else {
            "cut"
        }
    }

    async fn settle(&self) {
        loop {
            let faults = self.shared.faults.load(Ordering::SeqCst);
            tokio::time::sleep(SETTLED).await;
            // On a busy machine, these reads take longer, and so does the wait.
            for side in &self.shared.sides {
                let _ = calls::notes(side, &self.token, self.ids[0]).await;
            }
            if faults.is_multiple_of(2) && faults == self.shared.faults.load(Ordering::SeqCst) || self.is_over() {
                return;
            }
        }
    }

    /// Reads an affiliate. Its value must be the last acknowledged value or a later one.
    async fn read(&mut self) {
        let side = &self.shared.sides[self.chance.u64(..2) as usize];
        let id = self.ids[self.chance.u64(..2) as usize];
        let read = match calls::notes(side, &self.token, id).await {
            Ok(read) => read,
            Err(error) => {
                self.classified(&format!("{error:#}"));
                return self.shared.outcomes.lock().unwrap().count("reads that failed");
            }
        };
        let values = self.model.get(&(self.company, format!("notes of {id}")));
        let values = values.map_or(&[][..], Vec::as_slice);
        let last = values.iter().rposition(|(_, is_acknowledged)| *is_acknowledged);
        let found = values.iter().position(|(value, _)| *value == read);
        let mut outcomes = self.shared.outcomes.lock().unwrap();
        outcomes.count("reads");
        if found < last || found.is_none() && !read.is_empty() {
            outcomes
                .wrong
                .push(format!("company {}: read {read:?} of affiliate {id}, last acknowledged {last:?}", self.company));
        }
    }
}

async fn make(side: Side, via: Via, token: String, company: i64, write: Write) -> anyhow::Result<()> {
    match write {
        Write::Partner(request) => calls::write(&side, via, &token, "soak", &request).await,
        Write::Monitoring(observed) => observe(&side, company, observed).await,
    }
}

/// Observes URLs, as an import from monitoring does.
async fn observe(side: &Side, company: i64, observations: Vec<UrlObservation>) -> anyhow::Result<()> {
    let channel = Endpoint::from_shared(format!("http://{}", side.grpc.address))?.connect().await?;
    let mut clients = GrpcClients::over(channel, &monitoring_token_of(company));
    let observed = clients.monitoring.observe_urls(ObserveUrlsRequest { observations }).await;
    let results = observed.map_err(|status| match status.source() {
        Some(_) => anyhow!("{status}"),
        None => anyhow!("gRPC status {:?}", Some((status.code() as i32).to_string())),
    });
    let results = results?.into_inner().results;
    ensure!(results.iter().all(|one| one.code() == ResultCode::Saved), "not every item was saved");
    Ok(())
}
