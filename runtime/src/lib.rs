//! What every program of the service needs, written once: settings, logging, signals, keys, ports and shutdown.
//!
//! Every setting is a flag, an environment variable and a key of the configuration file ([`parse`]).

mod clock;
mod configuration;
mod descriptors;
mod failure;
mod keys;
mod logging;
mod ports;
mod program;
mod settings;
mod shutdown;
mod signals;
mod telemetry;

pub use clock::unix_now;
pub use configuration::{ConfigurationArgs, parse};
pub use descriptors::Descriptors;
pub use failure::report as report_failure;
pub use logging::{LoggingArgs, start as start_logging};
pub use ports::Port;
pub use program::{block_on, serve_until_signal};
pub use settings::{
    CoreArgs, DatabaseUrlArgs, GatewayArgs, Hidden, InvalidSetting, KeyArgs, RequiredDatabaseArgs, SigningArgs,
    TelemetryArgs, units,
};
pub use shutdown::{close_pool, until_shutdown};
pub use signals::Signals;
pub use telemetry::Telemetry;
