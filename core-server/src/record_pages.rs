//! All records of a company, in pages that are read by key: lists without page numbers, and exports.

mod produce;

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use compliance_api::error::Error;
use futures::{Stream, StreamExt as _};
use http_server::FinishBy;
use prost::Message;
use sqlx::postgres::PgRow;
use telemetry::trace;
use tokio::{sync::mpsc, time::Instant};
use tonic::{Response, Status, codegen::BoxStream};

use crate::{database::Connections, shares::Shares};
use produce::Producer;

/// A message of the stream: a page of records, or a part of one.
pub(crate) trait RecordPage: Message + Sized + Send + 'static {
    /// Whether a page may have fewer records than it is asked for although more follow.
    const MAY_BE_SHORT: bool = false;

    /// The statement for a page. Its parameters are the company, the ID that the page follows, and the number of records;
    /// its column `last_id` is the ID of a record.
    fn statement() -> &'static str;

    /// Reads records, of which the last one has the ID `last_id`.
    fn read(rows: &[PgRow], last_id: i64) -> Result<Self, sqlx::Error>;
}

/// The messages of the stream.
pub(crate) type RecordPages<T> = BoxStream<T>;

/// Reads every record of the company with a higher ID than `after`, until the timeout. A page is read while the one
/// before is sent. A reader that stops to read holds no connection, no snapshot and, after a short while, no page.
///
/// Refuses a company that has too many streams open.
pub(crate) fn all<T: RecordPage>(
    pool: &Connections,
    shares: &Shares,
    company_id: i64,
    after: i64,
    timeout: Duration,
) -> Result<Response<RecordPages<T>>, Error> {
    let deadline = Instant::now() + timeout;
    let open = shares.open_stream(company_id)?;
    let (want, wanted) = mpsc::channel(1);
    let (messages, received) = mpsc::channel(1);
    let producer = Producer {
        pool: pool.clone(),
        shares: shares.clone(),
        company_id,
        after,
        deadline,
        wanted,
        is_wanted: false,
        messages,
    };
    tokio::spawn(trace::inherit(producer.run(open)));
    let messages: RecordPages<T> = Box::pin(Messages { want, is_asked: false, received }.fuse());
    let mut response = Response::new(messages);
    // A client that does not read never polls the stream, so its deadline must be kept without a poll.
    response.extensions_mut().insert(FinishBy(deadline + SLACK));
    Ok(response)
}

/// How long a client has to read that its time is up.
const SLACK: Duration = Duration::from_secs(2);

/// The messages, each made when it is asked for.
struct Messages<T> {
    want: mpsc::Sender<()>,
    is_asked: bool,
    /// `None` is the end of the list.
    received: mpsc::Receiver<Option<Result<T, Status>>>,
}

impl<T> Stream for Messages<T> {
    type Item = Result<T, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if !self.is_asked {
            // A producer that has ended has left what is to be received.
            let _ = self.want.try_send(());
            self.is_asked = true;
        }
        let message = ready!(self.received.poll_recv(context));
        self.is_asked = false;
        // A producer that has ended without saying so has panicked: the list is not complete.
        Poll::Ready(message.unwrap_or_else(|| Some(Err(Error::internal().into()))))
    }
}

#[cfg(test)]
mod tests {
    use futures::StreamExt as _;
    use tokio::sync::mpsc;
    use tonic::Code;

    use super::Messages;

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
            let list: Vec<_> = Messages { want, is_asked: false, received }.take(2).collect().await;
            assert_eq!(*list[0].as_ref().unwrap(), 1);
            assert_eq!(list.get(1).map(|end| end.as_ref().unwrap_err().code()), panics.then_some(Code::Internal));
            assert_eq!(producer.await.is_err(), panics);
        }
    }
}
