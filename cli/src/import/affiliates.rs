//! Sends affiliates in file order, or only checks them.

use std::{cell::Cell, collections::HashMap, hash::BuildHasher as _};

use clap::ValueEnum;
use compliance_api::{
    error::Error,
    v1::{
        AffiliateUpdate, BatchCreateAffiliatesRequest, BatchUpdateAffiliatesRequest, ListAffiliatesRequest, ResultCode,
    },
};

use spreadsheets::{AffiliateRow, RowError};

use super::{batches::Batches, recorder::Recorder, row::Position, sync};
use crate::service::{Service, patiently, refused};

/// What to do with an affiliate whose name already exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnDuplicate {
    /// Keep the affiliate unchanged.
    Skip,
    /// Update the affiliate with the row's values. Empty CSV cells change nothing; null in NDJSON clears a field.
    Update,
    /// Treat the row as invalid.
    Fail,
}

/// Values by name digest. The names themselves would need much more memory.
type ByName<T> = HashMap<[u64; 2], T>;

/// Returns the affiliate's name, or an empty string.
fn name(affiliate: &AffiliateRow) -> &str {
    affiliate.input.affiliate_name.as_deref().unwrap_or_default()
}

fn digest<T>(values: &ByName<T>, name: &str) -> [u64; 2] {
    [1, 2].map(|half: u8| values.hasher().hash_one((half, name)))
}

/// Sends affiliates in batches. Without a service, only checks them.
pub(super) async fn send(
    mut batches: Batches<AffiliateRow>,
    on_duplicate: OnDuplicate,
    service: Option<&Service>,
    recorder: &mut Recorder<'_>,
) -> anyhow::Result<()> {
    let Some(service) = service else { return check_only(batches, on_duplicate, recorder).await };
    // IDs by name, loaded for the first duplicate.
    let mut ids: Option<ByName<i64>> = None;
    while let Some(rows) = batches.next(recorder).await? {
        let affiliates = rows.iter().map(|(_, affiliate)| affiliate.input.clone()).collect();
        let request = BatchCreateAffiliatesRequest { affiliates, validate_only: false };
        let attempts = Cell::new(0);
        let call = async || {
            attempts.set(attempts.get() + 1);
            service.affiliates().batch_create_affiliates(request.clone()).await
        };
        let response = patiently(call).await?;
        // An earlier attempt may have created the affiliates and lost only its response.
        let is_uncertain = attempts.get() > 1 && response.results.iter().any(|it| it.code() == ResultCode::Duplicate);
        let stored = if is_uncertain {
            sync::stored(service, rows.iter().map(|(_, affiliate)| affiliate)).await?
        } else {
            vec![false; rows.len()]
        };
        let mut existing = Vec::new();
        for (((position, affiliate), result), is_stored) in rows.into_iter().zip(response.results).zip(stored) {
            match (result.code(), on_duplicate) {
                (ResultCode::Duplicate, _) if is_stored => recorder.tally.created += 1,
                (ResultCode::Saved, _) => {
                    recorder.tally.created += 1;
                    if let (Some(ids), Some(id)) = (&mut ids, result.affiliate_id) {
                        ids.insert(digest(ids, name(&affiliate)), id);
                    }
                }
                (ResultCode::Duplicate, OnDuplicate::Skip) => recorder.tally.skipped += 1,
                (ResultCode::Duplicate, OnDuplicate::Update) => existing.push((position, affiliate)),
                (code, _) => {
                    let field = if code == ResultCode::InvalidCountry { "country" } else { "affiliate_name" };
                    recorder.reject(position, vec![affiliate.error(field, &result.msg)]);
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
    }
    Ok(())
}

/// Checks affiliates without sending them. If two rows have the same name, the second is a duplicate.
async fn check_only(
    mut batches: Batches<AffiliateRow>,
    on_duplicate: OnDuplicate,
    recorder: &mut Recorder<'_>,
) -> anyhow::Result<()> {
    let mut rows_by_name = ByName::new();
    while let Some(rows) = batches.next(recorder).await? {
        for (position, affiliate) in rows {
            let digest = digest(&rows_by_name, name(&affiliate));
            let Some(first) = rows_by_name.get(&digest) else {
                rows_by_name.insert(digest, position.row);
                recorder.tally.created += 1;
                continue;
            };
            let errors = vec![affiliate.error("affiliate_name", &format!("Row {first} has the same name."))];
            if on_duplicate == OnDuplicate::Fail {
                recorder.reject(position, errors);
            } else {
                recorder.tally.skipped += 1;
                recorder.list(position, errors);
            }
        }
    }
    Ok(())
}

/// Updates existing affiliates.
async fn update(
    service: &Service,
    existing: Vec<(Position, AffiliateRow)>,
    ids: &ByName<i64>,
    recorder: &mut Recorder<'_>,
) -> anyhow::Result<()> {
    let (mut positions, mut affiliates) = (Vec::new(), Vec::new());
    for (position, affiliate) in existing {
        if let Some(id) = ids.get(&digest(ids, name(&affiliate))) {
            let mut mask = affiliate.given.to_mask();
            mask.paths.retain(|path| path != "affiliate_name");
            let affiliate = Some(affiliate.input);
            affiliates.push(AffiliateUpdate { id: Some(*id), affiliate, update_mask: Some(mask), etag: String::new() });
            positions.push(position);
        } else {
            let reason = "An affiliate with this name was created during the import; import the row again.";
            recorder.reject(position, vec![affiliate.error("affiliate_name", reason)]);
        }
    }
    if positions.is_empty() {
        return Ok(());
    }
    let request = BatchUpdateAffiliatesRequest { anchor_id: None, affiliates, validate_only: false };
    let response = patiently(async || service.affiliates().batch_update_affiliates(request.clone()).await).await?;
    for (position, result) in positions.into_iter().zip(response.results) {
        if result.code() == ResultCode::Saved {
            recorder.tally.updated += 1;
        } else {
            recorder.reject(position, RowError::of_row(result.msg));
        }
    }
    Ok(())
}

/// Returns the IDs of all the company's affiliates, by name.
async fn ids_by_name(service: &Service) -> anyhow::Result<ByName<i64>> {
    let mut list =
        patiently(async || service.affiliates().list_affiliates(ListAffiliatesRequest::default()).await).await?;
    let mut ids = ByName::new();
    while let Some(message) = list.message().await.map_err(|status| refused(&Error::from(&status)))? {
        for affiliate in message.affiliates {
            let name = affiliate.distributor_name.as_deref().unwrap_or_default();
            ids.insert(digest(&ids, name), affiliate.id);
        }
    }
    Ok(ids)
}
