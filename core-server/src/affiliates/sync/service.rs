//! `AffiliateSyncService` and `AffiliateRosterService`.

use std::sync::Arc;

use compliance_api::{
    error::Error,
    v1::{
        BatchSyncAffiliatesRequest, BatchSyncAffiliatesResponse, SyncAffiliatesRequest, SyncAffiliatesResponse,
        affiliate_roster_service_server::AffiliateRosterService, affiliate_sync_service_server::AffiliateSyncService,
    },
};
use tonic::{Request, Response, Streaming, codegen::BoxStream};

use super::roster::Roster;
use crate::{
    access::Identity,
    backend::Backend,
    chunks::{self, Chunks},
    requests::{Served, accept, timeout_of},
};

/// Maximum number of absent affiliates in one response.
const REPORTED_ABSENT: usize = 1000;

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
        let caller = Identity::of(&request)?.clone();
        let timeout = timeout_of(&request, self.0.settings.stream_timeout);
        let roster = Roster::new(&self.0, caller.company_id);
        Ok(chunks::serve(&self.0, roster, caller, request.into_inner(), timeout)?)
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
