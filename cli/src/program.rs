//! What the process of every command needs: settings, logging, signals, keys, ports and shutdown.
//!
//! Every setting is a flag, an environment variable and a key of the configuration file ([`parse`]).

mod configuration;
mod descriptors;
mod failure;
mod life;
mod logging;
mod observability;
mod ports;
mod settings;
mod signals;

pub(crate) use configuration::{ConfigurationArgs, parse, try_parse, unknown_variables};
pub(crate) use descriptors::Descriptors;
pub(crate) use failure::{InvalidSetting, describe, named, report as report_failure};
pub(crate) use life::{block_on, close_pool, serve_until_signal, unix_now};
pub(crate) use logging::{LoggingArgs, start as start_logging};
pub(crate) use observability::TelemetryArgs;
pub(crate) use ports::Port;
pub(crate) use settings::*;
pub(crate) use signals::Signals;
