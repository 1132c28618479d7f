//! `AffiliateSyncService` and `AffiliateRosterService`: who asks, and the results.

use std::sync::Arc;

use compliance_api::{
    error::Error,
    v1::{
        BatchSyncAffiliatesRequest, BatchSyncAffiliatesResponse, SyncAffiliatesRequest, SyncAffiliatesResponse,
        affiliate_roster_service_server::AffiliateRosterService, affiliate_sync_service_server::AffiliateSyncService,
    },
};
use tokio::sync::Mutex;
use tonic::{Request, Response, Streaming};

use super::{Chunk, roster::Roster};
use crate::{
    access::Identity,
    backend::Backend,
    chunks::{self, Acknowledgements, Chunks},
    limits::REPORTED_ABSENT,
    requests::{Served, accept, timeout_of},
};

pub(crate) struct Syncs(pub(crate) Arc<Backend>);

#[tonic::async_trait]
impl AffiliateSyncService for Syncs {
    async fn batch_sync_affiliates(
        &self,
        request: Request<BatchSyncAffiliatesRequest>,
    ) -> Served<BatchSyncAffiliatesResponse> {
        let (company_id, request) = accept(request)?;
        let BatchSyncAffiliatesRequest { affiliates, report_absent, absent_status, validate_only } = request;
        let request = SyncAffiliatesRequest { affiliates, report_absent, absent_status, validate_only };
        let mut roster = Roster::new(&self.0, company_id);
        let results = roster.sync(Chunk::new(company_id, request)).await?;
        let mut response = BatchSyncAffiliatesResponse { results, ..BatchSyncAffiliatesResponse::default() };
        while roster.wants_absent() {
            let absent = roster.next_absent().await?;
            if absent.is_empty() {
                break;
            }
            response.absent_total += absent.len() as i64;
            let room = REPORTED_ABSENT - response.absent.len();
            response.absent.extend(absent.into_iter().take(room));
        }
        Ok(Response::new(response))
    }
}

#[tonic::async_trait]
impl AffiliateRosterService for Syncs {
    type SyncAffiliatesStream = Acknowledgements<SyncAffiliatesResponse>;

    async fn sync_affiliates(
        &self,
        request: Request<Streaming<SyncAffiliatesRequest>>,
    ) -> Served<Self::SyncAffiliatesStream> {
        let caller = Identity::of(&request)?.clone();
        let timeout = timeout_of(&request, self.0.settings.stream_timeout);
        let roster = Mutex::new(Roster::new(&self.0, caller.company_id));
        let chunks = RosterChunks { backend: Arc::clone(&self.0), roster };
        Ok(chunks::serve(Arc::new(chunks), caller, request.into_inner(), timeout)?)
    }
}

/// The chunks of a roster.
struct RosterChunks {
    backend: Arc<Backend>,
    /// Chunks are synced one after the other.
    roster: Mutex<Roster>,
}

impl Chunks for RosterChunks {
    type Request = SyncAffiliatesRequest;
    type Chunk = Chunk;
    type Response = SyncAffiliatesResponse;

    fn backend(&self) -> &Backend {
        &self.backend
    }

    fn items(request: &SyncAffiliatesRequest) -> usize {
        request.affiliates.len()
    }

    async fn prepare(&self, company_id: i64, request: SyncAffiliatesRequest) -> Result<Chunk, Error> {
        Ok(Chunk::new(company_id, request))
    }

    async fn save(&self, _: i64, chunk: Chunk) -> Result<SyncAffiliatesResponse, Error> {
        let results = self.roster.lock().await.sync(chunk).await?;
        Ok(SyncAffiliatesResponse { results, absent: Vec::new() })
    }

    async fn has_more(&self) -> bool {
        self.roster.lock().await.wants_absent()
    }

    async fn after_last(&self, _: i64) -> Result<Option<SyncAffiliatesResponse>, Error> {
        let absent = self.roster.lock().await.next_absent().await?;
        Ok((!absent.is_empty()).then(|| SyncAffiliatesResponse { results: Vec::new(), absent }))
    }
}
