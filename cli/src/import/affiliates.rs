//! Sends affiliates in batches in the order of the file, or checks them in a dry run.

use std::{collections::HashMap, hash::BuildHasher as _, hash::RandomState};

use clap::ValueEnum;
use compliance_api::{
    error::{Error, Reason},
    v1::{
        AffiliateResult, AffiliateUpdate, BatchCreateAffiliatesRequest, BatchUpdateAffiliatesRequest,
        ListAffiliatesRequest, ResultCode,
    },
};

use super::{
    report::{Report, RowError},
    row::Row,
    tally::Tally,
};
use crate::service::{Service, patiently, refused};

/// The action for an affiliate whose name the company has already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnDuplicate {
    /// The affiliate stays as it is.
    Skip,
    /// The affiliate takes the values of the row: in CSV those of cells that are not empty; in NDJSON, null clears.
    Update,
    /// The row is invalid.
    Fail,
}

/// Values by name. Names are kept as digests, since the names themselves would take much more memory.
pub(super) struct Names<T> {
    hashers: [RandomState; 2],
    seen: HashMap<(u64, u64), T>,
}

impl<T> Names<T> {
    pub(super) fn new() -> Self {
        Self { hashers: [RandomState::new(), RandomState::new()], seen: HashMap::new() }
    }

    fn key(&self, name: &str) -> (u64, u64) {
        (self.hashers[0].hash_one(name), self.hashers[1].hash_one(name))
    }

    fn get(&self, name: &str) -> Option<&T> {
        self.seen.get(&self.key(name))
    }

    fn insert(&mut self, name: &str, value: T) {
        self.seen.insert(self.key(name), value);
    }
}

/// Counts and reports the rows of a file without sending them.
pub(super) struct DryRun {
    names: Names<u64>,
    on_duplicate: OnDuplicate,
}

impl DryRun {
    pub(super) fn new(on_duplicate: OnDuplicate) -> Self {
        Self { names: Names::new(), on_duplicate }
    }

    /// Checks a batch. Of two rows with the same name, the second is a duplicate.
    pub(super) fn check(&mut self, batch: Vec<Row>, tally: &mut Tally, report: &mut Report) -> anyhow::Result<()> {
        for row in batch {
            tally.rows += 1;
            if !row.errors.is_empty() {
                tally.bad += 1;
                report.write(row.position, &row.errors)?;
                continue;
            }
            let Some(first) = self.names.get(row.name()) else {
                self.names.insert(row.name(), row.position.row);
                tally.created += 1;
                continue;
            };
            report.write(row.position, &[row.error("affiliate_name", &format!("Row {first} has the same name."))])?;
            match self.on_duplicate {
                OnDuplicate::Fail => tally.bad += 1,
                OnDuplicate::Skip | OnDuplicate::Update => tally.skipped += 1,
            }
        }
        Ok(())
    }
}

/// Sends batches to the service.
pub(super) struct Sender<'a> {
    service: &'a Service,
    on_duplicate: OnDuplicate,
    /// IDs by name, read when they are needed first.
    ids: Option<Names<i64>>,
}

impl<'a> Sender<'a> {
    pub(super) fn new(service: &'a Service, on_duplicate: OnDuplicate) -> Self {
        Self { service, on_duplicate, ids: None }
    }

    /// Sends the valid rows of a batch, and counts and reports all rows.
    pub(super) async fn send(&mut self, batch: Vec<Row>, tally: &mut Tally, report: &mut Report) -> anyhow::Result<()> {
        tally.rows += batch.len() as u64;
        let (mut good, mut bad): (Vec<Row>, Vec<Row>) = batch.into_iter().partition(|row| row.errors.is_empty());
        let results = self.create(&mut good, &mut bad).await?;
        let mut known = Vec::new();
        for (mut row, result) in good.into_iter().zip(results) {
            match (result.code(), self.on_duplicate) {
                (ResultCode::Saved, _) => {
                    tally.created += 1;
                    if let (Some(ids), Some(id)) = (&mut self.ids, result.affiliate_id) {
                        ids.insert(row.name(), id);
                    }
                }
                (ResultCode::Duplicate, OnDuplicate::Skip) => tally.skipped += 1,
                (ResultCode::Duplicate, OnDuplicate::Update) => known.push(row),
                (code, _) => {
                    let field = if code == ResultCode::InvalidCountry { "country" } else { "affiliate_name" };
                    row.errors.push(row.error(field, &result.msg));
                    bad.push(row);
                }
            }
        }
        tally.updated += self.update(known, &mut bad).await?;
        tally.bad += bad.len() as u64;
        bad.sort_by_key(|row| row.position.row);
        bad.iter().try_for_each(|row| report.write(row.position, &row.errors))
    }

