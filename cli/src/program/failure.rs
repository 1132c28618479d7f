//! Error messages of a program, and names of settings in messages.

use std::{
    error::Error,
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
};

use core_server::database::{DatabaseError, error_text};

use crate::program::configuration::WRONG_SETTING;

/// The status after a closed pipe, as shells report it: 128 plus the number of SIGPIPE.
const CLOSED_PIPE: u8 = 141;

/// Returns the variable of a flag.
pub(super) fn variable(setting: &str) -> String {
    match setting {
        // Other tools know the database by this name.
        "database-url" => "DATABASE_URL".to_owned(),
        _ => format!("COMPLIANCE_{}", setting.replace('-', "_").to_uppercase()),
    }
}

/// Returns a flag and its variable for messages: `--rest-addr (COMPLIANCE_REST_ADDR)`.
pub(crate) fn named(setting: &str) -> String {
    format!("--{setting} ({})", variable(setting))
}

/// A wrong setting, or a file that cannot be read, that is found after the command line was parsed. The program ends with status 2.
#[derive(Debug, thiserror::Error)]
#[error("{setting} {verb}: {cause}")]
pub(crate) struct InvalidSetting {
    setting: String,
    verb: &'static str,
    #[source]
    cause: Box<dyn Error + Send + Sync>,
}

impl InvalidSetting {
    /// A setting with a wrong value, in the form of [`named`].
    pub(crate) fn of<E: Into<Box<dyn Error + Send + Sync>>>(setting: impl Into<String>) -> impl FnOnce(E) -> Self {
        move |cause| Self { setting: setting.into(), verb: "is wrong", cause: cause.into() }
    }

    /// A file that cannot be read.
    pub(crate) fn unreadable<E: Into<Box<dyn Error + Send + Sync>>>(path: &Path) -> impl FnOnce(E) -> Self {
        move |cause| Self { setting: path.display().to_string(), verb: "cannot be read", cause: cause.into() }
    }

    /// A required setting that is missing, and its possible values.
    pub(crate) fn missing(setting: impl Into<String>, allowed: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { setting: setting.into(), verb: "is required", cause: allowed.into() }
    }
}

/// Prints an error and its causes, and returns the exit status. The status is 2 if a setting or the database's setup is
/// wrong, otherwise 1. If the reader of standard output has left, such as `head`, nothing is printed.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    let is_closed = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
    if error.chain().filter_map(|cause| cause.downcast_ref()).any(is_closed) {
        return ExitCode::from(CLOSED_PIPE);
    }
    // Standard error may be closed; there is nowhere else to report to.
    let _ = writeln!(io::stderr(), "compliance: {}", describe(error));
    if is_wrong_setting(error) { ExitCode::from(WRONG_SETTING) } else { ExitCode::FAILURE }
}

/// Whether a retry cannot help: a setting is wrong, or the service cannot use the database.
fn is_wrong_setting(error: &anyhow::Error) -> bool {
    let is_of_database = |cause: &(dyn Error + 'static)| {
        cause.downcast_ref::<DatabaseError>().is_some_and(DatabaseError::is_wrong_setting)
    };
    error.chain().any(|cause| cause.is::<InvalidSetting>() || is_of_database(cause))
}

/// Returns the error followed by its causes. A cause that the text already contains is left out.
pub(crate) fn describe(error: &anyhow::Error) -> String {
    // The text of a database error already includes its causes.
    let end = error.chain().position(<dyn Error>::is::<sqlx::Error>).map_or(usize::MAX, |at| at + 1);
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
    text
}

#[cfg(test)]
mod tests {
    use anyhow::{Context as _, anyhow};
    use core_server::database::DatabaseError;

    use super::{InvalidSetting, is_wrong_setting};

    #[test]
    fn errors_that_no_retry_resolves_are_wrong_settings() {
        let host = || "db".to_owned();
        let source = || sqlx::Error::PoolTimedOut;
        for wrong in [
            DatabaseError::Url("it has no host".to_owned()),
            DatabaseError::Parameter { host: host(), source: source() },
            DatabaseError::StatementPooler { host: host() },
            DatabaseError::NotPrepared { host: host() },
            DatabaseError::SharedSettings { host: host(), statements: "alter role".to_owned() },
            DatabaseError::SharedSession { command: "this command" },
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
    fn repeated_error_causes_are_shown_once() {
        let error = anyhow!("the disk is full").context("cannot write a: the disk is full").context("cannot start");
        assert_eq!(super::describe(&error), "cannot start: cannot write a: the disk is full");
    }
}
