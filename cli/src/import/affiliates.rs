//! Sends affiliates in batches in the order of the file, or checks them in a dry run.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{BuildHasher as _, RandomState},
};

use clap::ValueEnum;
use compliance_api::{
    error::{Error, Reason},
    v1::{
        AffiliateResult, AffiliateUpdate, BatchCreateAffiliatesRequest, BatchUpdateAffiliatesRequest,
        ListAffiliatesRequest, ResultCode,
    },
};

use super::{
    affiliate::Affiliate,
    batches::Batches,
    recorder::Recorder,
    row::{InvalidRow, Row, RowError},
};
use crate::service::{Refused, Service, patiently};

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
struct Names<T> {
    hashers: [RandomState; 2],
    values: HashMap<[u64; 2], T>,
}

impl<T> Names<T> {
    fn new() -> Self {
        Self { hashers: [RandomState::new(), RandomState::new()], values: HashMap::new() }
    }

    fn digest(&self, name: &str) -> [u64; 2] {
        self.hashers.each_ref().map(|hasher| hasher.hash_one(name))
    }

    fn get(&self, name: &str) -> Option<&T> {
        self.values.get(&self.digest(name))
    }

    fn insert(&mut self, name: &str, value: T) {
        self.values.insert(self.digest(name), value);
    }
}

/// Checks affiliates without sending them. Of two rows with the same name, the second is a duplicate.
pub(super) async fn check_only(
    mut batches: Batches<Affiliate>,
    on_duplicate: OnDuplicate,
    recorder: &mut Recorder,
) -> anyhow::Result<()> {
    let mut rows_by_name = Names::new();
    while let Some(rows) = batches.next(recorder).await? {
        for row in rows {
            let Some(first) = rows_by_name.get(row.record.name()) else {
                rows_by_name.insert(row.record.name(), row.position.row);
                recorder.tally.created += 1;
                continue;
            };
            let error = row.record.error("affiliate_name", &format!("Row {first} has the same name."));
            let duplicate = row.invalid(vec![error]);
            if on_duplicate == OnDuplicate::Fail {
                recorder.reject(duplicate);
            } else {
                recorder.tally.skipped += 1;
                recorder.list(duplicate);
            }
        }
        recorder.flush().await?;
    }
    Ok(())
}

/// Sends affiliates to the service.
pub(super) async fn send(
    mut batches: Batches<Affiliate>,
    on_duplicate: OnDuplicate,
    service: &Service,
    recorder: &mut Recorder,
) -> anyhow::Result<()> {
    // IDs by name, read when they are needed first.
    let mut ids: Option<Names<i64>> = None;
    while let Some(mut rows) = batches.next(recorder).await? {
        let results = create(service, &mut rows, recorder).await?;
        let mut existing = Vec::new();
        for (row, result) in rows.into_iter().zip(results) {
            match (result.code(), on_duplicate) {
                (ResultCode::Saved, _) => {
                    recorder.tally.created += 1;
                    if let (Some(ids), Some(id)) = (&mut ids, result.affiliate_id) {
                        ids.insert(row.record.name(), id);
                    }
                }
                (ResultCode::Duplicate, OnDuplicate::Skip) => recorder.tally.skipped += 1,
                (ResultCode::Duplicate, OnDuplicate::Update) => existing.push(row),
                (code, _) => {
                    let field = if code == ResultCode::InvalidCountry { "country" } else { "affiliate_name" };
                    recorder.reject(row.invalid(vec![row.record.error(field, &result.msg)]));
                }
            }
        }
        if !existing.is_empty() {
            let ids = match &mut ids {
                Some(ids) => ids,
                None => ids.insert(ids_by_name(service).await?),
            };
            update(service, existing, ids, recorder).await?;
        }
        recorder.flush().await?;
    }
    Ok(())
}

/// Creates the affiliates of `rows`, and removes the rows that the service rejects.
async fn create(
    service: &Service,
    rows: &mut Vec<Row<Affiliate>>,
    recorder: &mut Recorder,
) -> anyhow::Result<Vec<AffiliateResult>> {
    while !rows.is_empty() {
        let affiliates = rows.iter().map(|row| row.record.input.clone()).collect();
        let request = BatchCreateAffiliatesRequest { affiliates };
        let response = patiently(async || service.affiliates().batch_create_affiliates(request.clone()).await);
        match response.await {
            Ok(response) => return Ok(response.results),
            Err(Refused(error)) => remove_rejected(error, rows, recorder)?,
        }
    }
    Ok(Vec::new())
}

/// Removes the rows with violations. Fails if there are none.
fn remove_rejected(error: Error, rows: &mut Vec<Row<Affiliate>>, recorder: &mut Recorder) -> Result<(), Refused> {
    let mut errors: BTreeMap<usize, Vec<RowError>> = BTreeMap::new();
    for violation in error.violations.iter().filter(|_| error.reason == Reason::InvalidFields) {
        // The path is `affiliates.<index>.<field>`.
        let mut path = violation.path.splitn(3, '.').skip(1);
        let index = path.next().and_then(|index| index.parse().ok()).unwrap_or(usize::MAX);
        if let Some(row) = rows.get(index) {
            let error = row.record.error(path.next().unwrap_or_default(), &violation.message);
            errors.entry(index).or_default().push(error);
        }
    }
    if errors.is_empty() {
        return Err(Refused(error));
    }
    for (index, errors) in errors.into_iter().rev() {
        recorder.reject(rows.remove(index).invalid(errors));
    }
    Ok(())
}

/// Updates the affiliates that the rows name.
async fn update(
    service: &Service,
    existing: Vec<Row<Affiliate>>,
    ids: &Names<i64>,
    recorder: &mut Recorder,
) -> anyhow::Result<()> {
    let (mut rows, mut affiliates) = (Vec::new(), Vec::new());
    for row in existing {
        if let Some(id) = ids.get(row.record.name()) {
            let mut mask = row.record.given.to_mask();
            mask.paths.retain(|path| path != "affiliate_name");
            let affiliate = Some(row.record.input.clone());
            affiliates.push(AffiliateUpdate { id: Some(*id), affiliate, update_mask: Some(mask) });
            rows.push(row);
        } else {
            let reason = "An affiliate of this name was made while the import ran; import the row again.";
            recorder.reject(row.invalid(vec![row.record.error("affiliate_name", reason)]));
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    let request = BatchUpdateAffiliatesRequest { anchor_id: None, affiliates };
    let response = patiently(async || service.affiliates().batch_update_affiliates(request.clone()).await).await?;
    for (row, result) in rows.into_iter().zip(response.results) {
        if result.code() == ResultCode::Saved {
            recorder.tally.updated += 1;
        } else {
            recorder.reject(InvalidRow::new(row.position, result.msg));
        }
    }
    Ok(())
}

/// The IDs of all affiliates of the company by name.
async fn ids_by_name(service: &Service) -> Result<Names<i64>, Refused> {
    let mut list = patiently(async || service.affiliates().list_affiliates(ListAffiliatesRequest {}).await).await?;
    let mut ids = Names::new();
    while let Some(message) = list.message().await? {
        for affiliate in message.affiliates {
            ids.insert(affiliate.distributor_name.as_deref().unwrap_or_default(), affiliate.id);
        }
    }
    Ok(ids)
}
