//! Settings that several programs share, as flags with environment variables.

mod core_args;
mod database_args;
mod gateway_args;
mod key_args;
mod secret;
mod start_args;
mod tls_args;
pub mod units;

pub use core_args::CoreArgs;
pub use database_args::{DatabaseUrlArgs, ReplicaArgs};
pub use gateway_args::GatewayArgs;
pub use key_args::{KeyArgs, SigningArgs};
pub use secret::Hidden;
pub use start_args::StartArgs;
pub use tls_args::{CoreTlsArgs, GrpcTlsArgs, RestTlsArgs, TlsRefreshArgs};
