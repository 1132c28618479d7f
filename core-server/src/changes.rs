//! The record of changes: reads, watches, and upkeep of its monthly partitions. Triggers write
//! the record (`migrations/20261126000001_changes.sql`).

mod as_of;
mod feed;
mod hub;
mod keep;
mod positions;
mod watch;

use std::sync::Arc;

use admission::Reservation;
use compliance_api::{
    MAX_ID,
    error::Error,
    rules::timestamp,
    token::SCOPE_AUDIT,
    v1::{
        ListChangesRequest, ListChangesResponse, SearchChangesRequest, SearchChangesResponse, WatchChangesRequest,
        WatchChangesResponse, audit_service_server::AuditService, change_service_server::ChangeService,
    },
};
use sqlx::Row as _;
use tonic::{Request, codegen::BoxStream};

pub use self::positions::{CHANGED_ENTRIES, CHANGED_ROWS};
pub(crate) use self::{
    as_of::{STATEMENTS as PAST, TYPES as TYPES_OF_PAST, past},
    feed::{DEFAULT_CHANGES, STATEMENT, hide_writer, read},
    keep::{keep, kept_days},
    positions::{Changed, STATEMENT as CHANGED},
};
use self::{
    feed::{CHANGE_ROWS, resource_number, sees_writers},
    hub::Hub,
    watch::watch,
};
use crate::{
    access::{Served, accept},
    backend::Backend,
    lists::Source,
    quotas::with_memory,
};

/// The statement that searches changes, with its parameter types.
pub(crate) const SEARCH: (&str, &str) = (
    concat!(include_str!("changes/state.sql"), include_str!("changes/search.sql"), include_str!("changes/entries.sql")),
    "bigint, bigint, smallint, bigint, text, text, bigint, bigint, bigint, bigint",
);

/// Default end of a search: the first second after the year 9999.
const NO_END: i64 = 253_402_300_800;

#[derive(Clone)]
pub(crate) struct ChangesService {
    backend: Arc<Backend>,
    hub: Arc<Hub>,
}

impl ChangesService {
    pub(crate) fn new(backend: &Arc<Backend>) -> Self {
        Self { backend: Arc::clone(backend), hub: Hub::new(backend) }
    }
}

#[tonic::async_trait]
impl ChangeService for ChangesService {
    type WatchChangesStream = BoxStream<WatchChangesResponse>;

    async fn list_changes(&self, request: Request<ListChangesRequest>) -> Served<ListChangesResponse> {
        let sees_writers = sees_writers(&request)?;
        let (company_id, request) = accept(request)?;
        let (mut response, memory) = feed::list(self.backend.source(company_id), &request).await?;
        if !sees_writers {
            response.changes.iter_mut().for_each(hide_writer);
        }
        Ok(with_memory(response, memory))
    }

    async fn watch_changes(&self, request: Request<WatchChangesRequest>) -> Served<Self::WatchChangesStream> {
        watch(&self.hub, request).await
    }
}

#[tonic::async_trait]
impl AuditService for ChangesService {
    async fn search_changes(&self, request: Request<SearchChangesRequest>) -> Served<SearchChangesResponse> {
        let sees_all = sees_writers(&request)?;
        let (company_id, request) = accept(request)?;
        if !sees_all && !names_case_work(&request) {
            return Err(Error::scope_missing(SCOPE_AUDIT).into());
        }
        let (changes, memory) = search(self.backend.source(company_id), &request).await?;
        Ok(with_memory(changes, memory))
    }
}

/// Returns whether a search names one case or URL. The `cases` scope also allows such searches.
fn names_case_work(request: &SearchChangesRequest) -> bool {
    request.id.is_some() && matches!(request.resource.as_deref(), Some("case" | "url"))
}

/// Returns matching changes, newest first, with their memory reservation.
async fn search(source: Source, request: &SearchChangesRequest) -> Result<(SearchChangesResponse, Reservation), Error> {
    let resource = request.resource.as_deref().and_then(resource_number);
    // Empty strings count as absent.
    let text = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let (subject, request_id) = (text(&request.subject), text(&request.request_id));
    let second = |text: &Option<String>| text.as_deref().and_then(timestamp);
    let (from, end) = (second(&request.from).unwrap_or_default(), second(&request.to).map_or(NO_END, |last| last + 1));
    let limit = request.limit.unwrap_or(DEFAULT_CHANGES);
    let query = || {
        let before = request.before.unwrap_or(MAX_ID);
        let query = sqlx::query(SEARCH.0).bind(source.company_id).bind(before).bind(resource);
        let query = query.bind(request.id).bind(&subject).bind(&request_id).bind(from).bind(end);
        query.bind(limit).bind(CHANGE_ROWS)
    };
    feed::entries(&source, query, |first, changes, is_complete| {
        let next = if is_complete { first.try_get("next_position")? } else { changes.last().map(|last| last.position) };
        Ok(SearchChangesResponse { changes, next, dropped_position: first.try_get("dropped_position")? })
    })
    .await
}
