//! The error message of a program that fails.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use crate::{InvalidSetting, configuration::WRONG_SETTING};

/// The status of a program that a closed pipe ends, as shells report it: 128 and the number of SIGPIPE.
const CLOSED_PIPE: u8 = 141;

/// Prints an error and its causes to standard error, as one line unless a cause has several. Returns the exit status: 2 if a
/// setting is wrong, otherwise 1. A reader that has left, such as `head`, is no error: nothing is printed then.
pub fn report(error: &anyhow::Error) -> ExitCode {
    let is_closed = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
    if error.chain().filter_map(|cause| cause.downcast_ref()).any(is_closed) {
        return ExitCode::from(CLOSED_PIPE);
    }
    // Standard error may be closed; there is nowhere else to report to.
    let _ = writeln!(io::stderr(), "compliance: {}", describe(error));
    let is_setting = error.chain().any(<dyn std::error::Error>::is::<InvalidSetting>);
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
