//! Settings that several programs share, as flags with environment variables.

mod core_args;
mod database_args;
mod gateway_args;
mod hidden;
mod invalid;
mod key_args;
mod listen;
mod secret_file;
mod telemetry_args;
mod tls_args;
pub mod units;

pub use core_args::CoreArgs;
pub use database_args::{DatabaseUrlArgs, RequiredDatabaseArgs};
pub use gateway_args::GatewayArgs;
pub use hidden::Hidden;
pub use invalid::InvalidSetting;
pub use key_args::{KeyArgs, SigningArgs};
pub use listen::listen_address;
pub use telemetry_args::TelemetryArgs;
pub use tls_args::{CoreTlsArgs, GrpcTlsArgs, RestTlsArgs, TlsRefreshArgs};
