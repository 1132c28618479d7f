//! The reserved connection, which checks the database and cancels statements.

use std::{sync::Arc, time::Duration};

use sqlx::{Connection as _, PgConnection};
use tokio::{
    sync::Mutex,
    time::{sleep, timeout},
};

use super::{
    current::Current,
    restores::{is_restored, notice_if_ready},
};
use crate::{
    error::{is_disconnected, is_missing_object},
    limits::CHECK_TIMEOUT,
};

/// Timeout of a cancellation, connecting included.
const CANCEL_TIMEOUT: Duration = Duration::from_millis(500);
/// Delay before a statement is cancelled again. A cancellation that arrives before the statement has no effect.
const CANCEL_INTERVAL: Duration = Duration::from_millis(100);
/// Timeout of the clean-up of an abandoned connection, which is closed then.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(2);
/// Errors of abandoned statements that a connection may report before it is ready, one for each statement.
const LATE_ERRORS: usize = 16;
/// How long a check waits for the open connection before it opens another one.
const HEDGE_DELAY: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(super) struct Reserve {
    current: Arc<Current>,
    /// Missing while it is in use. So an abandoned check or cancellation also drops the connection.
    connection: Mutex<Option<PgConnection>>,
}

/// Why a check failed. `None`: the server did not respond in time.
type Failure = Option<sqlx::Error>;

impl Reserve {
    pub(super) fn new(current: Arc<Current>) -> Self {
        Self { current, connection: Mutex::default() }
    }

    /// Cancels an abandoned statement. Returns whether its connection is ready for the next statement.
    pub(super) async fn end_statement(&self, connection: &mut PgConnection, backend: i32) -> bool {
        // The statement was sent in part, and the server waits for the rest.
        if connection.should_flush() {
            return false;
        }
        let settled = timeout(CLEANUP_TIMEOUT, async {
            loop {
                // The wait follows the cancellation, so that no cancellation can reach the next statement.
                if let Err(error) = self.cancel(backend).await {
                    tracing::debug!("an abandoned statement could not be cancelled: {error}");
                }
                if let Ok(settled) = timeout(CANCEL_INTERVAL, settle(connection)).await {
                    return settled.is_ok();
                }
            }
        });
        settled.await.unwrap_or(false)
    }

    /// Cancels the statement of a server process.
    async fn cancel(&self, backend: i32) -> Result<(), sqlx::Error> {
        let cancel = async {
            let mut reserve = self.connection.lock().await;
            let mut connection = match reserve.take() {
                Some(connection) => connection,
                None => self.current.connect().await?,
            };
            sqlx::query("select pg_cancel_backend($1)").bind(backend).execute(&mut connection).await?;
            *reserve = Some(connection);
            Ok(())
        };
        timeout(CANCEL_TIMEOUT, cancel).await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
    }

    /// Checks the database. Returns whether it responded on a new connection but not on the open one.
    pub(super) async fn check(&self) -> Result<bool, Failure> {
        let mut reserve = self.connection.lock().await;
        let (connection, is_new) = match reserve.take() {
            Some(open) => self.check_open(open).await?,
            None => (self.check_new().await?, false),
        };
        *reserve = Some(connection);
        Ok(is_new)
    }

    /// Checks a new connection, because the URL has changed.
    pub(super) async fn check_changed(&self) -> Result<bool, Failure> {
        self.connection.lock().await.take();
        self.check().await
    }

    /// Checks the open connection. If it takes long, also checks a new one.
    async fn check_open(&self, open: PgConnection) -> Result<(PgConnection, bool), Failure> {
        let mut asked = Box::pin(timeout(CHECK_TIMEOUT, self.current.ask(open)));
        let hedge = async {
            sleep(HEDGE_DELAY).await;
            self.current.ask_new().await
        };
        let new = tokio::select! {
            biased;
            checked = &mut asked => return match checked {
                Ok(Ok(open)) => Ok((open, false)),
                // A lost connection says nothing about the server.
                Ok(Err(_)) => Ok((self.check_new().await?, false)),
                Err(_) => Err(None),
            },
            new = hedge => new,
        };
        match (asked.await, new) {
            (Ok(Ok(open)), _) => Ok((open, false)),
            (_, Ok(new)) => Ok((new, true)),
            (Ok(Err(_)), Err(error)) => Err(Some(error)),
            (Err(_), Err(_)) => Err(None),
        }
    }

    /// Checks a new connection, and another one if it is lost: a restarting proxy closes connections as well.
    async fn check_new(&self) -> Result<PgConnection, Failure> {
        let asked = async {
            match self.current.ask_new().await {
                Err(error) if is_disconnected(&error) => self.current.ask_new().await,
                checked => checked,
            }
        };
        timeout(CHECK_TIMEOUT, asked).await.map_err(|_| None)?.map_err(Some)
    }

    /// Returns whether the database was restored since it was last served.
    pub(super) async fn is_restored(&self) -> bool {
        let mut reserve = self.connection.lock().await;
        let Some(mut connection) = reserve.take() else { return false };
        match timeout(CHECK_TIMEOUT, is_restored(&mut connection)).await {
            Ok(Ok(is_restored)) => {
                *reserve = Some(connection);
                is_restored
            }
            Ok(Err(error)) => is_missing_object(&error),
            Err(_) => false,
        }
    }

    /// Advances positions and IDs after a restore, which may take long. Returns whether the database can be served now.
    pub(super) async fn notice_restore(&self) -> bool {
        let mut reserve = self.connection.lock().await;
        reserve.take();
        let noticed = async { notice_if_ready(&mut self.current.connect().await?).await };
        noticed.await.is_ok()
    }
}

/// Reads the rest of abandoned statements, until the server is ready for the next statement.
pub(super) async fn settle(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    for _ in 0..LATE_ERRORS {
        match connection.ping().await {
            // The error of an abandoned statement.
            Err(error @ sqlx::Error::Database(_)) if !is_disconnected(&error) => {}
            settled => return settled,
        }
    }
    Err(sqlx::Error::Protocol("too many statements were abandoned".to_owned()))
}
