//! What every program of the service needs, written once: settings, logging, signals, keys, ports and shutdown.
//!
//! Every setting is a flag with an environment variable. The flag takes precedence, and an empty variable counts as
//! absent ([`parse`]).

mod clock;
mod descriptors;
mod failure;
mod keys;
mod logging;
mod parse;
mod ports;
mod program;
mod settings;
mod shutdown;
mod signals;

pub use clock::unix_now;
pub use descriptors::Descriptors;
pub use failure::print as print_failure;
pub use logging::{LoggingArgs, start as start_logging};
pub use parse::parse;
pub use ports::Port;
pub use program::{block_on, serve_until_signal};
pub use settings::{CoreArgs, GatewayArgs, Hidden, KeyArgs, RequiredDatabaseArgs, SigningArgs, units};
pub use shutdown::{close_pool, until_shutdown};
pub use signals::Signals;
