//! Serves a single watcher. A watcher first reads missed changes on its own pages, and then uses the pages that all watchers share. It
//! builds a message only when its reader asks for one.

use std::{sync::Arc, time::Duration};

use admission::{Reservation, SMALL, WATCH_TIME};
use compliance_api::{
    error::{Error, Reason},
    token::TokenError,
    v1::{Change, ListChangesResponse, WatchChangesRequest, WatchChangesResponse},
};
use prost::Message as _;
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until, timeout, timeout_at},
};
use tonic::{Request, Response, Status, codegen::BoxStream};

use super::{
    feed::{hide_writer, sees_writers},
    hub::{ChangePage, Hub, LONGEST_WATCH_INTERVAL, WatchedCompany},
};
use crate::{
    access::{accept, caller, time_left},
    message_streams::{self, MESSAGE_BYTES, MESSAGE_STALLED, Messages, timeout_of},
};
use storage::limits::COPIES;

/// Interval between heartbeats. Proxies often close a connection that is silent for a minute.
const WATCH_HEARTBEAT: Duration = Duration::from_secs(10);
/// Maximum time a reader can pause before its watch ends.
const WATCH_STALLED: Duration = Duration::from_secs(10);

/// Starts a watch. Rejects a position from which changes cannot be read.
pub(super) async fn watch(
    hub: &Arc<Hub>,
    request: Request<WatchChangesRequest>,
) -> Result<Response<BoxStream<WatchChangesResponse>>, Status> {
    let start = Instant::now();
    let expiry = start + time_left(caller(&request)?).min(WATCH_TIME);
    let deadline = start + timeout_of(&request, WATCH_TIME);
    let sees_writers = sees_writers(&request)?;
    let (company_id, WatchChangesRequest { after, types }) = accept(request)?;
    let open = hub.backend.quotas.watch(company_id)?;
    // From here on, the watch misses no position.
    let company = hub.join(company_id);
    let positions = company.position.subscribe();
    let first = hub.first(&company, after, &types).await?;
    let seen = ListChangesResponse { position: first.after, ..ListChangesResponse::default() };
    let (hub, shutdown) = (Arc::clone(hub), http_server::closing());
    Ok(message_streams::respond(open, deadline.min(expiry), async move |messages| {
        let mut watcher =
            Watcher { hub, company, positions, known: None, types, sees_writers, seen, sent: None, messages };
        Err(tokio::select! {
            biased;
            () = sleep_until(expiry) => TokenError::Expired.into(),
            () = shutdown.cancelled() => Error::core_unavailable(),
            error = watcher.watch(first) => error,
        })
    }))
}

struct Watcher {
    hub: Arc<Hub>,
    company: Arc<WatchedCompany>,
    positions: watch::Receiver<Option<i64>>,
    /// The last received position.
    known: Option<i64>,
    types: Vec<String>,
    /// Whether the reader can see who made changes. Shared pages also serve readers who cannot.
    sees_writers: bool,
    /// An empty page. The reader has seen all changes of its types up to the page's position.
    seen: ListChangesResponse,
    /// When the last message was sent.
    sent: Option<Instant>,
    /// Each message holds its own memory.
    messages: Messages<WatchChangesResponse, Reservation>,
}

impl Watcher {
    /// Sends changes until an error, which it returns.
    async fn watch(&mut self, first: ChangePage) -> Error {
        let (mut page, mut is_up_to_date) = (Some(Arc::new(first)), false);
        loop {
            let mut is_sent = match &page {
                Some(page) => self.send(&page.changes).await,
                None => self.send_nothing().await,
            };
            if page.take().is_some_and(|page| page.is_last()) && is_sent {
                is_up_to_date = true;
                is_sent = self.has_news().await;
            }
            // The page was dropped, because the reader did not ask for a message or the message had to wait for memory.
            if !is_sent {
                is_up_to_date = false;
                if self.messages.is_wanted() {
                    sleep(LONGEST_WATCH_INTERVAL).await;
                } else if timeout(WATCH_STALLED, self.messages.wanted()).await.is_err() {
                    return Error::new(Reason::RateLimited, "Timed out waiting for the client to read changes.");
                }
            }
            let seen = self.seen.position;
            let read = if is_up_to_date {
                Box::pin(self.hub.shared(&self.company, seen)).await
            } else {
                Box::pin(self.hub.read(self.company.id, seen, &self.types)).await.map(Arc::new)
            };
            page = match read {
                Ok(page) => Some(page),
                Err(error) if !is_up_to_date || error.is_of_position() => return error,
                Err(_) => {
                    sleep(LONGEST_WATCH_INTERVAL).await;
                    None
                }
            };
        }
    }

    /// Waits for new changes and sends heartbeats. Returns `false` for the same reasons as `send`.
    async fn has_news(&mut self) -> bool {
        loop {
            let before = std::mem::replace(&mut self.known, *self.positions.borrow_and_update());
            // If the company was removed, its new record has lower positions.
            if self.known > Some(self.seen.position) || self.known < before {
                return true;
            }
            let next = self.sent.unwrap_or_else(Instant::now) + WATCH_HEARTBEAT;
            if timeout_at(next, self.positions.changed()).await.is_err() && !self.send_nothing().await {
                return false;
            }
        }
    }

    /// Sends the new changes on a page. Returns `false` if the reader stops asking, or if memory is unavailable.
    async fn send(&mut self, page: &ListChangesResponse) -> bool {
        let is_new = |change: &&Change| {
            change.position > self.seen.position && (self.types.is_empty() || self.types.contains(&change.resource))
        };
        let mut changes: &[&Change] = &page.changes.iter().filter(is_new).collect::<Vec<_>>();
        loop {
            let mut bytes = 0;
            let fits = |change: &&&Change| {
                bytes += change.encoded_len();
                bytes <= MESSAGE_BYTES
            };
            let fitting = changes.iter().take_while(fits).count();
            let (part, rest) = changes.split_at(fitting.max(1).min(changes.len()));
            let position = part.last().filter(|_| !rest.is_empty()).map_or(page.position, |last| last.position);
            if !self.send_changes(part, ListChangesResponse { changes: Vec::new(), position, ..*page }).await {
                return false;
            }
            if rest.is_empty() {
                return true;
            }
            changes = rest;
        }
    }

    async fn send_nothing(&mut self) -> bool {
        self.send_changes(&[], self.seen.clone()).await
    }

    /// Sends changes and the reader's new position. Without changes, sends the position only when a heartbeat is due.
    async fn send_changes(&mut self, changes: &[&Change], seen: ListChangesResponse) -> bool {
        let is_due = self.sent.is_none_or(|sent| sent.elapsed() >= WATCH_HEARTBEAT);
        if is_due || !changes.is_empty() {
            if timeout(MESSAGE_STALLED, self.messages.wanted()).await.is_err() {
                return false;
            }
            // Copies changes as late as possible, because there are many readers.
            let bytes: usize = changes.iter().map(|change| change.encoded_len()).sum();
            let mut memory = self.hub.backend.quotas.memory.reservation(Some(self.company.id));
            if bytes > SMALL && memory.wait_to_grow(bytes * COPIES, MESSAGE_STALLED).await.is_err() {
                return false;
            }
            self.sent = Some(Instant::now());
            let mut changes: Vec<Change> = changes.iter().map(|&change| change.clone()).collect();
            if !self.sees_writers {
                changes.iter_mut().for_each(hide_writer);
            }
            self.messages.send(WatchChangesResponse { page: Some(ListChangesResponse { changes, ..seen }) }, memory);
        }
        self.seen = seen;
        true
    }
}
