//! Reads pages ahead of their reader, as long as it reads.

use std::time::Duration;

use admission::{Count, Reservation, Slot};
use compliance_api::error::Error;
use sqlx::{Row as _, postgres::PgRow};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout, timeout_at},
};
use tonic::Status;

use super::RecordPage;
use crate::{
    database::{self, Connections, End, Fetched},
    error::from_database,
    shares::{Shares, Work},
};

/// Records that a statement reads, and bytes of those that have many.
const PAGE: i64 = 72;
const PAGE_BYTES: usize = 4 << 20;
/// Records in a message, and bytes of those that have many. So little, because a connection whose client does not read
/// keeps a message.
const MESSAGE_RECORDS: usize = 12;
const MESSAGE_BYTES: usize = 16 << 10;
/// How long a stream waits for memory for its next record.
const MEMORY_WAIT: Duration = Duration::from_secs(5);
/// How long a page that was read keeps the company's slot while its reader asks for nothing. A reader that is quick has
/// its messages made and encoded in the slot, since this takes as long as the statement.
const SLOT_KEPT: Duration = Duration::from_millis(3);
/// A page that nobody has asked for in this time is dropped, and read again when it is asked for.
const STALLED: Duration = Duration::from_millis(500);

/// Makes the messages of a stream.
pub(super) struct Producer<T> {
    pub(super) pool: Connections,
    pub(super) shares: Shares,
    pub(super) company_id: i64,
    /// The last ID that was sent.
    pub(super) after: i64,
    pub(super) deadline: Instant,
    /// Receives once for each message that is asked for. Closed when the reader has left.
    pub(super) wanted: mpsc::Receiver<()>,
    /// The next message has been asked for.
    pub(super) is_wanted: bool,
    /// Has room for what is asked for, and for the end, which is `None` or an error.
    pub(super) messages: mpsc::Sender<Option<Result<T, Status>>>,
}

/// How the messages of a page were sent.
enum Sent {
    /// All of them.
    All,
    /// The reader has not asked for the rest.
    Some,
    /// The reader has left.
    Left,
}

impl<T: RecordPage> Producer<T> {
    /// Makes messages until there are no more records, the reader leaves, or the deadline. `open` counts the stream.
    pub(super) async fn run(mut self, open: Count) {
        let ended = self.send_all().await;
        // A reader that does not take the end, either, keeps its company from other streams no longer.
        drop(open);
        // The stream's next message: a list that is cut short must not look complete. There is room for it, or the message
        // before it has not been taken yet.
        let _ = self.messages.send(ended.err().map(|error| Err(error.into()))).await;
    }

    async fn send_all(&mut self) -> Result<(), Error> {
        loop {
            let page = tokio::select! {
                () = self.messages.closed() => return Ok(()),
                page = timeout_at(self.deadline, self.page()) => page.map_err(|_| Error::deadline_exceeded())??,
            };
            let (page, slot) = page;
            match self.send(&page.rows, slot).await? {
                Sent::All if page.end != End::Complete || is_followed::<T>(&page.rows) => {}
                Sent::Some => {
                    drop(page);
                    let asked = timeout_at(self.deadline, self.wanted.recv()).await;
                    let Some(()) = asked.map_err(|_| Error::deadline_exceeded())? else { return Ok(()) };
                    self.is_wanted = true;
                }
                Sent::All | Sent::Left => return Ok(()),
            }
        }
    }

    /// The records that follow the last one. If there is no memory for the first of them, waits for it once.
    async fn page(&self) -> Result<(Fetched, Option<Slot>), Error> {
        let mut memory = self.shares.memory.reservation(Some(self.company_id));
        let (rows, slot) = self.read(&memory).await?;
        if !is_full(&rows) {
            return Ok((rows, slot));
        }
        drop(slot);
        memory.wait_to_grow(PAGE_BYTES, MEMORY_WAIT).await?;
        memory.shrink_to(0);
        let (rows, slot) = self.read(&memory).await?;
        match rows.end {
            End::Full(full) if is_full(&rows) => Err(full.into()),
            _ => Ok((rows, slot)),
        }
    }

    async fn read(&self, memory: &Reservation) -> Result<(Fetched, Option<Slot>), Error> {
        let slot = self.shares.enter(self.company_id, Work::Statement(1)).await?;
        let query = || sqlx::query(T::statement()).bind(self.company_id).bind(self.after).bind(PAGE);
        let rows = database::read(|| self.pool.fetch_at_most(query(), PAGE_BYTES, memory)).await;
        Ok((rows.map_err(|error| from_database(&error))?, slot))
    }

    /// Sends the records of a page as they are asked for.
    async fn send(&mut self, mut rows: &[PgRow], mut slot: Option<Slot>) -> Result<Sent, Error> {
        while !rows.is_empty() {
            if !self.is_wanted {
                let mut asked = timeout(SLOT_KEPT, self.wanted.recv()).await;
                if asked.is_err() {
                    slot = None;
                    asked = timeout(STALLED, self.wanted.recv()).await;
                }
                match asked {
                    Ok(Some(())) => {}
                    Ok(None) => return Ok(Sent::Left),
                    Err(_) => return Ok(Sent::Some),
                }
            }
            let (message, last_id, taken) = message(rows).map_err(|error| from_database(&error))?;
            rows = &rows[taken..];
            self.after = last_id;
            self.is_wanted = false;
            if self.messages.send(Some(Ok(message))).await.is_err() {
                return Ok(Sent::Left);
            }
        }
        // Beside other companies, the next page of this one is not read while this page is still encoded.
        if slot.is_some() && self.shares.are_several_calling() {
            match timeout(SLOT_KEPT, self.wanted.recv()).await {
                Ok(Some(())) => self.is_wanted = true,
                Ok(None) => return Ok(Sent::Left),
                Err(_) => {}
            }
        }
        Ok(Sent::All)
    }
}

/// Whether there was no memory for the first record.
fn is_full(page: &Fetched) -> bool {
    page.rows.is_empty() && page.end != End::Complete
}

/// Whether others may follow the records of a statement.
fn is_followed<T: RecordPage>(rows: &[PgRow]) -> bool {
    rows.len() as i64 == PAGE || T::MAY_BE_SHORT && !rows.is_empty()
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
