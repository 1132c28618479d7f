//! What watchers share: one statement reads the positions of all watched companies, on Citus of those of a node, and one page is read for
//! all watchers of a company.
//!
//! Positions are polled. `NOTIFY` would take a lock of the whole database at each commit, and `LISTEN` needs a session of its own, which
//! a pooler does not give. Nothing runs while nobody watches.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use admission::{Reservation, compute};
use compliance_api::{
    error::{Error, Reason},
    v1::{ListChangesRequest, ListChangesResponse},
};
use prost::Message as _;
use tokio::{
    sync::{broadcast, watch},
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use super::{POSITIONS, feed};
use crate::{
    backend::Backend,
    database::{self, Connections},
    limits::{
        LONGEST_WATCH_INTERVAL, MESSAGE_BYTES, MESSAGE_STALLED, PART, PUBLISHED_PAGES, WATCH_INTERVAL, WATCH_PAGE,
    },
    lists::Source,
    shares::{self, Work},
    statement::Purpose,
};

/// Changes in parts, each of which is a message.
pub(super) struct Page {
    /// The position that the changes follow. Who has not read up to there has missed something.
    pub(super) after: i64,
    pub(super) position: i64,
    pub(super) parts: Vec<ListChangesResponse>,
    /// What they take until nobody has them.
    _memory: Option<Reservation>,
}

impl Page {
    /// Parts are short, because a connection whose client does not read keeps one.
    fn new(after: Option<i64>, page: ListChangesResponse, memory: Reservation) -> Self {
        let ListChangesResponse { changes, position, last_position, dropped_position } = page;
        let part = |position| ListChangesResponse { changes: Vec::new(), position, last_position, dropped_position };
        let (mut parts, mut bytes) = (Vec::<ListChangesResponse>::new(), 0);
        for change in changes {
            let size = change.encoded_len();
            bytes += size;
            if parts.is_empty() || bytes > MESSAGE_BYTES {
                parts.push(part(0));
                bytes = size;
            }
            if let Some(part) = parts.last_mut() {
                part.position = change.position;
                part.changes.push(change);
            }
        }
        match parts.last_mut() {
            Some(last) => last.position = position,
            None => parts.push(part(position)),
        }
        Self { after: after.unwrap_or(position), position, parts, _memory: Some(memory) }
    }

    /// Nothing to send, for watchers who have read up to `after`.
    fn notice(after: i64, position: i64) -> Self {
        Self { after, position, parts: Vec::new(), _memory: None }
    }

    /// Whether no changes followed it when it was read.
    pub(super) fn is_last(&self) -> bool {
        self.parts.last().is_none_or(|part| part.position >= part.last_position)
    }
}

/// The pages of a company, as they are published.
pub(super) type Pages = broadcast::Receiver<Arc<Page>>;

pub(super) struct Hub {
    pub(super) backend: Arc<Backend>,
    watched: Mutex<Watched>,
}

#[derive(Default)]
struct Watched {
    companies: HashMap<i64, Company>,
    /// Has positions read, while somebody watches.
    poll: Option<JoinHandle<()>>,
}

struct Company {
    /// The last position, once it is known. The company's follower ends with it.
    position: watch::Sender<Option<i64>>,
    /// The follower has the sender.
    pages: broadcast::WeakSender<Arc<Page>>,
    /// The companies whose positions are read together with its own, until the next statement may begin.
    read: Weak<Vec<i64>>,
}

impl Hub {
    pub(super) fn new(backend: &Arc<Backend>) -> Arc<Self> {
        Arc::new(Self { backend: Arc::clone(backend), watched: Mutex::default() })
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is published from now on. Each page follows the one before; the first of all follows what was committed before.
    pub(super) fn join(self: &Arc<Self>, company_id: i64) -> Pages {
        let watched = &mut *self.watched();
        if watched.poll.as_ref().is_none_or(JoinHandle::is_finished) {
            watched.poll = Some(tokio::spawn(Purpose::of("positions of changes").run(Arc::clone(self).poll())));
        }
        if let Some(pages) = watched.companies.get(&company_id).and_then(|company| company.pages.upgrade()) {
            return pages.subscribe();
        }
        let (pages, joined) = broadcast::channel(PUBLISHED_PAGES);
        let (position, last) = watch::channel(None);
        watched.companies.insert(company_id, Company { position, pages: pages.downgrade(), read: Weak::new() });
        let follower = Arc::clone(self).follow(company_id, last, pages);
        tokio::spawn(Purpose::of("changes for watchers").run(follower));
        joined
    }

    /// Has the positions of all watched companies read, again and again, until nobody watches.
    async fn poll(self: Arc<Self>) {
        loop {
            sleep(WATCH_INTERVAL).await;
            let companies: Vec<i64> = {
                let watched = &mut *self.watched();
                let is_watched = |pages: broadcast::Sender<_>| pages.receiver_count() > 0;
                watched.companies.retain(|_, company| company.pages.upgrade().is_some_and(is_watched));
                if watched.companies.is_empty() {
                    watched.poll = None;
                    return;
                }
                watched.companies.keys().copied().collect()
            };
            for part in self.backend.pool.divided(companies, |id| *id).await {
                if let Some(part) = self.begin(part) {
                    tokio::spawn(Purpose::of("positions of changes").run(Arc::clone(&self).read_positions(part)));
                }
            }
        }
    }

    /// Companies whose positions may be read now: a node runs one statement at a time.
    fn begin(&self, part: Vec<i64>) -> Option<Arc<Vec<i64>>> {
        let watched = &mut *self.watched();
        let is_read = |id| watched.companies.get(id).is_some_and(|company| company.read.strong_count() > 0);
        if part.iter().any(is_read) {
            return None;
        }
        let part = Arc::new(part);
        for id in part.iter() {
            if let Some(company) = watched.companies.get_mut(id) {
                company.read = Arc::downgrade(&part);
            }
        }
        Some(part)
    }

    /// Reads the positions of companies, and again if that fails, while one of them is watched.
    async fn read_positions(self: Arc<Self>, companies: Arc<Vec<i64>>) {
        let pool = self.backend.pool.of_company(companies.first().copied().unwrap_or_default());
        let (mut interval, mut has_failed) = (WATCH_INTERVAL, false);
        while companies.iter().any(|id| self.watched().companies.contains_key(id)) {
            let start = Instant::now();
            let read = async |pool: Connections| {
                sqlx::query_as::<_, (i64, i64)>(POSITIONS).bind(&*companies).fetch_all(&pool).await
            };
            match database::short_read(&pool, read).await {
                Ok(positions) => {
                    self.found(&companies, positions.into_iter().collect());
                    // A slow database works for this half of the time, at most.
                    return sleep(start.elapsed().min(LONGEST_WATCH_INTERVAL)).await;
                }
                Err(error) => {
                    if !std::mem::replace(&mut has_failed, true) {
                        tracing::warn!("watchers get no changes for now: positions cannot be read: {error}");
                    }
                    interval = (interval * 2).min(LONGEST_WATCH_INTERVAL);
                    sleep(interval).await;
                }
            }
        }
    }

    /// Wakes the followers of companies whose positions have changed.
    fn found(&self, companies: &[i64], positions: HashMap<i64, i64>) {
        let watched = self.watched();
        for id in companies {
            let position = positions.get(id).copied().unwrap_or_default();
            if let Some(company) = watched.companies.get(id) {
                company.position.send_if_modified(|known| known.replace(position) != Some(position));
            }
        }
    }

    /// Publishes a company's changes, until nobody watches it.
    async fn follow(
        self: Arc<Self>,
        company_id: i64,
        mut last: watch::Receiver<Option<i64>>,
        pages: broadcast::Sender<Arc<Page>>,
    ) {
        let (mut known, mut published) = (None, 0);
        while last.changed().await.is_ok() {
            let Some(position) = *last.borrow_and_update() else { continue };
            // A record that begins anew, as that of a company that was removed, has lower positions.
            let is_anew = known.is_some_and(|known| position < known);
            if is_anew || known.is_none() {
                // Watchers may have read before the position was.
                published = position;
                let _ = pages.send(Arc::new(Page::notice(if is_anew { i64::MAX } else { position }, position)));
            }
            known = Some(position);
            while published < position {
                // Watchers who keep up share what follows; those who do not hold it up only for a while.
                let has_room = async {
                    while pages.len() >= PUBLISHED_PAGES {
                        sleep(WATCH_INTERVAL).await;
                    }
                };
                let _ = timeout(MESSAGE_STALLED, has_room).await;
                let page = match self.read(company_id, Some(published), &[]).await {
                    Ok(page) => page,
                    Err(error) if error.reason == Reason::PositionGone => Page::notice(i64::MAX, position),
                    Err(_) => {
                        sleep(LONGEST_WATCH_INTERVAL).await;
                        if last.has_changed().is_err() {
                            return;
                        }
                        continue;
                    }
                };
                published = page.position;
                // Without watchers, it ends soon.
                let _ = pages.send(Arc::new(page));
            }
        }
    }

    /// A page of changes, read in a slot of the company.
    pub(super) async fn read(&self, company_id: i64, after: Option<i64>, types: &[String]) -> Result<Page, Error> {
        let reading = async {
            let mut slot = self.backend.shares.enter(company_id, Work::Statement(1)).await?;
            shares::run(&mut slot, false, self.page(company_id, after, types)).await
        };
        let read = timeout(self.backend.settings.call_timeout, reading).await;
        read.map_err(|_| Error::deadline_exceeded())?
    }

    /// The same for a call that has a slot.
    pub(super) async fn page(&self, company_id: i64, after: Option<i64>, types: &[String]) -> Result<Page, Error> {
        let source = Source { most: PART, ..self.backend.source(company_id) };
        let request = ListChangesRequest { after, types: types.to_vec(), limit: Some(WATCH_PAGE) };
        let (page, memory) = feed::list(source, &request).await?;
        Ok(compute(memory.bytes(), || Page::new(after, page, memory)))
    }
}
