//! Settings that several programs share, as flags with environment variables.

mod core_args;
mod database_args;
mod gateway_args;
mod hidden;
mod key_args;
pub mod units;

pub use core_args::CoreArgs;
pub use database_args::RequiredDatabaseArgs;
pub use gateway_args::GatewayArgs;
pub use hidden::Hidden;
pub use key_args::{KeyArgs, SigningArgs};
