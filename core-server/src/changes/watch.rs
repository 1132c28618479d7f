//! One watcher: what it missed, from pages of its own, and then what is published. It makes a message when its reader asks for one.

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
    sync::mpsc,
    time::{Instant, sleep, sleep_until, timeout, timeout_at},
};
use tonic::{Request, Response, Status, codegen::BoxStream};

use super::hub::{Hub, Page, Pages};
use crate::{
    access::{Identity, time_left},
    limits::{COPIES, LONGEST_WATCH_INTERVAL, MESSAGE_STALLED, WATCH_HEARTBEAT, WATCH_STALLED},
    record_pages,
    requests::{accept, streamed, timeout_of},
    statement,
};

/// Begins to watch. What cannot be read is refused here.
pub(super) async fn watch(
    hub: &Arc<Hub>,
    request: Request<WatchChangesRequest>,
) -> Result<Response<BoxStream<WatchChangesResponse>>, Status> {
    let start = Instant::now();
    let expiry = start + time_left(&Identity::of(&request)?.claims).min(WATCH_TIME);
    let deadline = start + timeout_of(&request, WATCH_TIME);
    let (company_id, WatchChangesRequest { after, types }) = accept(request)?;
    let open = hub.backend.shares.watch(company_id)?;
    // From here on, nothing is missed.
    let pages = hub.join(company_id);
    let first = hub.page(company_id, after, &types).await?;
    let (want, wanted) = mpsc::channel(1);
    let (messages, received) = mpsc::channel(1);
    let seen = ListChangesResponse { position: first.after, ..ListChangesResponse::default() };
    let hub = Arc::clone(hub);
    let watcher = Watcher { hub, company_id, types, seen, sent: None, wanted, is_wanted: false, messages };
    let shutdown = http_server::shutdown();
    let ended = async move {
        tokio::select! {
            biased;
            () = sleep_until(deadline) => Error::deadline_exceeded(),
            () = sleep_until(expiry) => TokenError::Expired.into(),
            () = shutdown.cancelled() => Error::core_unavailable(),
        }
    };
    tokio::spawn(trace::inherit(statement::inherit(watcher.run(open, pages, first, ended))));
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
    company_id: i64,
    types: Vec<String>,
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
    async fn run(mut self, open: Count, pages: Pages, first: Page, ended: impl Future<Output = Error>) {
        let messages = self.messages.clone();
        let error = tokio::select! {
            () = messages.closed() => return,
            error = ended => error,
            error = self.watch(pages, first) => error,
        };
        drop(open);
        let _ = messages.send(Some(Err(error.into()))).await;
    }

    async fn watch(&mut self, mut pages: Pages, mut page: Page) -> Error {
        loop {
            if let Err(error) = self.send_all(pages, page).await {
                return error;
            }
            // Nothing is kept for a reader that does not ask, or while there is no memory for its message.
            if self.is_wanted {
                sleep(LONGEST_WATCH_INTERVAL).await;
            } else if timeout(WATCH_STALLED, self.asked()).await.is_err() {
                return Error::new(Reason::RateLimited, "The changes were not read in time.");
            }
            pages = self.hub.join(self.company_id);
            page = match Box::pin(self.read()).await {
                Ok(page) => page,
                Err(error) => return error,
            };
        }
    }

    async fn read(&self) -> Result<Page, Error> {
        self.hub.read(self.company_id, Some(self.seen.position), &self.types).await
    }

    /// Sends a page and what follows it, until something was missed, the reader does not ask for more, or there is no memory.
    async fn send_all(&mut self, mut pages: Pages, mut page: Page) -> Result<(), Error> {
        while self.send(&page).await {
            if page.is_last() {
                drop(page);
                self.send_published(&mut pages).await;
                return Ok(());
            }
            page = Box::pin(self.read()).await?;
        }
        Ok(())
    }

    async fn send_published(&mut self, pages: &mut Pages) {
        loop {
            let is_sent = match timeout_at(self.sent.unwrap_or_else(Instant::now) + WATCH_HEARTBEAT, pages.recv()).await
            {
                Ok(Ok(page)) if page.after <= self.seen.position => self.send(&page).await,
                Ok(_) => false,
                Err(_) => self.send_changes(&[], &self.seen.clone()).await,
            };
            if !is_sent {
                return;
            }
        }
    }

    /// Returns whether the reader has requested it, and there was memory.
    async fn send(&mut self, page: &Page) -> bool {
        for part in &page.parts {
            let is_new = |change: &&Change| {
                change.position > self.seen.position && (self.types.is_empty() || self.types.contains(&change.resource))
            };
            let changes: Vec<&Change> = part.changes.iter().filter(is_new).collect();
            if part.position >= self.seen.position && !self.send_changes(&changes, part).await {
                return false;
            }
        }
        true
    }

    /// Sends changes of a part, or only its position if nothing was sent for a while.
    async fn send_changes(&mut self, changes: &[&Change], part: &ListChangesResponse) -> bool {
        let ListChangesResponse { position, last_position, dropped_position, .. } = *part;
        let is_due = self.sent.is_none_or(|sent| sent.elapsed() >= WATCH_HEARTBEAT);
        if is_due || !changes.is_empty() {
            if !self.is_wanted && timeout(MESSAGE_STALLED, self.asked()).await.is_err() {
                return false;
            }
            // Only then it is copied, since there are many readers.
            let bytes: usize = changes.iter().map(|change| change.encoded_len()).sum();
            let mut memory = self.hub.backend.shares.memory.reservation(Some(self.company_id));
            if bytes > SMALL && memory.wait_to_grow(bytes * COPIES, MESSAGE_STALLED).await.is_err() {
                return false;
            }
            (self.is_wanted, self.sent) = (false, Some(Instant::now()));
            let changes = changes.iter().map(|&change| change.clone()).collect();
            let page = ListChangesResponse { changes, position, last_position, dropped_position };
            // There is room for what is requested.
            let _ = self.messages.send(Some(Ok((WatchChangesResponse { page: Some(page) }, memory)))).await;
        }
        self.seen = ListChangesResponse { changes: Vec::new(), position, last_position, dropped_position };
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
