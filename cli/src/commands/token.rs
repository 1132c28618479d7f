//! `compliance token`: makes a token.

use std::{io::Write as _, process::ExitCode};

use anyhow::{Context as _, bail};
use clap::Args;
use compliance_api::{
    MAX_ID,
    token::{Claims, Secret, issue},
};

use crate::{commands::now, data_dir::DataDirArgs, secret};

/// The longest that a token can be good for: ten years.
const LONGEST: i64 = 3650 * 86_400;

/// Print a token for a company, and nothing else, on standard output.
#[derive(Args)]
pub(crate) struct TokenArgs {
    /// Company whose records the bearer may see and change.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=MAX_ID))]
    company: i64,
    /// How long the token is good for: 30s, 15m, 8h, 7d.
    #[arg(long, default_value = "8h", value_name = "TIME", value_parser = seconds)]
    ttl: i64,
    /// Who the bearer is.
    #[arg(long, value_name = "NAME")]
    subject: Option<String>,
    /// What the bearer may do beyond the partners' operations, separated by spaces, such as `monitor`.
    #[arg(long)]
    scope: Option<String>,
    /// Secret to sign with; by default the one in the data folder, which is made when there is none.
    #[arg(long = "jwt-secret", env = "COMPLIANCE_JWT_SECRET", hide_env_values = true, value_name = "SECRET")]
    secret: Option<String>,
    /// Issuer to name in the token.
    #[arg(long = "jwt-issuer", env = "COMPLIANCE_JWT_ISSUER", value_name = "ISSUER")]
    issuer: Option<String>,
    #[command(flatten)]
    data_dir: DataDirArgs,
}

impl std::fmt::Debug for TokenArgs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenArgs").field("company", &self.company).field("ttl", &self.ttl).finish_non_exhaustive()
    }
}

pub(super) fn run(args: &TokenArgs) -> anyhow::Result<ExitCode> {
    let claims = Claims {
        sub: filled(args.subject.as_deref()),
        scope: filled(args.scope.as_deref()),
        iss: filled(args.issuer.as_deref()),
        ..Claims::new(args.company, now()?, args.ttl)
    };
    let token = issue(&secret(args)?, &claims).context("the token cannot be signed")?;
    writeln!(std::io::stdout(), "{token}").context("the token cannot be printed")?;
    Ok(ExitCode::SUCCESS)
}

fn secret(args: &TokenArgs) -> anyhow::Result<Secret> {
    if let Some(given) = filled(args.secret.as_deref()) {
        return Ok(Secret::new(given)?);
    }
    let kept = secret::kept_in(&args.data_dir.choose()?)?;
    if kept.made {
        tracing::warn!(
            file = %kept.path.display(),
            "there was no secret, so one was made: only a service with this data folder accepts the token"
        );
    }
    Ok(kept.secret)
}

/// An empty value is none.
fn filled(value: Option<&str>) -> Option<String> {
    value.filter(|value| !value.is_empty()).map(str::to_owned)
}

/// Reads 30s, 15m, 8h or 7d.
fn seconds(text: &str) -> anyhow::Result<i64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => bail!("a time is a number with s, m, h or d, such as 8h"),
    };
    let seconds = number.parse().ok().and_then(|number: i64| number.checked_mul(unit));
    match seconds {
        Some(seconds @ 1..=LONGEST) => Ok(seconds),
        _ => bail!("a token is good for at least 1s and at most 3650d"),
    }
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn times_have_a_unit() {
        for (text, expected) in [("30s", 30), ("15m", 900), ("8h", 28_800), ("7d", 604_800), ("3650d", super::LONGEST)]
        {
            assert_eq!(seconds(text).unwrap(), expected, "{text}");
        }
        for wrong in ["", "8", "h", "-1h", "0s", "1.5h", "8 h", "8H", "3651d", "99999999999999999999d"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
