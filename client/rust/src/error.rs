//! Why a call failed.

use std::{collections::BTreeMap, time::Duration};

use tonic::Status;
use tonic_types::StatusExt as _;

use crate::v1::Reason;

/// The `domain` of the service's `ErrorInfo`.
const DOMAIN: &str = "compliance.v1";

/// Any error.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A violation of a rule by one field of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Path of the field: `affiliate_name`, `affiliates.3.email_one`.
    pub field: String,
    /// The violation in a sentence.
    pub description: String,
}

/// Why a call failed, after its retries. The messages are for people.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Fields of the request are invalid. Nothing was saved.
    #[error("{message}")]
    Invalid {
        /// The first violation, and how many more there are.
        message: String,
        /// The violations, or the first ones of very many.
        violations: Vec<Violation>,
        /// How many violations there are.
        total: usize,
    },
    /// The token was not accepted, nor the one that the source gave after it.
    #[error("{message}")]
    Unauthenticated {
        /// Whether it is missing, invalid or expired.
        reason: Reason,
        /// The error in a sentence.
        message: String,
    },
    /// The token lacks the scope of the operation.
    #[error("{message}")]
    PermissionDenied {
        /// The error in a sentence.
        message: String,
    },
    /// The company has no such record.
    #[error("{message}")]
    NotFound {
        /// What does not exist.
        reason: Reason,
        /// The error in a sentence.
        message: String,
    },
    /// The company has the record already. After a creation that was repeated, an earlier try may have created it.
    #[error("{message}")]
    AlreadyExists {
        /// What exists.
        reason: Reason,
        /// The error in a sentence.
        message: String,
    },
    /// The record has changed since it was read: its etag is another one. Nothing was saved.
    ///
    /// After a lost response, the first try of the same call may be what changed it: read the record again.
    #[error("{message}")]
    EtagMismatch {
        /// The error in a sentence.
        message: String,
    },
    /// Changes after a position, or the state at a time, can no longer be read.
    #[error("{message}")]
    PositionGone {
        /// Whether changes were dropped after their time, or lost by a restore.
        reason: Reason,
        /// The error in a sentence.
        message: String,
        /// The positions that the service names, such as `last_position` and `restored_position`.
        positions: BTreeMap<String, i64>,
    },
    /// The service refused to do as much as the request asks for. Nothing was saved.
    #[error("{message}")]
    FailedPrecondition {
        /// The error in a sentence.
        message: String,
    },
    /// The service is busy or cannot be reached, or the company's limit is used up.
    #[error("{message}")]
    Unavailable {
        /// Which of these.
        reason: Reason,
        /// The error in a sentence.
        message: String,
        /// How long the service asks to wait before the next call.
        retry_after: Option<Duration>,
    },
    /// The deadline passed. A write was applied as a whole or not at all.
    #[error("the deadline passed")]
    DeadlineExceeded,
    /// The source of tokens failed.
    #[error("no token: {0}")]
    Token(#[source] BoxError),
    /// The settings of the client are wrong.
    #[error("{0}")]
    Settings(String),
    /// Any other status.
    #[error("{0}")]
    Other(#[source] Box<Status>),
}

impl Error {
    /// The reason that the service gave; `None` if it gave none, or one that this release does not know.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Self::Invalid { .. } => Some(Reason::InvalidFields),
            Self::PermissionDenied { .. } => Some(Reason::ScopeMissing),
            Self::DeadlineExceeded => Some(Reason::DeadlineExceeded),
            Self::EtagMismatch { .. } => Some(Reason::EtagMismatch),
            Self::FailedPrecondition { .. } => Some(Reason::FailedPrecondition),
            Self::Unauthenticated { reason, .. }
            | Self::NotFound { reason, .. }
            | Self::AlreadyExists { reason, .. }
            | Self::PositionGone { reason, .. }
            | Self::Unavailable { reason, .. } => (*reason != Reason::Unspecified).then_some(*reason),
            Self::Other(status) => reason(status),
            Self::Token(_) | Self::Settings(_) => None,
        }
    }

    /// The violations of the request; none if the request is valid.
    pub fn violations(&self) -> &[Violation] {
        match self {
            Self::Invalid { violations, .. } => violations,
            _ => &[],
        }
    }

    /// How long the service asks to wait before the next call.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Unavailable { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Whether the same call may succeed later.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::DeadlineExceeded)
    }
}

/// The reason that the service gave; `None` if the status has none, or one of a later release.
pub(crate) fn reason(status: &Status) -> Option<Reason> {
    let details = status.get_details_error_info().filter(|info| info.domain == DOMAIN)?;
    Reason::from_str_name(&format!("REASON_{}", details.reason))
}
