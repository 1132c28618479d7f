//! Shared parts of all commands: settings, logging, signals, keys, ports and shutdown.
//!
//! Most settings have a flag and an environment variable ([`parse`]).

mod configuration;
mod database_args;
mod descriptors;
mod failure;
mod key_args;
mod key_set;
mod logging;
mod observability;
mod ports;
mod process;
mod secret_values;
mod signals;
mod tls_args;

pub(crate) use configuration::{parse, unknown_variables, unused_variables};
pub(crate) use database_args::DatabaseUrlArgs;
pub(crate) use descriptors::Descriptors;
pub(crate) use failure::{InvalidSetting, describe, named, report as report_failure};
pub(crate) use key_args::{KeyArgs, SigningArgs};
pub(crate) use logging::{LoggingArgs, start as start_logging};
pub(crate) use observability::TelemetryArgs;
pub(crate) use ports::{Port, refuse_equal};
pub(crate) use process::{block_on, close_pool, serve_until_signal, unix_now};
pub(crate) use secret_values::{Hidden, from_value_or_file, without_scheme};
pub(crate) use signals::Signals;
pub(crate) use tls_args::{CoreTlsArgs, GrpcTlsArgs, RestTlsArgs, TlsRefreshArgs};
