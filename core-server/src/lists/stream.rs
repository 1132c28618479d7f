//! A page of any size as a stream: the rows of one statement, and so of one snapshot, as its reader takes them.
//!
//! Rows are read ahead of the reader as far as there is memory for them, so that most pages give back their connection at
//! once. A larger one keeps its connection, which few pages may do at the same time, and for a bounded time. A page
//! that cannot go on ends with an error: the rest of it would be of another snapshot.

use std::{
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use admission::{Reservation, Slot, compute};
use compliance_api::{error::Error, record::Record};
use futures::{Stream, StreamExt as _};
use http_server::FinishBy;
use sqlx::{Row as _, postgres::PgRow};
use telemetry::trace;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::{Instant, timeout, timeout_at},
};
use tonic::{Response, Status};

use super::{
    page::Asked,
    statements::{PART, Statements},
};
use crate::{
    database::{self, COPIES, Connections, size},
    error::from_database,
    requests::holding,
    shares::Shares,
    table::{Read, Reader},
};

/// KiB of records that are read before their reader takes them.
const READ_AHEAD: usize = 16 << 10;
const KIB: usize = 1 << 10;
/// How long a page waits for its reader, and for memory for its next record.
const STALLED: Duration = Duration::from_secs(30);
/// How long it waits so in all while other companies need its slot. A reader that takes a record a second does not stall.
const STALLS: Duration = Duration::from_secs(10);
const STALL: Duration = Duration::from_secs(1);
/// How long a client has to read that its time is up.
const SLACK: Duration = Duration::from_secs(2);

/// Which page is streamed, and for whom.
pub(crate) struct LargePage<T: Record, Q: 'static> {
    pub(crate) statements: &'static Statements<Q>,
    pub(crate) pool: Connections,
    pub(crate) shares: Shares,
    pub(crate) company_id: i64,
    pub(crate) request: Q,
    pub(crate) asked: Asked,
    pub(crate) read: Read<T>,
    pub(crate) deadline: Instant,
}

/// A record, or the total alone of a page without records.
pub(crate) struct Part<T> {
    pub(crate) record: Option<T>,
    /// How many records there are on all pages. Of the first part.
    pub(crate) total: Option<i64>,
}

/// A part with what it takes until the next one is asked for.
struct Held<T> {
    part: Part<T>,
    memory: Reservation,
    ahead: OwnedSemaphorePermit,
}

/// What is sent to the reader. Without an end, the page is incomplete.
enum Sent<T> {
    Part(Held<T>),
    End,
    Error(Status),
}

