//! State shared by all watches. One statement polls the positions of all watched companies or, on Citus, of one company. All watchers of a
//! company share one page.
//!
//! The hub polls because `NOTIFY` would lock the whole database at each commit, and `LISTEN` needs a dedicated connection, which a pooler
//! does not provide. Polling stops when no watches are open.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use admission::Reservation;
use compliance_api::{
    error::Error,
    v1::{ListChangesRequest, ListChangesResponse},
};
use storage::{
    database::{self, Connections},
    error::text,
    statement_context::StatementContext,
};
use telemetry::background::{self, Task};
use tokio::{
    sync::{self, watch},
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use super::feed;
use crate::{
    backend::Backend,
    lists::{PART, Source},
    message_streams::MESSAGE_STALLED,
    quotas::DatabaseWork,
};

/// Maximum number of changes on a shared page.
const WATCH_PAGE: i64 = 1000;
/// Polling interval. On average, a watch notices a commit after half this time.
const WATCH_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum polling interval while the database is slow or does not respond.
pub(super) const LONGEST_WATCH_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of concurrent first-page reads per company. Other watches wait, because many clients reconnect at the same time after a
/// restart.
const FIRST_PAGES: usize = 16;

/// Reads the last positions of several companies.
const POSITIONS: &str = "select company_id, position from change_positions where company_id = any($1::bigint[])";

/// A page of changes after a position.
pub(super) struct ChangePage {
    pub(super) after: i64,
    pub(super) changes: ListChangesResponse,
    /// Memory reserved for the changes.
    _memory: Reservation,
}

impl ChangePage {
    /// Returns whether this was the last page when it was read.
    pub(super) fn is_last(&self) -> bool {
        self.changes.position >= self.changes.last_position
    }
}

pub(super) struct Hub {
    pub(super) backend: Arc<Backend>,
    watched: Mutex<Watched>,
}

#[derive(Default)]
struct Watched {
    companies: HashMap<i64, Weak<WatchedCompany>>,
    /// Polls positions while any watch is open.
    poll: Option<JoinHandle<()>>,
}

/// A watched company.
pub(super) struct WatchedCompany {
    pub(super) id: i64,
    /// The last polled position, or -1 before the first poll.
    noticed: AtomicI64,
    /// The last position whose changes were read for all watchers.
    pub(super) position: watch::Sender<Option<i64>>,
    /// The last shared page, and when it was read. One watcher reads while the others wait.
    page: sync::Mutex<Option<(Instant, SharedPage)>>,
    /// Permits to read a first page.
    beginning: sync::Semaphore,
}

/// A page that all watchers share.
type SharedPage = Result<Arc<ChangePage>, Error>;

impl Hub {
    pub(super) fn new(backend: &Arc<Backend>) -> Arc<Self> {
        Arc::new(Self { backend: Arc::clone(backend), watched: Mutex::default() })
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a watched company. The hub polls the company's positions while anyone holds the returned reference.
    pub(super) fn join(self: &Arc<Self>, id: i64) -> Arc<WatchedCompany> {
        let watched = &mut *self.watched();
        if watched.poll.as_ref().is_none_or(JoinHandle::is_finished) {
            let hub = Arc::clone(self);
            let poll = move |task| StatementContext::of("positions of changes").run(Arc::clone(&hub).poll(task));
            watched.poll = Some(background::spawn("watch", poll));
        }
        let known = watched.companies.get(&id).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let (position, page) = (watch::Sender::new(None), sync::Mutex::default());
            let beginning = sync::Semaphore::new(FIRST_PAGES);
            let company = Arc::new(WatchedCompany { id, noticed: AtomicI64::new(-1), position, page, beginning });
            watched.companies.insert(id, Arc::downgrade(&company));
            company
        })
    }

    /// Polls the positions of all watched companies until the last watch closes.
    async fn poll(self: Arc<Self>, task: Arc<Task>) {
        let mut has_failed = false;
        while let Some(companies) = self.watched_companies() {
            let start = Instant::now();
            for part in self.backend.pool.divided(companies, |id| *id) {
                let pool = self.backend.pool.of_company(part.first().copied().unwrap_or_default());
                let read = async |pool: Connections| {
                    sqlx::query_as::<_, (i64, i64)>(POSITIONS).bind(&part).fetch_all(&pool).await
                };
                match database::short_read(&pool, read).await {
                    Ok(positions) => {
                        has_failed = false;
                        self.found(&part, &positions.into_iter().collect());
                    }
                    Err(error) if !std::mem::replace(&mut has_failed, true) => tracing::warn!(
                        "cannot read change positions; watches receive no changes until a read succeeds: {}",
                        text(&error)
                    ),
                    Err(_) => {}
                }
            }
            task.succeeded();
            // A slow database spends at most half its time on these reads.
            let pause = if has_failed { LONGEST_WATCH_INTERVAL } else { start.elapsed() };
            sleep(pause.clamp(WATCH_INTERVAL, LONGEST_WATCH_INTERVAL)).await;
        }
    }

    /// Returns the watched companies. If there are none, polling stops until the next watcher joins.
    fn watched_companies(&self) -> Option<Vec<i64>> {
        let watched = &mut *self.watched();
        watched.companies.retain(|_, company| company.upgrade().inspect(|it| it.drop_old_page()).is_some());
        if watched.companies.is_empty() {
            watched.poll = None;
            return None;
        }
        Some(watched.companies.keys().copied().collect())
    }

    fn found(self: &Arc<Self>, companies: &[i64], positions: &HashMap<i64, i64>) {
        let watched = self.watched();
        for company in companies.iter().filter_map(|id| watched.companies.get(id)?.upgrade()) {
            let position = positions.get(&company.id).copied().unwrap_or_default();
            let before = company.noticed.swap(position, Ordering::Relaxed);
            if before != position {
                let publish = Arc::clone(self).publish(company, before, position);
                #[allow(clippy::disallowed_methods, reason = "watchers see the failure of this single read")]
                tokio::spawn(StatementContext::of("changes for watchers").run(publish));
            }
        }
    }

    /// Reads the changes between two positions, and then notifies all watchers of the company.
    async fn publish(self: Arc<Self>, company: Arc<WatchedCompany>, before: i64, position: i64) {
        if (0..position).contains(&before) {
            // Watchers receive the same error.
            let _ = self.shared(&company, before).await;
        }
        // The hub may have polled a later position by now.
        company.position.send_modify(|known| *known = Some(company.noticed.load(Ordering::Relaxed)));
    }

    /// Returns the shared page of changes of all types after a position, reading it if necessary.
    ///
    /// If the read fails, other watchers receive the same error for a short time.
    pub(super) async fn shared(&self, company: &WatchedCompany, after: i64) -> SharedPage {
        let mut last = company.page.lock().await;
        match &*last {
            Some((_, Ok(page))) if page.after <= after && after < page.changes.position => return Ok(Arc::clone(page)),
            Some((_, Err(error))) => return Err(error.clone()),
            _ => {}
        }
        let read = self.read(company.id, after, &[]).await.map(Arc::new);
        if !read.as_ref().is_err_and(Error::is_of_position) {
            *last = Some((Instant::now(), read.clone()));
        }
        read
    }

    /// Reads a watch's first page. Without a position, the page contains the last position and no changes.
    pub(super) async fn first(
        &self,
        company: &WatchedCompany,
        after: Option<i64>,
        types: &[String],
    ) -> Result<ChangePage, Error> {
        let _permit = company.beginning.acquire().await.map_err(|_| Error::internal())?;
        self.backend.with_permit(company.id, DatabaseWork::Statement, self.page(company.id, after, types)).await
    }

    /// Reads a page of changes of these types, with a permit for the company.
    pub(super) async fn read(&self, company_id: i64, after: i64, types: &[String]) -> Result<ChangePage, Error> {
        let reading =
            self.backend.with_permit(company_id, DatabaseWork::Statement, self.page(company_id, Some(after), types));
        let read = timeout(self.backend.settings.call_timeout, reading).await;
        read.map_err(|_| Error::deadline_exceeded())?
    }

    /// Reads a page. The caller must hold a permit.
    async fn page(&self, company_id: i64, after: Option<i64>, types: &[String]) -> Result<ChangePage, Error> {
        let source = Source { most: PART, ..self.backend.source(company_id) };
        let request = ListChangesRequest { after, types: types.to_vec(), limit: Some(WATCH_PAGE) };
        let (changes, memory) = feed::list(source, &request).await?;
        Ok(ChangePage { after: after.unwrap_or(changes.position), changes, _memory: memory })
    }
}

impl WatchedCompany {
    /// Drops the last page once all watchers except slow ones have sent it.
    fn drop_old_page(&self) {
        if let Ok(mut page) = self.page.try_lock() {
            page.take_if(|(read, _)| read.elapsed() > MESSAGE_STALLED);
        }
    }
}
