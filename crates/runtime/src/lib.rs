//! What every program of the service needs, written once: settings, logging, signals, keys, ports and shutdown.
//!
//! Every setting is a flag, an environment variable and a key of the configuration file ([`parse`]).

mod configuration;
mod descriptors;
mod failure;
mod logging;
mod ports;
mod program;
mod settings;
mod signals;
mod telemetry;

pub use configuration::{ConfigurationArgs, parse, try_parse, unknown_variables};
pub use descriptors::Descriptors;
pub use failure::{InvalidSetting, describe, report as report_failure};
pub use logging::{LoggingArgs, start as start_logging};
pub use ports::Port;
pub use program::{block_on, close_pool, serve_until_signal, unix_now};
pub use settings::*;
pub use signals::Signals;
pub use telemetry::{Telemetry, TelemetryArgs};
