//! How long a program waits for its dependencies.

use std::time::Duration;

use clap::Args;
use flags::duration;

/// How a program starts.
#[derive(Args, Clone, Debug)]
pub(crate) struct StartArgs {
    /// Maximum wait at start for a database or a key set that cannot be reached yet, or a schema that is not migrated yet. Until
    /// then, the service responds 503. With 0, it does not wait.
    #[arg(long, env = "COMPLIANCE_START_TIMEOUT", default_value = "5m", value_name = "TIME",
          value_parser = duration(Duration::ZERO..=Duration::from_hours(24)))]
    pub(crate) start_timeout: Duration,
}