    /// Creates the affiliates of `good`. Rows that the service rejects are moved to `bad`.
    async fn create(&self, good: &mut Vec<Row>, bad: &mut Vec<Row>) -> anyhow::Result<Vec<AffiliateResult>> {
        while !good.is_empty() {
            let affiliates = good.iter().map(|row| row.affiliate.clone()).collect();
            let request = BatchCreateAffiliatesRequest { affiliates };
            let response = patiently(|| {
                let (mut client, request) = (self.service.affiliates(), request.clone());
                async move { client.batch_create_affiliates(request).await }
            });
            match response.await {
                Ok(response) => return Ok(response.results),
                Err(error) => move_rejected(&error, good, bad)?,
            }
        }
        Ok(Vec::new())
    }

    /// Updates the affiliates that the rows name, and returns their number.
    async fn update(&mut self, known: Vec<Row>, bad: &mut Vec<Row>) -> anyhow::Result<u64> {
        if known.is_empty() {
            return Ok(0);
        }
        let ids = match self.ids.take() {
            Some(ids) => ids,
            None => ids_by_name(self.service).await?,
        };
        let ids = self.ids.insert(ids);
        let (mut rows, mut affiliates) = (Vec::new(), Vec::new());
        for mut row in known {
            if let Some(id) = ids.get(row.name()) {
                affiliates.push(update_of(*id, &row));
                rows.push(row);
            } else {
                let reason = "An affiliate of this name was made while the import ran; import the row again.";
                row.errors.push(row.error("affiliate_name", reason));
                bad.push(row);
            }
        }
        if rows.is_empty() {
            return Ok(0);
        }
        let request = BatchUpdateAffiliatesRequest { anchor_id: None, affiliates };
        let response = patiently(|| {
            let (mut client, request) = (self.service.affiliates(), request.clone());
            async move { client.batch_update_affiliates(request).await }
        });
        let results = response.await.map_err(|error| refused(&error))?.results;
        let mut updated = 0;
        for (mut row, result) in rows.into_iter().zip(results) {
            if result.code() == ResultCode::Saved {
                updated += 1;
            } else {
                row.errors.push(RowError::of_row(result.msg));
                bad.push(row);
            }
        }
        Ok(updated)
    }
}

/// The update of the affiliate that a row names.
fn update_of(id: i64, row: &Row) -> AffiliateUpdate {
    let mut mask = row.given.to_mask();
    mask.paths.retain(|path| path != "affiliate_name");
    AffiliateUpdate { id: Some(id), affiliate: Some(row.affiliate.clone()), update_mask: Some(mask) }
}

/// Moves the rows that the service rejects to `bad`. Fails if there are none.
fn move_rejected(error: &Error, good: &mut Vec<Row>, bad: &mut Vec<Row>) -> anyhow::Result<()> {
    if error.reason != Reason::InvalidFields {
        return Err(refused(error));
    }
    for violation in &error.violations {
        let mut path = violation.path.splitn(3, '.').skip(1);
        let row = path.next().and_then(|index| index.parse().ok()).and_then(|index: usize| good.get_mut(index));
        if let Some(row) = row {
            let error = row.error(path.next().unwrap_or_default(), &violation.message);
            row.errors.push(error);
        }
    }
    let before = good.len();
    bad.extend(good.extract_if(.., |row| !row.errors.is_empty()));
    if good.len() == before { Err(refused(error)) } else { Ok(()) }
}

/// The IDs of all affiliates of the company by name.
async fn ids_by_name(service: &Service) -> anyhow::Result<Names<i64>> {
    let list = patiently(|| {
        let mut client = service.affiliates();
        async move { client.list_affiliates(ListAffiliatesRequest {}).await }
    });
    let mut list = list.await.map_err(|error| refused(&error))?;
    let mut ids = Names::new();
    while let Some(message) = list.message().await.map_err(|status| refused(&Error::from(&status)))? {
        for affiliate in message.affiliates {
            ids.insert(affiliate.distributor_name.as_deref().unwrap_or_default(), affiliate.id);
        }
    }
    Ok(ids)
}
