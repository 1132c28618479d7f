//! Reads: one by ID (coalesced), many by ID, and the whole list as a stream.

use std::{sync::LazyLock, time::Duration};

use crate::database::Connections;
use compliance_api::{
    error::Error,
    v1::{Affiliate, ListAffiliatesResponse},
};
use futures::{Stream, StreamExt as _};
use tokio::time::{Instant, timeout_at};
use tonic::Status;

use crate::{
    database,
    error::from_database,
    reads::Reads,
    table::{Reader, read_all, selection},
};

/// Records in one message of a list: few, so that the first is there at once, and so that no message is of the size that
/// an allocator takes from the system and hands back anew each time.
const PAGE: i64 = 64;

static BY_KEYS: LazyLock<&'static str> = LazyLock::new(|| {
    format!(
        "select k.company_id as key_company_id, k.id as key_id, {}
        from unnest($1::bigint[], $2::bigint[]) as k (company_id, id)
        join affiliates a on a.company_id = k.company_id and a.id = k.id",
        columns()
    )
    .leak()
});

static BY_IDS: LazyLock<&'static str> = LazyLock::new(|| {
    let columns = columns();
    format!("select {columns} from affiliates a where a.company_id = $1 and a.id = any($2) order by a.id").leak()
});

static AFTER: LazyLock<&'static str> = LazyLock::new(|| {
    let columns = columns();
    format!("select {columns} from affiliates a where a.company_id = $1 and a.id > $2 order by a.id limit $3").leak()
});

/// What is selected of an affiliate, whose alias is `a`.
fn columns() -> String {
    selection::<Affiliate>("a.company_id", &[("affiliates", "a")], &[])
}

/// Starts the reader of single affiliates.
pub(super) fn single(pool: &Connections) -> Reads<Affiliate> {
    Reads::new(pool, *BY_KEYS, Reader::read)
}

/// The affiliates of the company among `ids`, by ID.
pub(super) async fn by_ids(pool: &Connections, company_id: i64, ids: &[i64]) -> Result<Vec<Affiliate>, Error> {
    let rows = database::read(|| sqlx::query(*BY_IDS).bind(company_id).bind(ids).fetch_all(pool)).await;
    let affiliates = rows.and_then(|rows| read_all(&rows, Reader::<Affiliate>::read));
    affiliates.map_err(|error| from_database(&error))
}

/// Every affiliate of the company, page by page. A page is read by the last one's end, and only once the reader has
/// room for it: no connection and no snapshot is held while a slow reader thinks, and memory does not grow. The next
/// page is read while the one before is being sent.
pub(super) fn all(
    pool: Connections,
    company_id: i64,
    limit: Duration,
) -> impl Stream<Item = Result<ListAffiliatesResponse, Status>> {
    let deadline = Instant::now() + limit;
    let pages = futures::stream::unfold(Some(0_i64), move |after| {
        let pool = pool.clone();
        async move {
            let after = after?;
            let rows = database::read(|| sqlx::query(*AFTER).bind(company_id).bind(after).bind(PAGE).fetch_all(&pool));
            let page = match timeout_at(deadline, rows).await {
                Ok(rows) => rows
                    .and_then(|rows| read_all(&rows, Reader::<Affiliate>::read))
                    .map_err(|error| from_database(&error)),
                Err(_) => Err(Error::deadline_exceeded()),
            };
            match page {
                Ok(affiliates) => {
                    let full = affiliates.len() as i64 == PAGE;
                    let next = affiliates.last().filter(|_| full).map(|last| last.id);
                    (!affiliates.is_empty()).then(|| (Ok(ListAffiliatesResponse { affiliates }), next))
                }
                Err(error) => Some((Err(error.into()), None)),
            }
        }
    });
    ahead(pages)
}

/// One item ahead of the reader.
fn ahead<T: Send + 'static>(stream: impl Stream<Item = T> + Send + 'static) -> impl Stream<Item = T> {
    // A task of its own does the reading; it ends when the reader goes away, because sending fails then.
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    tokio::spawn(async move {
        let mut stream = std::pin::pin!(stream);
        while let Some(item) = stream.next().await {
            if sender.send(item).await.is_err() {
                return;
            }
        }
    });
    tokio_stream::wrappers::ReceiverStream::new(receiver)
}
