//! The error message of a program that fails.

use std::{io::Write as _, process::ExitCode};

use crate::{InvalidSetting, configuration::WRONG_SETTING};

/// Prints an error and its causes to standard error, as one line unless a cause has several. Returns the exit status: 2 if a
/// setting is wrong, otherwise 1.
pub fn report(error: &anyhow::Error) -> ExitCode {
    // Standard error may be closed; there is nowhere else to report to.
    let _ = writeln!(std::io::stderr(), "compliance: {}", describe(error));
    let is_setting = error.chain().any(<dyn std::error::Error>::is::<InvalidSetting>);
    if is_setting { ExitCode::from(WRONG_SETTING) } else { ExitCode::FAILURE }
}

/// The error followed by its causes. A cause that the text already contains is left out.
fn describe(error: &anyhow::Error) -> String {
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
