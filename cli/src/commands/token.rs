//! `compliance token` issues a token.

use std::{io::Write as _, time::Duration};

use crate::program::{SigningArgs, unix_now};
use anyhow::Context as _;
use clap::Args;
use compliance_api::{
    MAX_ID,
    token::{Claims, SCOPES},
};
use flags::{count, duration};

use crate::{data_dir::DataDirArgs, secret};

/// Print a token for a company on standard output.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  compliance token --company 7
  compliance token --company 7 --ttl 30d --subject crawler --scope monitor
  compliance token --company 7 --subject auditor --scope \"audit webhooks\"")]
pub(crate) struct TokenArgs {
    /// Company whose records the token can access.
    #[arg(long, value_name = "N", value_parser = count(1..=MAX_ID))]
    company: i64,
    /// Lifetime of the token, such as 30s, 15m, 8h or 7d.
    #[arg(long, default_value = "8h", value_name = "TIME", value_parser = lifetime)]
    ttl: i64,
    /// Subject of the token (`sub`).
    #[arg(long, value_name = "NAME")]
    subject: Option<String>,
    /// Scopes, separated by spaces: `cases`, `monitor`, `webhooks`, `audit`, `erase`. Other operations, such as reading lists and
    /// adding URLs, need no scope.
    #[arg(long, value_parser = scopes)]
    scope: Option<String>,
    #[command(flatten)]
    signing: SigningArgs,
    #[command(flatten)]
    data_dir: DataDirArgs,
    /// Create the data folder and its secret if they are missing.
    #[arg(long)]
    init: bool,
}

pub(super) fn run(args: &TokenArgs) -> anyhow::Result<()> {
    let claims = Claims {
        // An empty value counts as unset.
        sub: args.subject.clone().filter(|subject| !subject.is_empty()),
        scope: args.scope.clone().filter(|scope| !scope.is_empty()),
        ..Claims::new(args.company, unix_now()?, args.ttl)
    };
    let secret = secret::find(&args.signing, &args.data_dir, args.init)?;
    let token = args.signing.issue(&secret, claims)?;
    writeln!(std::io::stdout(), "{token}").context("cannot print the token")
}

/// Checks that all scopes exist. A misspelled scope would allow nothing.
fn scopes(text: &str) -> Result<String, String> {
    match text.split_whitespace().find(|scope| !SCOPES.contains(scope)) {
        Some(list) if list.contains(',') => Err("separate scopes with spaces, not commas".to_owned()),
        Some(unknown) => Err(format!("{unknown} is not a scope; the scopes are {}", SCOPES.join(", "))),
        None => Ok(text.to_owned()),
    }
}

/// Parses a lifetime with a unit, from one second to ten years, into seconds.
fn lifetime(text: &str) -> Result<i64, String> {
    if !text.ends_with(|last: char| last.is_ascii_alphabetic()) {
        return Err("must be a number followed by s, m, h or d, such as 8h".to_owned());
    }
    Ok(duration(Duration::from_secs(1)..=Duration::from_hours(3650 * 24))(text)?.as_secs() as i64)
}

#[cfg(test)]
mod tests {
    use super::{lifetime, scopes};

    #[test]
    fn unknown_scopes_are_rejected() {
        assert_eq!(scopes("audit cases"), Ok("audit cases".to_owned()));
        assert_eq!(scopes(""), Ok(String::new()));
        assert_eq!(scopes("cases,audit").unwrap_err(), "separate scopes with spaces, not commas");
        let error = scopes("audit case").unwrap_err();
        assert_eq!(error, "case is not a scope; the scopes are cases, monitor, webhooks, audit, erase");
    }

    #[test]
    fn token_lifetime_requires_unit_and_valid_range() {
        for (text, expected) in [("30s", 30), ("15m", 900), ("8h", 28_800), ("7d", 604_800), ("3650d", 315_360_000)] {
            assert_eq!(lifetime(text), Ok(expected), "{text}");
        }
        for wrong in ["", "8", "h", "-1h", "0s", "1.5h", "8H", "3651d", "99999999999999999999d"] {
            assert!(lifetime(wrong).is_err(), "{wrong}");
        }
    }
}
