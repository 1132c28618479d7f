//! Streams a page of URLs of any size from one statement, and therefore from one snapshot.
//!
//! The service reads rows ahead while memory allows, so most pages release their connection before the reader finishes. A page that cannot
//! continue ends with an error, because the rest would come from a different snapshot.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use admission::{MEMORY_WAIT, Reservation, compute};
use compliance_api::{
    error::Error,
    v1::{ComplianceUrl, ListComplianceUrlsRequest, StreamComplianceUrlsResponse},
};
use futures::FutureExt as _;
use sqlx::{Row as _, postgres::PgRow};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::{Instant, timeout},
};
use tonic::{Response, codegen::BoxStream};

use super::list::{STATEMENTS, read};
use crate::{
    backend::Backend,
    lists::PART,
    message_streams::{self, Messages},
};
use storage::{
    database::{self, Connections, size},
    error::from_database,
    limits::COPIES,
    statement_context::Watch,
    table::Reader,
};

/// Maximum read-ahead, in KiB.
const READ_AHEAD: usize = 16 << 10;
const KIB: usize = 1 << 10;
/// How long a page waits for its reader and for memory: per wait, or in total while other pages wait for a permit.
const PAGE_STALLED: Duration = Duration::from_secs(30);

pub(super) struct LargePage {
    pub(super) backend: Arc<Backend>,
    pub(super) company_id: i64,
    pub(super) request: ListComplianceUrlsRequest,
}

/// Sends one record per message, or only the total if the page is empty. A message holds its memory and its share of the read-ahead.
type Sender = Messages<StreamComplianceUrlsResponse, (Reservation, OwnedSemaphorePermit)>;

impl LargePage {
    /// Responds with the page. Fails if the company has too many open streams.
    pub(super) fn stream(self, deadline: Instant) -> Result<Response<BoxStream<StreamComplianceUrlsResponse>>, Error> {
        let open = self.backend.quotas.open_stream(self.company_id)?;
        Ok(message_streams::respond(open, deadline, async move |sender| self.send(&sender).await))
    }

    /// Reads the page and sends its records. Until the first record is sent, a failed read can be retried.
    async fn send(&self, sender: &Sender) -> Result<(), Error> {
        let statement = STATEMENTS.statement(&self.request)?;
        let _permit = self.backend.quotas.large_pages.enter(self.company_id).await?;
        // Memory for the part of a record that arrives before its size is known.
        let mut arriving = self.backend.quotas.memory.reservation(Some(self.company_id));
        arriving.wait_to_grow(PART, MEMORY_WAIT).await?;
        let has_sent = AtomicBool::new(false);
        // Only the first row waits for the database. Later rows wait for the reader.
        let watch = Mutex::new(Some(Watch::start()));
        let read = async |pool: Connections| {
            let (row_sender, rows) = mpsc::channel(1);
            let query = STATEMENTS.query(statement, self.company_id, &self.request);
            let fetching = async {
                // Dropping the sender at the end also ends `rows`.
                let row_sender = row_sender;
                let pass_on = |row| {
                    drop(watch.lock().unwrap_or_else(PoisonError::into_inner).take());
                    row_sender.send(row).map(|result| result.is_ok())
                };
                pool.fetch_while(query, pass_on).await
            };
            let (read, sent) = tokio::join!(fetching, self.send_rows(rows, sender, &has_sent));
            match read {
                Err(error) if !has_sent.load(Ordering::Relaxed) => Err(error),
                read => Ok(sent.and_then(|()| read.map_err(from_database))),
            }
        };
        database::retried(&self.backend.pool, read).await.map_err(from_database)?
    }

    /// Sends each row once memory for it is available.
    async fn send_rows(
        &self,
        mut rows: mpsc::Receiver<PgRow>,
        sender: &Sender,
        has_sent: &AtomicBool,
    ) -> Result<(), Error> {
        let room = Arc::new(Semaphore::new(READ_AHEAD));
        let (mut reader, mut paused) = (None, Duration::ZERO);
        while let Some(row) = rows.recv().await {
            let bytes = size(&row);
            let ahead = Arc::clone(&room).acquire_many_owned((bytes.div_ceil(KIB)).clamp(1, READ_AHEAD) as u32);
            let is_needed = self.backend.quotas.large_pages.waiting() > 0;
            let patience = if is_needed { PAGE_STALLED.saturating_sub(paused) } else { PAGE_STALLED };
            let start = Instant::now();
            let ahead = timeout(patience, ahead)
                .await
                .map_err(|_| Error::deadline_exceeded())?
                .map_err(|_| Error::internal())?;
            let mut memory = self.backend.quotas.memory.reservation(Some(self.company_id));
            memory.wait_to_grow(bytes * COPIES, patience).await?;
            paused += start.elapsed();
            let message = compute(bytes, || self.message(&row, &mut reader)).map_err(from_database)?;
            drop(row);
            memory.shrink_to(bytes * (COPIES - 1));
            has_sent.store(true, Ordering::Relaxed);
            sender.send(message, (memory, ahead));
        }
        Ok(())
    }

    /// Decodes a row. The first row creates the `reader`, and its message contains the total.
    fn message(
        &self,
        row: &PgRow,
        reader: &mut Option<Reader<ComplianceUrl>>,
    ) -> Result<StreamComplianceUrlsResponse, sqlx::Error> {
        let total = if reader.is_none() { Some(row.try_get("total")?) } else { None };
        let meta = total.map(|total| STATEMENTS.meta(&self.request, total));
        let reader = match reader {
            Some(reader) => reader,
            None => reader.insert(Reader::new(row)?),
        };
        let found: Option<i64> = row.try_get("found")?;
        let urls = found.map(|_| read(reader, row)).transpose()?.into_iter().collect();
        Ok(StreamComplianceUrlsResponse { urls, meta })
    }
}
