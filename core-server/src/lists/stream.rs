//! A page of any size as a stream: the rows of one statement, and so of one snapshot, as its reader takes them.
//!
//! Rows are read ahead of the reader as far as there is memory, so that most pages give back their connection at once. A page
//! that cannot go on ends with an error: the rest of it would be of another snapshot.

use std::{
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use admission::{Reservation, ResponseMemory, WorkPermit, compute};
use compliance_api::{error::Error, record::Record};
use futures::{FutureExt as _, StreamExt as _, stream};
use sqlx::{Row as _, postgres::PgRow};
use telemetry::trace;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::{Instant, timeout, timeout_at},
};
use tonic::{Response, Status};

use super::{page::Asked, statements::Statements};
use crate::{
    backend::Backend,
    limits::{KIB, PAGE_STALLED, PART, READ_AHEAD, STALL, STALLS},
    requests::streamed,
};
use storage::{
    database::{self, Connections, size},
    error::from_database,
    limits::COPIES,
    statement::{self, Watch},
    table::{Read, Reader},
};

pub(crate) struct LargePage<T: Record, Q: 'static> {
    pub(crate) statements: &'static Statements<Q>,
    pub(crate) backend: Arc<Backend>,
    pub(crate) company_id: i64,
    pub(crate) request: Q,
    pub(crate) asked: Asked,
    pub(crate) read: Read<T>,
    pub(crate) deadline: Instant,
}

/// A record, or the total alone of a page without records.
pub(crate) struct PagePart<T> {
    pub(crate) record: Option<T>,
    /// How many records there are on all pages. Of the first part.
    pub(crate) total: Option<i64>,
}

/// What a part takes until the next one is asked for.
type Held = (Reservation, OwnedSemaphorePermit);

/// Where parts are sent to. `None` is the end of the page; without it, the page is incomplete.
type Parts<T> = mpsc::UnboundedSender<Option<Result<(PagePart<T>, Held), Status>>>;

impl<T: Record + Send, Q: Send + Sync> LargePage<T, Q> {
    /// The parts of the page, each as a message. Refuses a company that has too many streams open, or no memory for a part.
    pub(crate) fn stream<M: Send + 'static>(
        self,
        message: impl Fn(PagePart<T>) -> M + Send + 'static,
    ) -> Result<Response<tonic::codegen::BoxStream<M>>, Error> {
        let (open, deadline) = (self.backend.shares.open_stream(self.company_id)?, self.deadline);
        // What has arrived of a record before its size is known.
        let mut arriving = self.backend.shares.memory.reservation(Some(self.company_id));
        arriving.grow(PART)?;
        let (sender, received) = mpsc::unbounded_channel();
        #[allow(clippy::disallowed_methods, reason = "it ends with its call")]
        tokio::spawn(trace::inherit(statement::inherit(async move {
            let ended = tokio::select! {
                () = sender.closed() => return,
                ended = timeout_at(deadline, self.send(&sender)) => ended.unwrap_or_else(|_| Err(Error::deadline_exceeded())),
            };
            drop(open);
            let _ = sender.send(ended.err().map(|error| Err(error.into())));
        })));
        let parts = stream::unfold((received, message, None), |(mut received, message, held)| async {
            drop::<Option<Held>>(held);
            // A task that has ended without saying so has panicked.
            let received_part = received.recv().await.unwrap_or_else(|| Some(Err(Error::internal().into())));
            Some(match received_part? {
                Ok((part, held)) => (Ok(message(part)), (received, message, Some(held))),
                Err(status) => (Err(status), (received, message, None)),
            })
        });
        let mut response = streamed(Box::pin(parts.fuse()) as tonic::codegen::BoxStream<M>, deadline);
        response.extensions_mut().insert(ResponseMemory::new(arriving));
        Ok(response)
    }

    /// Reads the page. A page of which nothing was sent may be read again.
    async fn send(&self, parts: &Parts<T>) -> Result<(), Error> {
        let statement = self.statements.statement(&self.request, self.asked)?;
        let permit = &self.backend.shares.large_pages.enter(self.company_id).await?;
        let has_sent = AtomicBool::new(false);
        // The first row ends the wait for the database. The others wait for the reader.
        let watch = Mutex::new(Some(Watch::start()));
        let read = async |pool: Connections| {
            let (sender, rows) = mpsc::channel(1);
            let query = self.statements.query(statement, self.company_id, &self.request, self.asked);
            let fetching = async {
                // Dropped at the end, of which the receiver learns.
                let sender = sender;
                let sent = |row| {
                    drop(watch.lock().unwrap_or_else(PoisonError::into_inner).take());
                    sender.send(row).map(|sent| sent.is_ok())
                };
                pool.fetch_while(query, sent).await
            };
            let (read, sent) = tokio::join!(fetching, self.send_parts(rows, parts, &has_sent, permit));
            match read {
                Err(error) if !has_sent.load(Ordering::Relaxed) => Err(error),
                read => Ok(sent.and_then(|()| read.map_err(from_database))),
            }
        };
        database::retried(&self.backend.reads, read).await.map_err(from_database)?
    }

    /// Sends each row as a part, when there is room for it.
    async fn send_parts(
        &self,
        mut rows: mpsc::Receiver<PgRow>,
        parts: &Parts<T>,
        has_sent: &AtomicBool,
        permit: &WorkPermit,
    ) -> Result<(), Error> {
        let room = Arc::new(Semaphore::new(READ_AHEAD));
        let (mut reader, mut stalls) = (None, Duration::ZERO);
        while let Some(row) = rows.recv().await {
            let bytes = size(&row);
            let ahead = Arc::clone(&room).acquire_many_owned((bytes.div_ceil(KIB)).clamp(1, READ_AHEAD) as u32);
            let ahead = wait(ahead, permit, &mut stalls).await?.map_err(|_| Error::internal())?;
            let mut memory = self.backend.shares.memory.reservation(Some(self.company_id));
            wait(memory.wait_to_grow(bytes * COPIES, PAGE_STALLED), permit, &mut stalls).await??;
            let part = compute(bytes, || self.part(&row, &mut reader)).map_err(from_database)?;
            drop(row);
            memory.shrink_to(bytes * (COPIES - 1));
            has_sent.store(true, Ordering::Relaxed);
            if parts.send(Some(Ok((part, (memory, ahead))))).is_err() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// `reader` is that of the statement, once it has returned a row.
    fn part(&self, row: &PgRow, reader: &mut Option<Reader<T>>) -> Result<PagePart<T>, sqlx::Error> {
        let total = if reader.is_none() { Some(row.try_get("total")?) } else { None };
        let reader = match reader {
            Some(reader) => reader,
            None => reader.insert(Reader::new(row)?),
        };
        let found: Option<i64> = row.try_get("found")?;
        let record = found.map(|_| (self.read)(reader, row)).transpose()?;
        Ok(PagePart { record, total })
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
