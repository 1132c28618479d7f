//! A page of any size as a stream: the rows of one statement, and so of one snapshot.
//!
//! Rows are read ahead as far as there is memory, so most pages release their connection before the reader has taken them. A page
//! that cannot continue ends with an error, because the rest of it would be of another snapshot.

use std::{
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use admission::{Reservation, ResponseMemory, WorkPermit, compute};
use compliance_api::{error::Error, record::Record, v1::PageMeta};
use futures::FutureExt as _;
use sqlx::{Row as _, postgres::PgRow};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::{Instant, timeout},
};
use tonic::{Response, codegen::BoxStream};

use super::statements::{PART, Statements};
use crate::{backend::Backend, streams};
use storage::{
    database::{self, Connections, size},
    error::from_database,
    limits::COPIES,
    statement::Watch,
    table::{Read, Reader},
};

/// Maximum read-ahead, in KiB.
const READ_AHEAD: usize = 16 << 10;
const KIB: usize = 1 << 10;
/// How long a page waits for its reader, and for memory for its next record.
const PAGE_STALLED: Duration = Duration::from_secs(30);
/// The same in total, while other companies need the permit. A reader that takes a record a second does not stall.
const STALLS: Duration = Duration::from_secs(10);
const STALL: Duration = Duration::from_secs(1);

pub(crate) struct LargePage<T: Record, Q: 'static> {
    pub(crate) statements: &'static Statements<Q>,
    pub(crate) backend: Arc<Backend>,
    pub(crate) company_id: i64,
    pub(crate) request: Q,
    pub(crate) read: Read<T>,
    pub(crate) deadline: Instant,
}

/// A record, or only the total for a page without records.
pub(crate) struct PagePart<T> {
    pub(crate) record: Option<T>,
    /// Only in the first part.
    pub(crate) meta: Option<PageMeta>,
}

/// The resources of a message.
type Resources = (Reservation, OwnedSemaphorePermit);

impl<T: Record + Send, Q: Send + Sync> LargePage<T, Q> {
    /// Responds with the page, a part in each message. Refuses a company with too many open streams, or without memory for a part.
    pub(crate) fn stream<M: Send + 'static>(
        self,
        message: impl Fn(PagePart<T>) -> M + Send + Sync + 'static,
    ) -> Result<Response<BoxStream<M>>, Error> {
        let open = self.backend.quotas.open_stream(self.company_id)?;
        // The part of a record that has arrived before the record's size is known.
        let mut arriving = self.backend.quotas.memory.reservation(Some(self.company_id));
        arriving.grow(PART)?;
        let mut response = streams::respond(open, self.deadline, async move |messages| {
            self.send(&|part, resources| messages.send(message(part), resources)).await
        });
        response.extensions_mut().insert(ResponseMemory::new(arriving));
        Ok(response)
    }

    /// Reads the page, and passes each part to `send`. If nothing was sent yet, the page may be read again.
    async fn send(&self, send: &(impl Fn(PagePart<T>, Resources) + Sync)) -> Result<(), Error> {
        let statement = self.statements.statement(&self.request)?;
        let permit = &self.backend.quotas.large_pages.enter(self.company_id).await?;
        let has_sent = AtomicBool::new(false);
        // Only the first row is a wait for the database. The others wait for the reader.
        let watch = Mutex::new(Some(Watch::start()));
        let read = async |pool: Connections| {
            let (sender, rows) = mpsc::channel(1);
            let query = self.statements.query(statement, self.company_id, &self.request);
            let fetching = async {
                // Dropped at the end, which ends `rows`.
                let sender = sender;
                let pass_on = |row| {
                    drop(watch.lock().unwrap_or_else(PoisonError::into_inner).take());
                    sender.send(row).map(|result| result.is_ok())
                };
                pool.fetch_while(query, pass_on).await
            };
            let (read, parts) = tokio::join!(fetching, self.send_parts(rows, send, &has_sent, permit));
            match read {
                Err(error) if !has_sent.load(Ordering::Relaxed) => Err(error),
                read => Ok(parts.and_then(|()| read.map_err(from_database))),
            }
        };
        database::retried(&self.backend.reads, read).await.map_err(from_database)?
    }

    /// Sends each row as a part, once there is memory for it.
    async fn send_parts(
        &self,
        mut rows: mpsc::Receiver<PgRow>,
        send: &(impl Fn(PagePart<T>, Resources) + Sync),
        has_sent: &AtomicBool,
        permit: &WorkPermit,
    ) -> Result<(), Error> {
        let room = Arc::new(Semaphore::new(READ_AHEAD));
        let (mut reader, mut stalls) = (None, Duration::ZERO);
        while let Some(row) = rows.recv().await {
            let bytes = size(&row);
            let ahead = Arc::clone(&room).acquire_many_owned((bytes.div_ceil(KIB)).clamp(1, READ_AHEAD) as u32);
            let ahead = wait(ahead, permit, &mut stalls).await?.map_err(|_| Error::internal())?;
            let mut memory = self.backend.quotas.memory.reservation(Some(self.company_id));
            wait(memory.wait_to_grow(bytes * COPIES, PAGE_STALLED), permit, &mut stalls).await??;
            let part = compute(bytes, || self.part(&row, &mut reader)).map_err(from_database)?;
            drop(row);
            memory.shrink_to(bytes * (COPIES - 1));
            has_sent.store(true, Ordering::Relaxed);
            send(part, (memory, ahead));
        }
        Ok(())
    }

    /// Decodes a row. `reader` is made of the first row.
    fn part(&self, row: &PgRow, reader: &mut Option<Reader<T>>) -> Result<PagePart<T>, sqlx::Error> {
        let total = if reader.is_none() { Some(row.try_get("total")?) } else { None };
        let meta = total.map(|total| self.statements.meta(&self.request, total));
        let reader = match reader {
            Some(reader) => reader,
            None => reader.insert(Reader::new(row)?),
        };
        let found: Option<i64> = row.try_get("found")?;
        let record = found.map(|_| (self.read)(reader, row)).transpose()?;
        Ok(PagePart { record, meta })
    }
}

async fn wait<F: Future>(wait: F, permit: &WorkPermit, stalls: &mut Duration) -> Result<F::Output, Error> {
    let mut wait = pin!(timeout(PAGE_STALLED, wait));
    while *stalls < STALLS {
        match timeout(STALL, &mut wait).await {
            Ok(waited) => return waited.map_err(|_| Error::deadline_exceeded()),
            Err(_) if permit.is_needed() => *stalls += STALL,
            Err(_) => {}
        }
    }
    Err(Error::deadline_exceeded())
}
