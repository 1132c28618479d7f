//! Affiliates: read and checked on one thread, sent from another, batch after batch in the order of the file.

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
    affiliate_rows::Row,
    report::{Fault, Report},
    tally::Tally,
};
use crate::service::{Service, patiently, refused};

/// What is done with an affiliate whose name the company has already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnDuplicate {
    /// It is left as it is.
    Skip,
    /// It takes the values that the row gives: in CSV the cells that are not empty, in NDJSON null clears.
    Update,
    /// The row is bad.
    Fail,
}

/// Names that have been seen, as digests: names themselves would fill the memory.
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

    fn put(&mut self, name: &str, value: T) {
        self.seen.insert(self.key(name), value);
    }
}

/// Counts and reports the rows of a file without sending any.
pub(super) struct Rehearsal {
    names: Names<u64>,
    on_duplicate: OnDuplicate,
}

impl Rehearsal {
    pub(super) fn new(on_duplicate: OnDuplicate) -> Self {
        Self { names: Names::new(), on_duplicate }
    }

    /// Looks at a batch. Of two rows with one name the second is a duplicate.
    pub(super) fn look(&mut self, batch: Vec<Row>, tally: &mut Tally, report: &mut Report) -> anyhow::Result<()> {
        for row in batch {
            tally.rows += 1;
            if !row.faults.is_empty() {
                tally.bad += 1;
                report.write(row.place, &row.faults)?;
                continue;
            }
            let Some(first) = self.names.get(row.name()) else {
                self.names.put(row.name(), row.place.row);
                tally.created += 1;
                continue;
            };
            report.write(row.place, &[row.fault("affiliate_name", &format!("Row {first} has the same name."))])?;
            match self.on_duplicate {
                OnDuplicate::Fail => tally.bad += 1,
                OnDuplicate::Skip | OnDuplicate::Update => tally.skipped += 1,
            }
        }
        Ok(())
    }
}

/// Sends batches.
pub(super) struct Sender<'a> {
    service: &'a Service,
    on_duplicate: OnDuplicate,
    /// IDs by name, once they are needed.
    ids: Option<Names<i64>>,
}

impl<'a> Sender<'a> {
    pub(super) fn new(service: &'a Service, on_duplicate: OnDuplicate) -> Self {
        Self { service, on_duplicate, ids: None }
    }

    /// Sends the good rows of a batch, and counts and reports all of them.
    pub(super) async fn send(&mut self, batch: Vec<Row>, tally: &mut Tally, report: &mut Report) -> anyhow::Result<()> {
        tally.rows += batch.len() as u64;
        let (mut good, mut bad): (Vec<Row>, Vec<Row>) = batch.into_iter().partition(|row| row.faults.is_empty());
        let results = self.create(&mut good, &mut bad).await?;
        let mut known = Vec::new();
        for (mut row, result) in good.into_iter().zip(results) {
            match (result.code(), self.on_duplicate) {
                (ResultCode::Saved, _) => {
                    tally.created += 1;
                    if let (Some(ids), Some(id)) = (&mut self.ids, result.affiliate_id) {
                        ids.put(row.name(), id);
                    }
                }
                (ResultCode::Duplicate, OnDuplicate::Skip) => tally.skipped += 1,
                (ResultCode::Duplicate, OnDuplicate::Update) => known.push(row),
                (code, _) => {
                    let field = if code == ResultCode::InvalidCountry { "country" } else { "affiliate_name" };
                    row.faults.push(row.fault(field, &result.msg));
                    bad.push(row);
                }
            }
        }
        tally.updated += self.update(known, &mut bad).await?;
        tally.bad += bad.len() as u64;
        bad.sort_by_key(|row| row.place.row);
        bad.iter().try_for_each(|row| report.write(row.place, &row.faults))
    }

    /// Creates the affiliates of `good`. Those that the service finds fault with, though we did not, become bad.
    async fn create(&self, good: &mut Vec<Row>, bad: &mut Vec<Row>) -> anyhow::Result<Vec<AffiliateResult>> {
        while !good.is_empty() {
            let affiliates = good.iter().map(|row| row.affiliate.clone()).collect();
            let request = BatchCreateAffiliatesRequest { affiliates };
            let answer = patiently(|| {
                let (mut client, request) = (self.service.affiliates(), request.clone());
                async move { client.batch_create_affiliates(request).await }
            });
            match answer.await {
                Ok(answer) => return Ok(answer.results),
                Err(error) => sort_out(&error, good, bad)?,
            }
        }
        Ok(Vec::new())
    }

    /// Gives the rows' values to the affiliates of their names; how many took them.
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
                affiliates.push(change(*id, &row));
                rows.push(row);
            } else {
                let reason = "An affiliate of this name was made while the import ran; import the row again.";
                row.faults.push(row.fault("affiliate_name", reason));
                bad.push(row);
            }
        }
        if rows.is_empty() {
            return Ok(0);
        }
        let request = BatchUpdateAffiliatesRequest { anchor_id: None, affiliates };
        let answer = patiently(|| {
            let (mut client, request) = (self.service.affiliates(), request.clone());
            async move { client.batch_update_affiliates(request).await }
        });
        let results = answer.await.map_err(|error| refused(&error))?.results;
        let mut updated = 0;
        for (mut row, result) in rows.into_iter().zip(results) {
            if result.code() == ResultCode::Saved {
                updated += 1;
            } else {
                row.faults.push(Fault::of_row(result.msg));
                bad.push(row);
            }
        }
        Ok(updated)
    }
}

/// The change that a row makes to the affiliate of its name.
fn change(id: i64, row: &Row) -> AffiliateUpdate {
    let mut mask = row.given.to_mask();
    mask.paths.retain(|path| path != "affiliate_name");
    AffiliateUpdate { id: Some(id), affiliate: Some(row.affiliate.clone()), update_mask: Some(mask) }
}

/// Makes the rows bad that the service finds fault with. Fails unless there are such.
fn sort_out(error: &Error, good: &mut Vec<Row>, bad: &mut Vec<Row>) -> anyhow::Result<()> {
    if error.reason != Reason::InvalidFields {
        return Err(refused(error));
    }
    for violation in &error.violations {
        let mut path = violation.path.splitn(3, '.').skip(1);
        let row = path.next().and_then(|index| index.parse().ok()).and_then(|index: usize| good.get_mut(index));
        if let Some(row) = row {
            let fault = row.fault(path.next().unwrap_or_default(), &violation.message);
            row.faults.push(fault);
        }
    }
    let before = good.len();
    bad.extend(good.extract_if(.., |row| !row.faults.is_empty()));
    if good.len() == before { Err(refused(error)) } else { Ok(()) }
}

/// The IDs of all affiliates of the company, by name.
async fn ids_by_name(service: &Service) -> anyhow::Result<Names<i64>> {
    let list = patiently(|| {
        let mut client = service.affiliates();
        async move { client.list_affiliates(ListAffiliatesRequest {}).await }
    });
    let mut list = list.await.map_err(|error| refused(&error))?;
    let mut ids = Names::new();
    while let Some(message) = list.message().await.map_err(|status| refused(&Error::from(&status)))? {
        for affiliate in message.affiliates {
            ids.put(affiliate.distributor_name.as_deref().unwrap_or_default(), affiliate.id);
        }
    }
    Ok(ids)
}
