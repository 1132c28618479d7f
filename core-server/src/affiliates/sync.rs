//! Syncs affiliates with a roster, which identifies them by the client's own identifiers.
//!
//! One statement compares a batch's items with the stored affiliates. A second step writes only the differences, if any.

mod item;
mod names;
mod roster;

use std::sync::Arc;

use compliance_api::{
    error::Error,
    v1::{
        AffiliateSyncResult, BatchSyncAffiliatesRequest, BatchSyncAffiliatesResponse, SyncAffiliatesRequest,
        SyncAffiliatesResponse, affiliate_roster_service_server::AffiliateRosterService,
        affiliate_sync_service_server::AffiliateSyncService,
    },
};
use storage::limits::MAX_TRIES;
use tonic::{Request, Response, Streaming, codegen::BoxStream};

pub(super) use self::{item::COMPARE, roster::PAGE};
use self::{
    item::{Item, RosterUpdate, compare},
    names::{Taken, name_taken},
    roster::Roster,
};
use super::{create::create_identified, in_order::Applied, input::Input, update::update_known};
use crate::{
    access::{Served, accept},
    backend::Backend,
    message_streams::{Chunks, serve_chunks},
};

impl Roster {
    /// Syncs the next items. Returns a result for each, in order.
    async fn sync(&mut self, mut request: SyncAffiliatesRequest) -> Result<Vec<AffiliateSyncResult>, Error> {
        let items = std::mem::take(&mut request.affiliates).into_iter();
        let items: Vec<Item> = items.map(|item| Item::new(self.company_id, item)).collect();
        let validate_only = *self.validate_only.get_or_insert(request.validate_only);
        self.options = SyncAffiliatesRequest { validate_only, ..request };
        let mut results = self.identify(&items)?;
        if self.is_one_batch {
            self.check_absent().await?;
        }
        for _ in 0..MAX_TRIES {
            let pending: Vec<usize> = (0..items.len()).filter(|index| results[*index].is_none()).collect();
            if pending.is_empty() {
                break;
            }
            let inputs: Vec<&Input> = pending.iter().map(|index| &items[*index].input).collect();
            let found = compare(&self.backend.pool, self.company_id, &inputs).await?;
            let mut changes = Vec::new();
            for ((index, input), found) in pending.into_iter().zip(inputs).zip(found) {
                match found.ids[..] {
                    [] if input.new_name().is_none() => results[index] = Some(item::without_name(input)),
                    [id] if found.changed == 0 => results[index] = Some(item::unchanged(input, id)),
                    [_, _, ..] => results[index] = Some(item::ambiguous(input, found.ids)),
                    _ => changes.push(RosterUpdate { index, position: self.first + index as i64, input, found }),
                }
            }
            let taken = self.names.taken(&changes);
            self.reserve(taken.len())?;
            self.holders.extend(taken.values().filter_map(Taken::holder));
            for change in &changes {
                let taken = taken.get(&change.position);
                results[change.index] = taken.map(|taken| name_taken(change, *taken));
            }
            changes.retain(|change| results[change.index].is_none());
            if validate_only {
                let names = changes.iter().filter(|change| change.name().is_some()).count();
                self.reserve(2 * names)?;
                self.names.remember(&changes);
                for change in changes {
                    results[change.index] = Some(item::saved(&change, None));
                }
                break;
            }
            self.write(&changes, &mut results).await?;
        }
        self.first += items.len() as i64;
        let results = results.into_iter().zip(&items);
        Ok(results.map(|(result, item)| result.unwrap_or_else(|| item::changed_meanwhile(&item.input))).collect())
    }

    /// Writes the differences. If another writer changes an affiliate first, its item gets no result and is compared again.
    async fn write(
        &self,
        changes: &[RosterUpdate<'_>],
        results: &mut [Option<AffiliateSyncResult>],
    ) -> Result<(), Error> {
        let (known, new): (Vec<&RosterUpdate<'_>>, Vec<_>) = changes.iter().partition(|change| change.id().is_some());
        // Updates come first, because new affiliates can take names that updates release.
        let updates: Vec<Input> = known.iter().map(|change| change.update()).collect();
        for (change, applied) in known.iter().zip(update_known(&self.backend, self.company_id, &updates).await?) {
            results[change.index] = matches!(applied, Applied::Saved(_)).then(|| item::saved(change, None));
        }
        let affiliates = new.iter().map(|change| change.input.fields.clone()).collect();
        for (change, id) in new.iter().zip(create_identified(&self.backend, self.company_id, affiliates).await?) {
            results[change.index] = Some(item::saved(change, Some(id)));
        }
        Ok(())
    }
}

/// Maximum number of absent affiliates in one response.
const REPORTED_ABSENT: usize = 1000;

/// Implements `AffiliateSyncService` and `AffiliateRosterService`.
#[derive(Clone)]
pub(crate) struct Syncs(pub(crate) Arc<Backend>);

#[tonic::async_trait]
impl AffiliateSyncService for Syncs {
    async fn batch_sync_affiliates(
        &self,
        request: Request<BatchSyncAffiliatesRequest>,
    ) -> Served<BatchSyncAffiliatesResponse> {
        let (company_id, request) = accept(request)?;
        let BatchSyncAffiliatesRequest { affiliates, report_absent, absent_status, validate_only, max_absent } =
            request;
        let request = SyncAffiliatesRequest { affiliates, report_absent, absent_status, validate_only, max_absent };
        let mut roster = Roster::new(&self.0, company_id);
        roster.is_one_batch = true;
        let results = roster.sync(request).await?;
        let mut response = BatchSyncAffiliatesResponse { results, ..BatchSyncAffiliatesResponse::default() };
        while roster.wants_absent() {
            let absent = roster.next_absent().await?;
            if absent.is_empty() {
                break;
            }
            response.absent_total += absent.len() as i64;
            response.absent_changed += absent.iter().filter(|affiliate| affiliate.changed).count() as i64;
            let room = REPORTED_ABSENT - response.absent.len();
            response.absent.extend(absent.into_iter().take(room));
        }
        Ok(Response::new(response))
    }
}

#[tonic::async_trait]
impl AffiliateRosterService for Syncs {
    type SyncAffiliatesStream = BoxStream<SyncAffiliatesResponse>;

    async fn sync_affiliates(
        &self,
        request: Request<Streaming<SyncAffiliatesRequest>>,
    ) -> Served<Self::SyncAffiliatesStream> {
        serve_chunks(&self.0, request, |company_id| Roster::new(&self.0, company_id))
    }
}

impl Chunks for Roster {
    type Request = SyncAffiliatesRequest;
    type Response = SyncAffiliatesResponse;

    async fn save(&mut self, chunk: SyncAffiliatesRequest) -> Result<SyncAffiliatesResponse, Error> {
        Ok(SyncAffiliatesResponse { results: self.sync(chunk).await?, absent: Vec::new() })
    }

    fn has_more(&self) -> bool {
        self.wants_absent()
    }

    async fn after_last(&mut self) -> Result<Option<SyncAffiliatesResponse>, Error> {
        let absent = self.next_absent().await?;
        Ok((!absent.is_empty()).then(|| SyncAffiliatesResponse { results: Vec::new(), absent }))
    }
}
