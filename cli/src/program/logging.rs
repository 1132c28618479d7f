//! Logs to standard error, as text or JSON lines.

use std::{
    io::{IsTerminal as _, stderr},
    sync::OnceLock,
};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use telemetry::error_limited;
use tracing_subscriber::{
    Registry,
    filter::{LevelFilter, Targets},
    fmt,
    layer::SubscriberExt as _,
    reload,
    util::SubscriberInitExt as _,
};

/// Default filter. Omits PostgreSQL notices, such as "relation already exists", and access lines of successful requests, which
/// are expensive at high rates.
const DEFAULT: &str = "info,access=warn,sqlx::postgres::notice=warn";

/// Log filter and format.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Log")]
pub(crate) struct LoggingArgs {
    /// Log level, or levels of modules, such as `info,sqlx=debug`.
    #[arg(long = "log", env = "COMPLIANCE_LOG", default_value = DEFAULT, value_name = "FILTER", global = true,
          value_parser = filter)]
    filter: Targets,
    /// Log format.
    #[arg(long = "log-format", env = "COMPLIANCE_LOG_FORMAT", default_value = "text", global = true)]
    format: Format,
}

/// Log formats.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// One line of text per event.
    Text,
    /// One JSON object per event.
    Json,
}

/// Parses a filter: comma-separated levels and module levels.
fn filter(text: &str) -> Result<Targets, String> {
    let text = if text.trim().is_empty() { DEFAULT } else { text };
    let allowed =
        "must be a level (off, error, warn, info, debug, trace) or levels of modules, such as info,sqlx=debug";
    // The parser would treat any other word as a module, and log all its events.
    let is_level = |text: &str| !text.trim().is_empty() && text.trim().parse::<LevelFilter>().is_ok();
    if !text.split(',').all(|part| is_level(part.rsplit_once('=').map_or(part, |(_, level)| level))) {
        return Err(allowed.to_owned());
    }
    text.parse().map_err(|_| allowed.to_owned())
}

/// Handle that reads and replaces the current filter.
static FILTER: OnceLock<reload::Handle<Targets, Registry>> = OnceLock::new();

/// Returns the current filter.
pub(crate) fn current_filter() -> String {
    FILTER.get().and_then(|handle| handle.with_current(ToString::to_string).ok()).unwrap_or_default()
}

/// Replaces the filter. Fails and changes nothing if the text is invalid.
pub(crate) fn set_filter(text: &str) -> Result<(), String> {
    let filter = filter(text)?;
    let handle = FILTER.get().ok_or("logging has not started")?;
    handle.reload(filter).map_err(|error| error.to_string())
}

/// Starts logging to standard error, including panics.
pub(crate) fn start(args: &LoggingArgs) -> anyhow::Result<()> {
    let (filter, handle) = reload::Layer::new(args.filter.clone());
    // This function runs only once, so the filter is not set yet.
    let _ = FILTER.set(handle);
    // By default, the layer reports failed writes to standard error, and panics if it is closed.
    let layer = fmt::layer().with_writer(stderr).log_internal_errors(false);
    // The service logs these failures itself. The libraries would repeat them, without end.
    let repeated = Targets::new()
        .with_default(LevelFilter::TRACE)
        .with_target("rustls_platform_verifier", LevelFilter::OFF)
        .with_target("sqlx_core::pool", LevelFilter::WARN);
    let registry = tracing_subscriber::registry().with(filter).with(repeated);
    match args.format {
        Format::Text => {
            let ansi = stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
            registry.with(layer.with_ansi(ansi).with_target(false)).try_init()
        }
        Format::Json => registry.with(layer.json().flatten_event(true)).try_init(),
    }
    .context("cannot set up logging")?;
    std::panic::set_hook(Box::new(|panic| {
        let error = panic.payload_as_str().unwrap_or("");
        let location = panic.location().map(ToString::to_string);
        error_limited!(location, error, "part of the program panicked");
    }));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::filter;

    #[test]
    fn log_filter_requires_valid_levels() {
        for right in ["", "info", "DEBUG", "info,sqlx=debug", "warn, rest_gateway::observe=trace", super::DEFAULT] {
            assert!(filter(right).is_ok(), "{right}");
        }
        for wrong in ["nonsense", "info,sqlx", "info,sqlx=loud", "a=b=c", ",", "info;debug"] {
            assert!(filter(wrong).is_err(), "{wrong}");
        }
    }
}
