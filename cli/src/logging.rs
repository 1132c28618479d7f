//! The log: on standard error, as lines for people or as JSON for machines.

use std::io::{IsTerminal as _, stderr};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use tracing_subscriber::{EnvFilter, fmt, layer::SubscriberExt as _, util::SubscriberInitExt as _};

/// What is logged unless something else is asked for. The database's notices tell that a table is there already.
const DEFAULT: &str = "info,sqlx::postgres::notice=warn";

/// What is logged, and how.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Log")]
pub(crate) struct LoggingArgs {
    /// What is logged: a level, or levels a part, such as `info,sqlx=debug`.
    #[arg(long = "log", env = "COMPLIANCE_LOG", default_value = DEFAULT, value_name = "FILTER", global = true)]
    filter: String,
    /// How it is written.
    #[arg(long = "log-format", env = "COMPLIANCE_LOG_FORMAT", default_value = "text", global = true)]
    format: Format,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Sends what the program logs to standard error, panics included.
pub(crate) fn start(args: &LoggingArgs) -> anyhow::Result<()> {
    // An empty variable is one that is not set.
    let filter = if args.filter.trim().is_empty() { DEFAULT } else { args.filter.as_str() };
    let filter = EnvFilter::try_new(filter)
        .with_context(|| format!("--log (COMPLIANCE_LOG) has {filter:?}, which is no filter: try `info`"))?;
    // By default a line that cannot be written is complained about where it could not be written, and that panics.
    let layer = fmt::layer().with_writer(stderr).log_internal_errors(false);
    let registry = tracing_subscriber::registry().with(filter);
    match args.format {
        Format::Text => {
            let colours = stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
            registry.with(layer.with_ansi(colours).with_target(false)).try_init()
        }
        Format::Json => registry.with(layer.json().flatten_event(true)).try_init(),
    }
    .context("the log cannot be set up")?;
    std::panic::set_hook(Box::new(|panic| {
        let message = panic.payload_as_str().unwrap_or("");
        let location = panic.location().map(ToString::to_string);
        tracing::error!(location, message, "a part of the program panicked");
    }));
    Ok(())
}
