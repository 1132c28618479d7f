//! One watcher: what it missed, from pages of its own, and then the pages that all watchers share. It makes a message when its reader asks
//! for one.

use std::{future::pending, sync::Arc};

use admission::{Count, Reservation, SMALL, WATCH_TIME};
use compliance_api::{
    error::{Error, Reason},
    token::TokenError,
    v1::{Change, ListChangesResponse, WatchChangesRequest, WatchChangesResponse},
};
use futures::{StreamExt as _, stream};
use prost::Message as _;
use telemetry::trace;
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep, sleep_until, timeout, timeout_at},
};
use tonic::{Request, Response, Status, codegen::BoxStream};

use super::{
    hub::{ChangePage, Hub, WatchedCompany},
    writers::{hide_writer, sees_writers},
};
use crate::{
    access::{Identity, time_left},
    limits::{LONGEST_WATCH_INTERVAL, MESSAGE_BYTES, MESSAGE_STALLED, WATCH_HEARTBEAT, WATCH_STALLED},
    record_pages,
    requests::{accept, streamed, timeout_of},
};
use storage::{limits::COPIES, statement};

/// Begins to watch. What cannot be read is refused here.
pub(super) async fn watch(
    hub: &Arc<Hub>,
    request: Request<WatchChangesRequest>,
) -> Result<Response<BoxStream<WatchChangesResponse>>, Status> {
    let start = Instant::now();
    let expiry = start + time_left(&Identity::of(&request)?.claims).min(WATCH_TIME);
    let deadline = start + timeout_of(&request, WATCH_TIME);
    let sees_writers = sees_writers(&request)?;
    let (company_id, WatchChangesRequest { after, types }) = accept(request)?;
    let open = hub.backend.shares.watch(company_id)?;
    // From here on, no position is missed.
    let company = hub.join(company_id);
    let positions = company.position.subscribe();
    let first = hub.first(&company, after, &types).await?;
    let (want, wanted) = mpsc::channel(1);
    let (messages, received) = mpsc::channel(1);
    let watcher = Watcher {
        hub: Arc::clone(hub),
        company,
        positions,
        known: None,
        types,
        sees_writers,
        seen: ListChangesResponse { position: first.after, ..ListChangesResponse::default() },
        sent: None,
        wanted,
        is_wanted: false,
        messages,
    };
    let shutdown = http_server::shutdown();
    let ended = async move {
        tokio::select! {
            biased;
            () = sleep_until(deadline) => Error::deadline_exceeded(),
            () = sleep_until(expiry) => TokenError::Expired.into(),
            () = shutdown.cancelled() => Error::core_unavailable(),
        }
    };
    #[allow(clippy::disallowed_methods, reason = "it ends with its call")]
    tokio::spawn(trace::inherit(statement::inherit(watcher.run(open, first, ended))));
    Ok(streamed(holding(record_pages::messages(want, received)), deadline.min(expiry)))
}

/// A message, and the memory that it takes.
type Counted = (WatchChangesResponse, Reservation);

/// Messages, each of which keeps its memory until the next one is requested.
fn holding(messages: BoxStream<Counted>) -> BoxStream<WatchChangesResponse> {
    Box::pin(stream::unfold((messages, None), |(mut messages, sent)| async {
        drop(sent);
        Some(match messages.next().await? {
            Ok((message, memory)) => (Ok(message), (messages, Some(memory))),
            Err(error) => (Err(error), (messages, None)),
        })
    }))
}

struct Watcher {
    hub: Arc<Hub>,
    company: Arc<WatchedCompany>,
    positions: watch::Receiver<Option<i64>>,
    /// The one that was received last.
    known: Option<i64>,
    types: Vec<String>,
    /// Whether the reader may read who made changes. Pages are shared with others.
    sees_writers: bool,
    /// Up to where the reader has seen all changes of these types. It has no changes.
    seen: ListChangesResponse,
    /// When the last message was sent.
    sent: Option<Instant>,
    /// Receives once for each message that is requested.
    wanted: mpsc::Receiver<()>,
    /// A message is requested. If there is no memory for it, it is made later.
    is_wanted: bool,
    messages: mpsc::Sender<Option<Result<Counted, Status>>>,
}

impl Watcher {
    /// Sends changes until the reader leaves, or this ends with an error. `open` counts the watcher.
    async fn run(mut self, open: Count, first: ChangePage, ended: impl Future<Output = Error>) {
        let messages = self.messages.clone();
        let error = tokio::select! {
            () = messages.closed() => return,
            error = ended => error,
            error = self.watch(first) => error,
        };
        drop(open);
        let _ = messages.send(Some(Err(error.into()))).await;
    }

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
            // Nothing is kept for a reader that does not ask, or while there is no memory for its message.
            if !is_sent {
                is_up_to_date = false;
                if self.is_wanted {
                    sleep(LONGEST_WATCH_INTERVAL).await;
                } else if timeout(WATCH_STALLED, self.asked()).await.is_err() {
                    return Error::new(Reason::RateLimited, "The changes were not read in time.");
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

    /// Waits until more may be read, and sends that there is nothing new once in a while. Returns the same as `send`.
    async fn has_news(&mut self) -> bool {
        loop {
            let before = std::mem::replace(&mut self.known, *self.positions.borrow_and_update());
            // A record that begins anew, as that of a company that was removed, has lower positions.
            if self.known > Some(self.seen.position) || self.known < before {
                return true;
            }
            let next = self.sent.unwrap_or_else(Instant::now) + WATCH_HEARTBEAT;
            if timeout_at(next, self.positions.changed()).await.is_err() && !self.send_nothing().await {
                return false;
            }
        }
    }

    /// Sends what is new of a page, in messages that are short, because a connection whose client does not read keeps one. Returns whether
    /// the reader has requested all of them, and there was memory.
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

    /// Sends changes, up to where the reader has seen all then; only this if nothing was sent for a while.
    async fn send_changes(&mut self, changes: &[&Change], seen: ListChangesResponse) -> bool {
        let is_due = self.sent.is_none_or(|sent| sent.elapsed() >= WATCH_HEARTBEAT);
        if is_due || !changes.is_empty() {
            if !self.is_wanted && timeout(MESSAGE_STALLED, self.asked()).await.is_err() {
                return false;
            }
            // Only then it is copied, since there are many readers.
            let bytes: usize = changes.iter().map(|change| change.encoded_len()).sum();
            let mut memory = self.hub.backend.shares.memory.reservation(Some(self.company.id));
            if bytes > SMALL && memory.wait_to_grow(bytes * COPIES, MESSAGE_STALLED).await.is_err() {
                return false;
            }
            (self.is_wanted, self.sent) = (false, Some(Instant::now()));
            let mut changes: Vec<Change> = changes.iter().map(|&change| change.clone()).collect();
            if !self.sees_writers {
                changes.iter_mut().for_each(hide_writer);
            }
            let message = WatchChangesResponse { page: Some(ListChangesResponse { changes, ..seen }) };
            // There is room for what is requested.
            let _ = self.messages.send(Some(Ok((message, memory)))).await;
        }
        self.seen = seen;
        true
    }

    /// Waits until the reader asks for a message. One that has left ends this.
    async fn asked(&mut self) {
        match self.wanted.recv().await {
            Some(()) => self.is_wanted = true,
            None => pending().await,
        }
    }
}
