//! Formats a program's error messages, and setting names in messages.

use std::{
    error::Error,
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
};

use core_server::{
    StartError,
    database::{DatabaseError, error_text},
};

use crate::program::configuration::{WRONG_SETTING, variable};

/// Exit status after a closed pipe, as shells report it: 128 plus the number of SIGPIPE.
const CLOSED_PIPE: u8 = 141;

/// Returns a flag and its variable for messages: `--rest-addr (COMPLIANCE_REST_ADDR)`.
pub(crate) fn named(setting: &str) -> String {
    format!("--{setting} ({})", variable(setting))
}

/// An invalid setting or unreadable file, detected after the command line was parsed. The program exits with status 2.
#[derive(Debug, thiserror::Error)]
#[error("{setting} {verb}: {cause}")]
pub(crate) struct InvalidSetting {
    setting: String,
    verb: &'static str,
    #[source]
    cause: Box<dyn Error + Send + Sync>,
}

impl InvalidSetting {
    /// Creates an error for an invalid value of a setting, usually in the form of [`named`].
    pub(crate) fn of<E: Into<Box<dyn Error + Send + Sync>>>(setting: impl Into<String>) -> impl FnOnce(E) -> Self {
        move |cause| Self { setting: setting.into(), verb: "is invalid", cause: cause.into() }
    }

    /// Creates an error for a file that cannot be read.
    pub(crate) fn unreadable<E: Into<Box<dyn Error + Send + Sync>>>(path: &Path) -> impl FnOnce(E) -> Self {
        move |cause| Self { setting: path.display().to_string(), verb: "cannot be read", cause: cause.into() }
    }

    /// Creates an error for a missing required setting, with its possible values.
    pub(crate) fn missing(setting: impl Into<String>, allowed: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { setting: setting.into(), verb: "is required", cause: allowed.into() }
    }
}

/// Prints an error with its causes, and returns the exit status. The status is 2 if a setting or the database setup is invalid, otherwise 1. Prints
/// nothing if the reader of standard output, such as `head`, has closed its pipe.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    let is_closed = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
    if error.chain().filter_map(|cause| cause.downcast_ref()).any(is_closed) {
        return ExitCode::from(CLOSED_PIPE);
    }
    // Ignore a closed standard error.
    let _ = writeln!(io::stderr(), "compliance: {}", describe(error));
    if is_wrong_setting(error) { ExitCode::from(WRONG_SETTING) } else { ExitCode::FAILURE }
}

/// Returns whether a retry cannot help, because a setting is invalid or the database is unusable.
fn is_wrong_setting(error: &anyhow::Error) -> bool {
    let is_of_database = |cause: &(dyn Error + 'static)| {
        cause.downcast_ref::<DatabaseError>().is_some_and(DatabaseError::is_wrong_setting)
    };
    let is_of_core =
        |cause: &(dyn Error + 'static)| cause.downcast_ref::<StartError>().is_some_and(StartError::is_wrong_setting);
    let is_of_folder = |cause: &(dyn Error + 'static)| {
        use embedded_postgres::Error::{NotACluster, NotPassable, OtherUser, PgOptions};
        matches!(cause.downcast_ref(), Some(NotACluster { .. } | NotPassable { .. } | OtherUser(_) | PgOptions))
    };
    let is_wrong = |cause: &(dyn Error + 'static)| {
        cause.is::<InvalidSetting>() || is_of_database(cause) || is_of_core(cause) || is_of_folder(cause)
    };
    error.chain().any(is_wrong)
}

/// Returns the error followed by its causes, without causes that the text already contains.
pub(crate) fn describe(error: &anyhow::Error) -> String {
    // A database error's text already includes its causes.
    let is_of_database = |cause: &(dyn Error + 'static)| cause.is::<sqlx::Error>() || cause.is::<DatabaseError>();
    let end = error.chain().position(is_of_database).map_or(usize::MAX, |at| at + 1);
    let mut texts = error.chain().take(end).map(|cause| match cause.downcast_ref() {
        Some(error) => error_text(error),
        None => cause.to_string(),
    });
    let mut text = texts.next().unwrap_or_default();
    for cause in texts {
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    tls::plain(&text)
}

#[cfg(test)]
mod tests {
    use anyhow::{Context as _, anyhow};
    use core_server::database::DatabaseError;

    use super::{InvalidSetting, is_wrong_setting};

    #[test]
    fn permanent_errors_count_as_invalid_settings() {
        let host = || "db".to_owned();
        let source = || sqlx::Error::PoolTimedOut;
        for wrong in [
            DatabaseError::Url("it has no host".to_owned()),
            DatabaseError::Parameter { host: host(), source: source() },
            DatabaseError::StatementPooler { host: host() },
            DatabaseError::NotPrepared { host: host() },
            DatabaseError::SharedSettings { host: host(), statements: "alter role".to_owned() },
            DatabaseError::SharedSession { command: "this command" },
            DatabaseError::OtherTables { database: host(), table: "orders".to_owned() },
            DatabaseError::Modified { step: "1 (first)".to_owned() },
        ] {
            assert!(is_wrong_setting(&anyhow::Error::from(wrong).context("the service could not start")));
        }
        assert!(is_wrong_setting(&InvalidSetting::of("--a")("b").into()));
        for other in [
            DatabaseError::Connect { host: host(), database: host(), source: source() },
            DatabaseError::NotMigrated { missing: 1, total: 2 },
            DatabaseError::History(source()),
        ] {
            assert!(!is_wrong_setting(&anyhow::Error::from(other)));
        }
        assert!(!is_wrong_setting(&Err::<(), _>(anyhow!("a")).context("b").unwrap_err()));
    }

    #[test]
    fn repeated_causes_are_printed_once() {
        let error = anyhow!("the disk is full").context("cannot write a: the disk is full").context("cannot start");
        assert_eq!(super::describe(&error), "cannot start: cannot write a: the disk is full");
    }
}
