//! The connection that no caller gets: it checks the database, and cancels statements.

use std::time::Duration;

use sqlx::{PgConnection, postgres::PgConnectOptions};
use tokio::{
    sync::Mutex,
    time::{sleep, timeout},
};

use super::{availability::Generation, connection::Connection, connections::LOCK_TIMEOUT};
use crate::error::is_disconnected;

/// How long the database may take to answer a check.
const CHECK_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a check waits for the open connection before it opens another one.
const HEDGE_DELAY: Duration = Duration::from_millis(200);
/// How long a cancellation may take.
const CANCEL_TIMEOUT: Duration = Duration::from_millis(500);

/// Reads a table, as every operation does: the one of which nothing locks out readers, as a migration may do with another.
/// A server that takes no writes does not serve.
const CHECK: &str = "select not pg_is_in_recovery() and not current_setting('transaction_read_only')::boolean
    and (select count(*) from _sqlx_migrations) > 0";

#[derive(Debug)]
pub(super) struct Reserve {
    options: PgConnectOptions,
    /// Missing while it is in use, so that a check or a cancellation that is abandoned takes its connection with it.
    connection: Mutex<Option<PgConnection>>,
}

/// The result of a check.
#[derive(Debug)]
pub(super) enum Answer {
    /// The database answers.
    Serves,
    /// The database answers on a new connection, but not on the one that was open.
    ServesAnew,
    /// The database does not answer.
    Silent,
    /// The database does not accept connections, or cannot serve.
    Refuses(sqlx::Error),
}

impl Reserve {
    pub(super) fn new(options: PgConnectOptions) -> Self {
        Self { options, connection: Mutex::default() }
    }

    /// Asks the server to cancel the statement of one of its processes.
    pub(super) async fn cancel(&self, backend: i32) -> Result<(), sqlx::Error> {
        let cancel = async {
            let mut reserve = self.connection.lock().await;
            let mut connection = match reserve.take() {
                Some(connection) => connection,
                None => self.open().await?,
            };
            sqlx::query("select pg_cancel_backend($1)").bind(backend).execute(&mut connection).await?;
            *reserve = Some(connection);
            Ok(())
        };
        timeout(CANCEL_TIMEOUT, cancel).await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
    }

    /// Checks the database.
    pub(super) async fn check(&self) -> Answer {
        let mut reserve = self.connection.lock().await;
        let (connection, answer) = match reserve.take() {
            Some(open) => self.check_open(open).await,
            None => self.check_anew().await,
        };
        *reserve = connection;
        answer
    }

    /// Checks it on the open connection. One that takes long is compared with a new one.
    async fn check_open(&self, open: PgConnection) -> (Option<PgConnection>, Answer) {
        let mut asked = Box::pin(timeout(CHECK_TIMEOUT, ask(open)));
        let hedge = async {
            sleep(HEDGE_DELAY).await;
            self.ask_anew().await
        };
        let anew = tokio::select! {
            biased;
            answer = &mut asked => return match answer {
                Ok(Ok(open)) => (Some(open), Answer::Serves),
                // The connection was lost, which says nothing about the server.
                Ok(Err(_)) => self.check_anew().await,
                Err(_) => (None, Answer::Silent),
            },
            anew = hedge => anew,
        };
        match (asked.await, anew) {
            (Ok(Ok(open)), _) => (Some(open), Answer::Serves),
            (_, Ok(new)) => (Some(new), Answer::ServesAnew),
            (Ok(Err(_)), Err(error)) => (None, Answer::Refuses(error)),
            (Err(_), Err(_)) => (None, Answer::Silent),
        }
    }

    /// Checks it on a new connection, and once more if that is lost: a connection that is closed, as by a proxy that restarts,
    /// says nothing about the server.
    async fn check_anew(&self) -> (Option<PgConnection>, Answer) {
        let asked = async {
            match self.ask_anew().await {
                Err(error) if is_disconnected(&error) => self.ask_anew().await,
                answer => answer,
            }
        };
        match timeout(CHECK_TIMEOUT, asked).await {
            Ok(Ok(new)) => (Some(new), Answer::Serves),
            Ok(Err(error)) => (None, Answer::Refuses(error)),
            Err(_) => (None, Answer::Silent),
        }
    }

    async fn ask_anew(&self) -> Result<PgConnection, sqlx::Error> {
        ask(self.open().await?).await
    }

    async fn open(&self) -> Result<PgConnection, sqlx::Error> {
        Ok(Connection::open(&self.options, Generation::default(), LOCK_TIMEOUT).await?.raw)
    }
}

/// Runs the check; returns the connection if the database serves.
async fn ask(mut connection: PgConnection) -> Result<PgConnection, sqlx::Error> {
    let serves: bool = sqlx::query_scalar(CHECK).fetch_one(&mut connection).await?;
    if serves { Ok(connection) } else { Err(sqlx::Error::Io(std::io::Error::other("the database takes no writes"))) }
}
