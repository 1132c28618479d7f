//! Streams all of a company's records, in pages read by key: lists without page numbers, and exports.

use std::sync::Arc;

use admission::{MEMORY_WAIT, Reservation};
use compliance_api::{error::Error, rules::Check};
use sqlx::{Row as _, postgres::PgRow};
use storage::{
    database::{self, Connections, End, Fetched},
    error::from_database,
};
use tokio::time::{Instant, timeout};
use tonic::{Request, codegen::BoxStream};

use crate::{
    access::{Served, accept},
    backend::Backend,
    changes::Changed,
    lists::{PART, RecordPage},
    message_streams::{self, MESSAGE_BYTES, MESSAGE_STALLED, Messages, timeout_of},
    quotas::DatabaseWork,
};

/// Number of records per statement of a streamed list.
pub const PAGE_RECORDS: i64 = 72;
/// Maximum number of records in a message.
pub const MESSAGE_RECORDS: usize = 12;

/// Streams every record that a request asks for.
///
/// `read` returns the ID after which the records begin, a position, and the request's filters. If there is a position, reads only records
/// that have changed since, unless reading all records is faster.
///
/// Reads each page while the reader consumes the previous one. A stalled reader holds no connection and, after a short while, no page.
pub(crate) async fn all<M: Check, T: RecordPage>(
    backend: &Arc<Backend>,
    request: Request<M>,
    read: impl FnOnce(M) -> (Option<i64>, Option<i64>, T::Filters),
) -> Served<BoxStream<T>> {
    let deadline = Instant::now() + timeout_of(&request, backend.settings.list_timeout);
    let (company_id, request) = accept(request)?;
    let (after, changed_after, filters) = read(request);
    let after = after.unwrap_or_default();
    let changed = Changed::after(backend, company_id, T::RESOURCE, changed_after).await?;
    let open = backend.quotas.open_stream(company_id)?;
    let backend = Arc::clone(backend);
    Ok(message_streams::respond(open, deadline, move |messages| {
        Producer { backend, company_id, after, filters, changed, messages }.send_all()
    }))
}

struct Producer<T: RecordPage> {
    backend: Arc<Backend>,
    company_id: i64,
    after: i64,
    filters: T::Filters,
    changed: Option<Changed>,
    messages: Messages<T>,
}

impl<T: RecordPage> Producer<T> {
    async fn send_all(mut self) -> Result<(), Error> {
        loop {
            let page = self.page().await?;
            let read = page.rows.len();
            let window_end = self.changed.as_ref().and_then(|changed| changed.window(self.after).last().copied());
            let is_last = page.end == End::Complete && read < PAGE_RECORDS as usize && (read == 0 || !T::MAY_BE_SHORT);
            if !self.send(&page.rows).await? {
                drop(page);
                self.messages.wanted().await;
            } else if is_last {
                // All records in the window were sent.
                let Some(window_end) = window_end else { return Ok(()) };
                self.after = window_end;
            }
        }
    }

    /// Reads the records that follow the last one. If memory for the first record is unavailable, waits for memory once.
    async fn page(&self) -> Result<Fetched, Error> {
        let mut memory = self.backend.quotas.memory.reservation(Some(self.company_id));
        let rows = self.read(&memory).await?;
        if !is_full(&rows) {
            return Ok(rows);
        }
        memory.wait_to_grow(PART, MEMORY_WAIT).await?;
        memory.shrink_to(0);
        let rows = self.read(&memory).await?;
        match rows.end {
            End::LimitReached(limit) if is_full(&rows) => Err(limit.into()),
            _ => Ok(rows),
        }
    }

    async fn read(&self, memory: &Reservation) -> Result<Fetched, Error> {
        let _permit = self.backend.quotas.enter(self.company_id, DatabaseWork::Statement).await?;
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
        let rows = database::read(&self.backend.pool, read).await;
        rows.map_err(from_database)
    }

    /// Sends records. Returns `false` if the reader stops asking for them.
    async fn send(&mut self, mut rows: &[PgRow]) -> Result<bool, Error> {
        while !rows.is_empty() {
            if timeout(MESSAGE_STALLED, self.messages.wanted()).await.is_err() {
                return Ok(false);
            }
            let (message, last_id, taken) = message(rows).map_err(from_database)?;
            rows = &rows[taken..];
            self.after = last_id;
            self.messages.send(message, ());
        }
        Ok(true)
    }
}

/// Returns whether there was no memory for the first record.
fn is_full(page: &Fetched) -> bool {
    page.rows.is_empty() && page.end != End::Complete
}

/// Returns a message with the first records, its last ID, and the number of records.
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
