//! The error message of a program that fails.

use std::{
    error::Error,
    io::{self, Write as _},
    process::ExitCode,
};

use crate::configuration::WRONG_SETTING;

/// The status of a program that a closed pipe ends, as shells report it: 128 and the number of SIGPIPE.
const CLOSED_PIPE: u8 = 141;

/// A setting that turns out to be wrong after the command line was parsed. The program ends with status 2, too.
#[derive(Debug, thiserror::Error)]
#[error("{setting} {verb}: {cause}")]
pub struct InvalidSetting {
    setting: &'static str,
    verb: &'static str,
    #[source]
    cause: Box<dyn Error + Send + Sync>,
}

impl InvalidSetting {
    /// Names the setting by its flag and variable, such as `--rest-addr (COMPLIANCE_REST_ADDR)`.
    pub fn of<E: Into<Box<dyn Error + Send + Sync>>>(setting: &'static str) -> impl FnOnce(E) -> Self {
        move |cause| Self { setting, verb: "is wrong", cause: cause.into() }
    }

    /// A setting that must be given, with what it may be.
    pub fn missing(setting: &'static str, allowed: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { setting, verb: "is required", cause: allowed.into() }
    }
}

/// Prints an error and its causes to standard error. Returns the exit status: 2 if a setting is wrong, otherwise 1. If a reader
/// has left, such as `head`, nothing is printed.
pub fn report(error: &anyhow::Error) -> ExitCode {
    let is_closed = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
    if error.chain().filter_map(|cause| cause.downcast_ref()).any(is_closed) {
        return ExitCode::from(CLOSED_PIPE);
    }
    // Standard error may be closed; there is nowhere else to report to.
    let _ = writeln!(io::stderr(), "compliance: {}", describe(error));
    let is_setting = error.chain().any(<dyn Error>::is::<InvalidSetting>);
    if is_setting { ExitCode::from(WRONG_SETTING) } else { ExitCode::FAILURE }
}

/// The error followed by its causes. A cause that the text already contains is left out.
pub fn describe(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    #[test]
    fn a_cause_that_is_already_in_the_text_is_not_repeated() {
        let error = anyhow!("the disk is full").context("cannot write a: the disk is full").context("cannot start");
        assert_eq!(super::describe(&error), "cannot start: cannot write a: the disk is full");
    }
}