impl<T: Record + Send, Q: Send + Sync> LargePage<T, Q> {
    /// The parts of the page, each as a message. Refuses a company that has too many streams open, or no memory for a part.
    pub(crate) fn stream<M: Send + 'static>(
        self,
        message: impl Fn(Part<T>) -> M + Send + 'static,
    ) -> Result<Response<tonic::codegen::BoxStream<M>>, Error> {
        let (open, deadline) = (self.shares.open_stream(self.company_id)?, self.deadline);
        // What has arrived of a record before its size is known.
        let mut arriving = self.shares.memory.reservation(Some(self.company_id));
        arriving.grow(PART)?;
        let (sender, received) = mpsc::unbounded_channel();
        tokio::spawn(trace::inherit(async move {
            let ended = tokio::select! {
                () = sender.closed() => return,
                ended = timeout_at(deadline, self.send(&sender)) => ended.unwrap_or_else(|_| Err(Error::deadline_exceeded())),
            };
            drop(open);
            let _ = sender.send(ended.map_or_else(|error| Sent::Error(error.into()), |()| Sent::End));
        }));
        let parts = Parts { received, message, held: None }.fuse();
        let mut response = holding(Box::pin(parts) as tonic::codegen::BoxStream<M>, arriving);
        // A client that does not read never polls the stream, so its deadline must be kept without a poll.
        response.extensions_mut().insert(FinishBy(deadline + SLACK));
        Ok(response)
    }

    /// Reads the page. A page of which nothing was sent may be read again.
    async fn send(&self, parts: &mpsc::UnboundedSender<Sent<T>>) -> Result<(), Error> {
        let statement = self.statements.statement(&self.request, self.asked)?;
        let slot = &self.shares.enter_large_page(self.company_id).await?;
        let has_sent = AtomicBool::new(false);
        let read = || async {
            let (sender, rows) = mpsc::channel(1);
            let query = self.statements.query(statement, self.company_id, &self.request, self.asked);
            let (read, sent) =
                tokio::join!(self.pool.send_rows(query, sender), self.send_parts(rows, parts, &has_sent, slot));
            match read {
                Err(error) if !has_sent.load(Ordering::Relaxed) => Err(error),
                read => Ok(sent.and_then(|()| read.map_err(|error| from_database(&error)))),
            }
        };
        database::read(read).await.map_err(|error| from_database(&error))?
    }

    /// Sends each row as a part, when there is room for it.
    async fn send_parts(
        &self,
        mut rows: mpsc::Receiver<PgRow>,
        parts: &mpsc::UnboundedSender<Sent<T>>,
        has_sent: &AtomicBool,
        slot: &Slot,
    ) -> Result<(), Error> {
        let room = Arc::new(Semaphore::new(READ_AHEAD));
        let (mut reader, mut stalls) = (None, Duration::ZERO);
        while let Some(row) = rows.recv().await {
            let bytes = size(&row);
            let ahead = Arc::clone(&room).acquire_many_owned((bytes.div_ceil(KIB)).clamp(1, READ_AHEAD) as u32);
            let ahead = wait(ahead, slot, &mut stalls).await?.map_err(|_| Error::internal())?;
            let mut memory = self.shares.memory.reservation(Some(self.company_id));
            wait(memory.wait_to_grow(bytes * COPIES, STALLED), slot, &mut stalls).await??;
            let part = compute(bytes, || self.part(&row, &mut reader)).map_err(|error| from_database(&error))?;
            drop(row);
            memory.shrink_to(bytes * (COPIES - 1));
            has_sent.store(true, Ordering::Relaxed);
            if parts.send(Sent::Part(Held { part, memory, ahead })).is_err() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// `reader` is that of the statement, once it has returned a row.
    fn part(&self, row: &PgRow, reader: &mut Option<Reader<T>>) -> Result<Part<T>, sqlx::Error> {
        let total = if reader.is_none() { Some(row.try_get("total")?) } else { None };
        let reader = match reader {
            Some(reader) => reader,
            None => reader.insert(Reader::new(row)?),
        };
        let record = match row.try_get::<Option<i64>, _>("found")? {
            Some(_) => Some((self.read)(reader, row)?),
            None => None,
        };
        Ok(Part { record, total })
    }
}

/// Waits for the reader, or for memory.
async fn wait<F: Future>(wait: F, slot: &Slot, stalls: &mut Duration) -> Result<F::Output, Error> {
    let mut wait = pin!(timeout(STALLED, wait));
    while *stalls < STALLS {
        match timeout(STALL, &mut wait).await {
            Ok(waited) => return waited.map_err(|_| Error::deadline_exceeded()),
            Err(_) if slot.is_needed() => *stalls += STALL,
            Err(_) => {}
        }
    }
    Err(Error::deadline_exceeded())
}

/// The parts as messages.
struct Parts<T, F> {
    received: mpsc::UnboundedReceiver<Sent<T>>,
    message: F,
    /// Of the message that was taken last.
    held: Option<(Reservation, OwnedSemaphorePermit)>,
}

impl<T, F> Unpin for Parts<T, F> {}

impl<T, M, F: Fn(Part<T>) -> M> Stream for Parts<T, F> {
    type Item = Result<M, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.held = None;
        Poll::Ready(match ready!(self.received.poll_recv(context)) {
            Some(Sent::Part(Held { part, memory, ahead })) => {
                self.held = Some((memory, ahead));
                Some(Ok((self.message)(part)))
            }
            Some(Sent::Error(status)) => Some(Err(status)),
            Some(Sent::End) => None,
            // The task that reads has ended early.
            None => Some(Err(Error::internal().into())),
        })
    }
}
