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

use super::{
    Item, absent, items,
    roster::{Options, Roster},
    sync,
};
use crate::{
    access::Identity,
    backend::Backend,
    chunks::{self, Acknowledgements, Chunks},
    limits::REPORTED_ABSENT,
    requests::{Served, accept, timeout_of},
};

pub(crate) struct Syncs(pub(crate) Arc<Backend>);

impl Syncs {
    fn roster(&self, company_id: i64, options: Options) -> Roster {
        Roster::new(options, self.0.shares.memory.reservation(Some(company_id)))
    }
}

#[tonic::async_trait]
impl AffiliateSyncService for Syncs {
    async fn batch_sync_affiliates(
        &self,
        request: Request<BatchSyncAffiliatesRequest>,
    ) -> Served<BatchSyncAffiliatesResponse> {
        let (company_id, request) = accept(request)?;
        let BatchSyncAffiliatesRequest { affiliates, report_absent, absent_status, validate_only } = request;
        let options = Options::new(report_absent, absent_status, validate_only);
        let mut roster = self.roster(company_id, options);
        let results = sync(&self.0, company_id, &mut roster, &items(company_id, affiliates)).await?;
        let mut response = BatchSyncAffiliatesResponse { results, ..BatchSyncAffiliatesResponse::default() };
        let mut after = 0;
        while roster.options.wants_absent()
            && let Some((absent, last)) = absent::next(&self.0, company_id, &roster, after).await?
        {
            after = last;
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
        let roster = self.roster(caller.company_id, Options::default());
        let chunks = RosterChunks {
            backend: Arc::clone(&self.0),
            state: Mutex::new(State { roster, is_begun: false, after: 0 }),
        };
        Ok(chunks::serve(Arc::new(chunks), caller, request.into_inner(), timeout)?)
    }
}

/// The chunks of a roster.
struct RosterChunks {
    backend: Arc<Backend>,
    /// Chunks are synced one after the other.
    state: Mutex<State>,
}

struct State {
    roster: Roster,
    is_begun: bool,
    /// The ID after which absent affiliates are to be reported.
    after: i64,
}

/// Items that were checked, and what is asked for with them.
struct Chunk {
    items: Vec<Item>,
    options: Options,
}

impl Chunks for RosterChunks {
    type Request = SyncAffiliatesRequest;
    type Chunk = Chunk;
    type Response = SyncAffiliatesResponse;

    fn backend(&self) -> &Backend {
        &self.backend
    }

    fn requested(request: &SyncAffiliatesRequest) -> usize {
        request.affiliates.len()
    }

    fn prepared(chunk: &Chunk) -> usize {
        chunk.items.len()
    }

    async fn prepare(&self, company_id: i64, request: SyncAffiliatesRequest) -> Result<Chunk, Error> {
        let SyncAffiliatesRequest { affiliates, report_absent, absent_status, validate_only } = request;
        let options = Options::new(report_absent, absent_status, validate_only);
        Ok(Chunk { items: items(company_id, affiliates), options })
    }

    async fn save(&self, company_id: i64, chunk: Chunk) -> Result<SyncAffiliatesResponse, Error> {
        let mut state = self.state.lock().await;
        let validate_only =
            if state.is_begun { state.roster.options.validate_only } else { chunk.options.validate_only };
        state.is_begun = true;
        // A stream that ends early must not look like one without more affiliates: what is done with absent ones is in its last message.
        state.roster.options = Options { validate_only, ..chunk.options };
        let results = sync(&self.backend, company_id, &mut state.roster, &chunk.items).await?;
        Ok(SyncAffiliatesResponse { results, absent: Vec::new() })
    }

    async fn has_more(&self) -> bool {
        self.state.lock().await.roster.options.wants_absent()
    }

    async fn after_last(&self, company_id: i64) -> Result<Option<SyncAffiliatesResponse>, Error> {
        let mut state = self.state.lock().await;
        let next = absent::next(&self.backend, company_id, &state.roster, state.after).await?;
        Ok(next.map(|(absent, last)| {
            state.after = last;
            SyncAffiliatesResponse { results: Vec::new(), absent }
        }))
    }
}
