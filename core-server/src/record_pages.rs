//! All records of a company, in pages that are read by key: lists without page numbers, and exports.

mod page;

use std::{sync::Arc, time::Duration};

use admission::{Count, MEMORY_WAIT, Reservation, WorkPermit};
use compliance_api::error::Error;
use futures::{StreamExt as _, stream};
use sqlx::{Row as _, postgres::PgRow};
use storage::{
    database::{self, Connections, End, Fetched},
    error::from_database,
    statement,
};
use telemetry::trace;
use tokio::{
    sync::mpsc,
    time::{Instant, timeout, timeout_at},
};
use tonic::{Response, Status, codegen::BoxStream};

pub(crate) use self::page::{PageOfRecords, RecordPage};
use crate::{
    backend::Backend,
    changes::Changed,
    limits::{MESSAGE_BYTES, MESSAGE_RECORDS, MESSAGE_STALLED, PAGE_RECORDS, PART, SLOT_KEPT},
    requests::streamed,
    shares::QueueClass,
};

pub(crate) type RecordPages<T> = BoxStream<T>;

/// Reads every record of the company that the filters let through, that has a higher ID than `after`, and that is one of `changed`, until the timeout. A page is read while the one before is
/// sent. A reader that stops to read holds no connection and, after a short while, no page.
pub(crate) fn all<T: RecordPage>(
    backend: &Arc<Backend>,
    company_id: i64,
    after: i64,
    filters: T::Filters,
    changed: Option<Arc<Changed>>,
    timeout: Duration,
) -> Result<Response<RecordPages<T>>, Error> {
    let deadline = Instant::now() + timeout;
    let open = backend.shares.open_stream(company_id)?;
    let (want, wanted) = mpsc::channel(1);
    let (messages, received) = mpsc::channel(1);
    let producer = Producer {
        backend: Arc::clone(backend),
        company_id,
        after,
        filters,
        changed,
        deadline,
        wanted,
        is_wanted: false,
        messages,
    };
    #[allow(clippy::disallowed_methods, reason = "it ends with its call")]
    tokio::spawn(trace::inherit(statement::inherit(producer.run(open))));
    Ok(streamed(self::messages(want, received), deadline))
}

/// The messages, each made when it is requested. `None` is the end of the list.
pub(crate) fn messages<T: Send + 'static>(
    want: mpsc::Sender<()>,
    received: mpsc::Receiver<Option<Result<T, Status>>>,
) -> BoxStream<T> {
    let messages = stream::unfold((want, received), |(want, mut received)| async {
        // A producer that has ended has left what is to be received.
        let _ = want.try_send(());
        // One that has ended without saying so has panicked: the list is not complete.
        let message = received.recv().await.unwrap_or_else(|| Some(Err(Error::internal().into())));
        message.map(|message| (message, (want, received)))
    });
    Box::pin(messages.fuse())
}

struct Producer<T: RecordPage> {
    backend: Arc<Backend>,
    company_id: i64,
    after: i64,
    filters: T::Filters,
    /// The records that are read, if not all.
    changed: Option<Arc<Changed>>,
    deadline: Instant,
    /// Receives once for each message that is requested. Closed when the reader has left.
    wanted: mpsc::Receiver<()>,
    is_wanted: bool,
    /// Has room for what is requested, and for the end, which is `None` or an error.
    messages: mpsc::Sender<Option<Result<T, Status>>>,
}

/// How many messages of a page were sent.
enum Progress {
    All,
    /// The reader has not asked for the rest.
    Some,
    /// The reader has left.
    Left,
}

impl<T: RecordPage> Producer<T> {
    /// Makes messages until there are no more records, the reader leaves, or the deadline. `open` counts the stream.
    async fn run(mut self, open: Count) {
        let ended = self.send_all().await;
        // A reader that does not take the end, either, keeps its company from other streams no longer.
        drop(open);
        // A list that is cut short must not look complete.
        let _ = self.messages.send(ended.err().map(|error| Err(error.into()))).await;
    }

    async fn send_all(&mut self) -> Result<(), Error> {
        loop {
            let (page, permit) = tokio::select! {
                () = self.messages.closed() => return Ok(()),
                page = timeout_at(self.deadline, self.page()) => page.map_err(|_| Error::deadline_exceeded())??,
            };
            let read = page.rows.len();
            let window_end = self.changed.as_ref().and_then(|changed| changed.window(self.after).last().copied());
            let is_last = page.end == End::Complete && read < PAGE_RECORDS as usize && (read == 0 || !T::MAY_BE_SHORT);
            match self.send(&page.rows, permit).await? {
                Progress::All if !is_last => {}
                // All records of the window were sent.
                Progress::All if window_end.is_some() => self.after = window_end.unwrap_or(self.after),
                Progress::Some => {
                    drop(page);
                    let asked = timeout_at(self.deadline, self.wanted.recv()).await;
                    let Some(()) = asked.map_err(|_| Error::deadline_exceeded())? else { return Ok(()) };
                    self.is_wanted = true;
                }
                Progress::All | Progress::Left => return Ok(()),
            }
        }
    }

