//! Errors that calls return.

use std::{collections::BTreeMap, time::Duration};

use tonic::Status;
use tonic_types::StatusExt as _;

use crate::v1::Reason;

/// The `domain` of the service's `ErrorInfo`.
const DOMAIN: &str = "compliance.v1";

/// Any error.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A rule violated by a request field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Path of the field: `affiliate_name`, `affiliates.3.email_one`.
    pub field: String,
    /// The violation, as a sentence.
    pub description: String,
}

/// Why a call failed after its retries. The messages are for humans.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Fields of the request are invalid. Nothing was saved.
    #[error("{message}")]
    Invalid {
        /// The first violation, and the number of other violations.
        message: String,
        /// The violations. The service truncates very long lists.
        violations: Vec<Violation>,
        /// The total number of violations.
        total: usize,
    },
    /// The service rejected the token and the next token from the source.
    #[error("{message}")]
    Unauthenticated {
        /// Whether the token is missing, invalid or expired.
        reason: Reason,
        /// The error, as a sentence.
        message: String,
    },
    /// The token lacks the operation's scope.
    #[error("{message}")]
    PermissionDenied {
        /// The error, as a sentence.
        message: String,
    },
    /// The company does not have the record.
    #[error("{message}")]
    NotFound {
        /// What does not exist.
        reason: Reason,
        /// The error, as a sentence.
        message: String,
    },
    /// The company already has the record.
    #[error("{message}")]
    AlreadyExists {
        /// What already exists.
        reason: Reason,
        /// The error, as a sentence.
        message: String,
        /// Whether an earlier try failed, for example with a lost response. It may have created the record.
        is_retry: bool,
    },
    /// The etag does not match because the record has changed. This try saved nothing.
    #[error("{message}")]
    EtagMismatch {
        /// The error, as a sentence.
        message: String,
        /// Whether an earlier try failed, for example with a lost response. It may have changed the record: read the record.
        is_retry: bool,
    },
    /// The service no longer keeps the changes after this position, or the changes needed for an earlier state.
    #[error("{message}")]
    PositionGone {
        /// Whether the changes expired or were lost in a restore.
        reason: Reason,
        /// The error, as a sentence.
        message: String,
        /// The positions in the service's error, such as `last_position` and `restored_position`.
        positions: BTreeMap<String, i64>,
    },
    /// The request is too large for one call, or the record's state does not allow it. Nothing was saved.
    #[error("{message}")]
    FailedPrecondition {
        /// The error, as a sentence.
        message: String,
    },
    /// The service is busy or unreachable, or the company's rate limit is exceeded.
    #[error("{message}")]
    Unavailable {
        /// Which of these conditions applies.
        reason: Reason,
        /// The error, as a sentence.
        message: String,
        /// How long the service asks you to wait before the next call. `None` if waiting does not help, for example because the
        /// service's certificate is invalid.
        retry_after: Option<Duration>,
    },
    /// The deadline passed. A write was applied completely or not at all.
    #[error("the deadline passed")]
    DeadlineExceeded,
    /// The token source failed.
    #[error("no token: {0}")]
    Token(#[source] BoxError),
    /// The client's settings are invalid.
    #[error("{0}")]
    Settings(String),
    /// Any other status.
    #[error("{0}")]
    Other(#[source] Box<Status>),
}

impl Error {
    /// Returns the service's reason, or `None` if it is missing or from a later release.
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

    /// Returns the violations of the request.
    pub fn violations(&self) -> &[Violation] {
        match self {
            Self::Invalid { violations, .. } => violations,
            _ => &[],
        }
    }

    /// Returns how long the service asks you to wait before the next call.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Unavailable { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Returns whether the same call can succeed later.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Unavailable { retry_after: Some(_), .. } | Self::DeadlineExceeded)
    }
}

/// Returns the service's reason, or `None` if it is missing or from a later release.
pub(crate) fn reason(status: &Status) -> Option<Reason> {
    let details = status.get_details_error_info().filter(|info| info.domain == DOMAIN)?;
    Reason::from_str_name(&format!("REASON_{}", details.reason))
}
