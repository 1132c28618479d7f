//! Defines scenarios: the kinds of requests in a load, and their proportions.

use std::sync::Arc;

use clap::ValueEnum;
use compliance_api::v1::AffiliateInput;
use fastrand::Rng;

use super::{bodies::affiliate, request::LoadRequest};

/// The kinds of requests to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scenario {
    /// One affiliate by ID.
    PointRead,
    /// The first page of 100 URLs, with their infractions.
    UrlPage,
    /// The first page of 100 cases, with their incidents.
    CasePage,
    /// Random pages of 200 URLs.
    DeepPage,
    /// The whole affiliate list.
    List,
    /// One new affiliate.
    Create,
    /// Batches of new affiliates.
    BatchCreate,
    /// One affiliate's update.
    Update,
    /// Batches of affiliate updates.
    BatchUpdate,
    /// One new URL.
    UrlAddOne,
    /// Batches of new URLs.
    UrlAdd,
    /// Mostly reads, some lists, and a few writes.
    Mixed,
}

/// A company's records that requests use.
#[derive(Clone, Debug)]
pub struct Universe {
    /// The company.
    pub company: i64,
    /// IDs of its affiliates at the start, in ascending order.
    pub affiliates: Arc<[i64]>,
    /// Number of URLs at the start.
    pub urls: u64,
    /// Number of cases at the start.
    pub cases: u64,
}

/// One worker's sequence of requests.
#[derive(Clone, Debug)]
pub struct Plan {
    scenario: Scenario,
    batch: u64,
    random: Rng,
    /// Keeps the values of different runs and workers distinct.
    run: u64,
    written: u64,
}

/// Items per batch in the mixed load.
const SMALL_BATCH: u64 = 10;

impl Plan {
    /// Creates a worker's plan. `batch` is the number of items per batch.
    pub fn new(scenario: Scenario, batch: u64, worker: u32) -> Self {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let run = (since.as_millis() as u64) << 12 | u64::from(worker);
        // Every run sends the same reads, but new writes.
        let random = Rng::with_seed(u64::from(worker) + 1);
        Self { scenario, batch, random, run, written: 0 }
    }

    /// Returns the next request, for records of this company.
    pub fn step(&mut self, universe: &Universe) -> LoadRequest {
        match self.scenario {
            Scenario::PointRead => self.point_read(universe),
            Scenario::UrlPage => LoadRequest::ListUrls { page: 1, per_page: 100 },
            Scenario::CasePage => LoadRequest::ListCases { page: 1, per_page: 100 },
            Scenario::DeepPage => self.deep_page(universe),
            Scenario::List => LoadRequest::ListAffiliates,
            Scenario::Create => LoadRequest::Create(Box::new(self.affiliate())),
            Scenario::BatchCreate => LoadRequest::BatchCreate((0..self.batch).map(|_| self.affiliate()).collect()),
            Scenario::Update => self.update(universe),
            Scenario::BatchUpdate => self.batch_update(self.batch, universe),
            Scenario::UrlAddOne => self.add_urls(1),
            Scenario::UrlAdd => self.add_urls(self.batch),
            Scenario::Mixed => self.mixed(universe),
        }
    }

    fn mixed(&mut self, universe: &Universe) -> LoadRequest {
        match self.random.u64(..100) {
            0..70 => self.point_read(universe),
            70..80 => LoadRequest::ListUrls { page: 1, per_page: 100 },
            80..86 => LoadRequest::ListCases { page: 1, per_page: 100 },
            86..90 => self.deep_page(universe),
            90..94 => LoadRequest::Create(Box::new(self.affiliate())),
            94..97 => self.batch_update(SMALL_BATCH, universe),
            _ => self.add_urls(SMALL_BATCH),
        }
    }

    fn point_read(&mut self, universe: &Universe) -> LoadRequest {
        LoadRequest::GetAffiliate(self.draw(universe))
    }

    fn draw(&mut self, universe: &Universe) -> i64 {
        universe.affiliates[self.random.usize(..universe.affiliates.len())]
    }

    fn deep_page(&mut self, universe: &Universe) -> LoadRequest {
        let pages = universe.urls.div_ceil(200).max(1);
        LoadRequest::ListUrls { page: 1 + self.random.u64(..pages), per_page: 200 }
    }

    fn affiliate(&mut self) -> AffiliateInput {
        self.written += 1;
        affiliate(self.run, self.written)
    }

    fn update(&mut self, universe: &Universe) -> LoadRequest {
        let id = self.draw(universe);
        LoadRequest::Update { id, notes: format!("Changed by load {:x}", self.random.u64(..)) }
    }

    fn batch_update(&mut self, size: u64, universe: &Universe) -> LoadRequest {
        let ids = (0..size).map(|_| self.draw(universe)).collect();
        LoadRequest::BatchUpdate { ids, notes: format!("Changed by load {:x}", self.random.u64(..)) }
    }

    fn add_urls(&mut self, size: u64) -> LoadRequest {
        let urls = (0..size).map(|_| {
            self.written += 1;
            format!("https://load.example.com/{:x}/{}", self.run, self.written)
        });
        LoadRequest::AddUrls(urls.collect())
    }
}
