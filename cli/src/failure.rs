//! What is said when the command fails.

use std::io::Write as _;

/// Prints an error and its causes as one line, or more where a cause has more.
pub(crate) fn print(error: &anyhow::Error) {
    // Nobody may be left to read it.
    let _ = writeln!(std::io::stderr(), "compliance: {}", describe(error));
}

/// An error and its causes. Many errors repeat their cause in their own words; it is not said twice.
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
    fn causes_are_told_once() {
        let error = anyhow!("the disk is full").context("cannot write a: the disk is full").context("cannot start");
        assert_eq!(super::describe(&error), "cannot start: cannot write a: the disk is full");
    }
}