    /// The records that follow the last one. If there is no memory for the first of them, waits for it once.
    async fn page(&self) -> Result<(Fetched, Option<WorkPermit>), Error> {
        let mut memory = self.backend.shares.memory.reservation(Some(self.company_id));
        let (rows, permit) = self.read(&memory).await?;
        if !is_full(&rows) {
            return Ok((rows, permit));
        }
        drop(permit);
        memory.wait_to_grow(PART, MEMORY_WAIT).await?;
        memory.shrink_to(0);
        let (rows, permit) = self.read(&memory).await?;
        match rows.end {
            End::Full(full) if is_full(&rows) => Err(full.into()),
            _ => Ok((rows, permit)),
        }
    }

    async fn read(&self, memory: &Reservation) -> Result<(Fetched, Option<WorkPermit>), Error> {
        let permit = self.backend.shares.enter(self.company_id, QueueClass::Statement).await?;
        let query = || {
            let statement = T::statement(&self.filters, self.changed.is_some());
            let query = sqlx::query(statement).bind(self.company_id).bind(self.after);
            let query = T::bind(query.bind(PAGE_RECORDS), &self.filters);
            match &self.changed {
                Some(changed) => query.bind(changed.window(self.after).to_vec()),
                None => query,
            }
        };
        let read = async |pool: Connections| pool.fetch_at_most(query(), PART, memory).await;
        let rows = database::read(&self.backend.reads, read).await;
        Ok((rows.map_err(from_database)?, permit))
    }

    async fn send(&mut self, mut rows: &[PgRow], mut permit: Option<WorkPermit>) -> Result<Progress, Error> {
        while !rows.is_empty() {
            if !self.is_wanted {
                let mut asked = timeout(SLOT_KEPT, self.wanted.recv()).await;
                if asked.is_err() {
                    permit = None;
                    asked = timeout(MESSAGE_STALLED, self.wanted.recv()).await;
                }
                match asked {
                    Ok(Some(())) => {}
                    Ok(None) => return Ok(Progress::Left),
                    Err(_) => return Ok(Progress::Some),
                }
            }
            let (message, last_id, taken) = message(rows).map_err(from_database)?;
            rows = &rows[taken..];
            self.after = last_id;
            self.is_wanted = false;
            if self.messages.send(Some(Ok(message))).await.is_err() {
                return Ok(Progress::Left);
            }
        }
        // While other companies call, the next page of this one is not read while this page is still encoded.
        if permit.is_some() && self.backend.shares.are_several_calling() {
            match timeout(SLOT_KEPT, self.wanted.recv()).await {
                Ok(Some(())) => self.is_wanted = true,
                Ok(None) => return Ok(Progress::Left),
                Err(_) => {}
            }
        }
        Ok(Progress::All)
    }
}

/// Whether there was no memory for the first record.
fn is_full(page: &Fetched) -> bool {
    page.rows.is_empty() && page.end != End::Complete
}

/// A message of the first records, the ID of its last one, and their number.
fn message<T: RecordPage>(rows: &[PgRow]) -> Result<(T, i64, usize), sqlx::Error> {
    let mut taken = rows.len().min(MESSAGE_RECORDS);
    loop {
        let last_id = rows[taken - 1].try_get("last_id")?;
        let message = T::read(&rows[..taken], last_id)?;
        let bytes = message.encoded_len();
        if taken == 1 || bytes <= MESSAGE_BYTES {
            return Ok((message, last_id, taken));
        }
        taken = (taken * MESSAGE_BYTES / bytes).clamp(1, taken - 1);
    }
}

#[cfg(test)]
mod tests {
    use futures::StreamExt as _;
    use tokio::sync::mpsc;
    use tonic::Code;

    #[tokio::test]
    async fn a_list_whose_producer_panics_is_not_complete() {
        for panics in [false, true] {
            let (want, mut wanted) = mpsc::channel(1);
            let (messages, received) = mpsc::channel(1);
            let producer = tokio::spawn(async move {
                wanted.recv().await;
                messages.send(Some(Ok(1))).await.unwrap();
                assert!(!panics, "the producer panics");
                messages.send(None).await.unwrap();
            });
            let list: Vec<_> = super::messages(want, received).take(2).collect().await;
            assert_eq!(*list[0].as_ref().unwrap(), 1);
            assert_eq!(list.get(1).map(|end| end.as_ref().unwrap_err().code()), panics.then_some(Code::Internal));
            assert_eq!(producer.await.is_err(), panics);
        }
    }
}
