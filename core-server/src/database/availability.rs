//! Whether the database answers, and which connections are suspected to hang.

use std::{
    fmt, io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

/// What is known about the database. The probe writes it; every statement reads it.
#[derive(Debug)]
pub(crate) struct Availability {
    answers: watch::Sender<bool>,
    generation: Mutex<Generation>,
    check: Notify,
}

/// Connections that were opened in the same period. A period ends when they are suspected to hang.
#[derive(Clone, Debug, Default)]
pub(super) struct Generation(Arc<Period>);

#[derive(Debug, Default)]
struct Period {
    /// Statements that the database has answered on these connections.
    answers: AtomicU64,
    /// Cancelled when these connections are given up.
    hung: CancellationToken,
}

/// Why a statement was not sent, or not waited for. It is the source of a [`sqlx::Error::Io`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unavailable {
    /// The database was known not to answer, so nothing was sent.
    Down,
    /// The connection hangs.
    Hung,
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Down => "the database does not respond",
            Self::Hung => "the connection to the database hangs",
        })
    }
}

impl std::error::Error for Unavailable {}

impl Unavailable {
    /// The reason in `error`, if it is one of these.
    pub(crate) fn of(error: &sqlx::Error) -> Option<Self> {
        let sqlx::Error::Io(error) = error else { return None };
        error.get_ref()?.downcast_ref().copied()
    }
}

impl From<Unavailable> for sqlx::Error {
    fn from(reason: Unavailable) -> Self {
        Self::Io(io::Error::new(io::ErrorKind::NotConnected, reason))
    }
}

impl Availability {
    /// The state at start, when the database has just answered.
    pub(super) fn new() -> Self {
        Self { answers: watch::Sender::new(true), generation: Mutex::default(), check: Notify::new() }
    }

    /// Whether the database answers, now and whenever that changes.
    pub(crate) fn subscribe(&self) -> watch::Receiver<bool> {
        self.answers.subscribe()
    }

    /// Whether the database answers.
    pub(super) fn answers(&self) -> bool {
        *self.answers.borrow()
    }

    /// Fails at once if the database is known not to answer.
    pub(super) fn check(&self) -> Result<(), sqlx::Error> {
        if self.answers() { Ok(()) } else { Err(Unavailable::Down.into()) }
    }

    /// Waits for something that only a database that answers can give. Fails as soon as the database is known not to
    /// answer.
    pub(super) async fn unless_down<T>(
        &self,
        waiting: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, sqlx::Error> {
        let mut answers = self.answers.subscribe();
        tokio::select! {
            biased;
            result = waiting => result,
            _ = answers.wait_for(|answers| !answers) => Err(Unavailable::Down.into()),
        }
    }

    /// Records whether the database answers. Returns whether that is news.
    pub(super) fn set(&self, answers: bool) -> bool {
        self.answers.send_if_modified(|before| std::mem::replace(before, answers) != answers)
    }

    /// The generation of connections that are opened now.
    pub(super) fn generation(&self) -> Generation {
        self.generation.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Suspects all connections that are open now: begins another generation. Returns the suspected one.
    pub(super) fn suspect(&self) -> Generation {
        std::mem::take(&mut *self.generation.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Asks the probe to check the database now, because a connection was lost.
    pub(super) fn check_soon(&self) {
        self.check.notify_one();
    }

    /// Waits for [`Self::check_soon`].
    pub(super) async fn check_requested(&self) {
        self.check.notified().await;
    }
}

impl Generation {
    /// Records that the database has answered a statement.
    pub(super) fn answered(&self) {
        self.0.answers.fetch_add(1, Ordering::Relaxed);
    }

    /// Statements that the database has answered.
    pub(super) fn answers(&self) -> u64 {
        self.0.answers.load(Ordering::Relaxed)
    }

    pub(super) fn is_current(&self, availability: &Availability) -> bool {
        Arc::ptr_eq(&self.0, &availability.generation().0)
    }

    /// Gives these connections up: nothing waits for them any longer.
    pub(super) fn give_up(&self) {
        self.0.hung.cancel();
    }

    pub(super) fn is_given_up(&self) -> bool {
        self.0.hung.is_cancelled()
    }

    /// Waits until these connections are given up.
    pub(super) async fn given_up(&self) {
        self.0.hung.cancelled().await;
    }
}
