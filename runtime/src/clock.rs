//! The current time.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;

/// The seconds since 1970, as tokens count them. Fails if the system's clock shows an earlier time.
pub fn unix_now() -> anyhow::Result<i64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock shows a time before 1970")?;
    Ok(since.as_secs() as i64)
}
