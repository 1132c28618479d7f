//! What every program of the service needs, written once: settings, logging, signals, keys, ports and shutdown.
//!
//! Every setting is a flag, an environment variable and a key of the configuration file ([`parse`]).

mod certificates;
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

pub use certificates::Certificates;
pub use clock::unix_now;
pub use configuration::{ConfigurationArgs, parse};
pub use descriptors::Descriptors;
pub use failure::{describe, report as report_failure};
pub use logging::{LoggingArgs, start as start_logging};
pub use ports::Port;
pub use program::{block_on, serve_until_signal};
pub use settings::{
    CoreArgs, CoreTlsArgs, DatabaseUrlArgs, GatewayArgs, GrpcTlsArgs, Hidden, InvalidSetting, KeyArgs,
    RequiredDatabaseArgs, RestTlsArgs, SigningArgs, TelemetryArgs, TlsRefreshArgs, listen_address, units,
};
pub use shutdown::{close_pool, until_shutdown};
pub use signals::Signals;
pub use telemetry::Telemetry;
