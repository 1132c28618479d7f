//! All records of a company, in pages that are read by key: lists without page numbers, and exports.

use std::time::Duration;

use compliance_api::error::Error;
use sqlx::{Row as _, postgres::PgRow};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout_at},
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::codegen::BoxStream;

use crate::{
    database::{self, Connections},
    error::from_database,
};

/// A message of the stream: a page of records.
pub(crate) trait RecordPage: Sized + Send + 'static {
    /// Records in a message.
    const SIZE: i64;

    /// The statement for a page. Its parameters are the company, the ID that the page follows, and the number of records;
    /// its column `last_id` is the ID of a record.
    fn statement() -> &'static str;

    /// Reads a page, whose last record has the ID `last_id`.
    fn read(rows: &[PgRow], last_id: i64) -> Result<Self, sqlx::Error>;
}

/// The messages of the stream.
pub(crate) type RecordPages<T> = BoxStream<T>;

/// Reads every record of the company with a higher ID than `after`, until the timeout. A page is read while the one
/// before is sent. So a slow reader holds no connection and no snapshot, and memory does not grow.
pub(crate) fn all<T: RecordPage>(
    pool: &Connections,
    company_id: i64,
    mut after: i64,
    timeout: Duration,
) -> RecordPages<T> {
    let pool = pool.clone();
    let deadline = Instant::now() + timeout;
    let (pages, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            let rows = database::read(|| {
                sqlx::query(T::statement()).bind(company_id).bind(after).bind(T::SIZE).fetch_all(&pool)
            });
            let Ok(rows) = timeout_at(deadline, rows).await else { break };
            let page = rows.and_then(|rows| {
                let Some(last) = rows.last() else { return Ok(None) };
                after = last.try_get("last_id")?;
                Ok(Some((rows.len() as i64 == T::SIZE, T::read(&rows, after)?)))
            });
            let (more, page) = match page {
                Ok(Some((more, page))) => (more, Ok(page)),
                Ok(None) => return,
                Err(error) => (false, Err(from_database(&error).into())),
            };
            match timeout_at(deadline, pages.send(page)).await {
                Ok(Ok(())) if more => {}
                Ok(_) => return,
                Err(_) => break,
            }
        }
        // Without a time limit: a list that is cut short must not look complete.
        let _ = pages.send(Err(Error::deadline_exceeded().into())).await;
    });
    Box::pin(ReceiverStream::new(receiver))
}
