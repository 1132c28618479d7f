//! Settings that several programs share, as flags with environment variables.

mod database_args;
mod key_args;
mod secret;
mod tls_args;

pub(crate) use database_args::{DatabaseUrlArgs, ReplicaArgs};
pub(crate) use key_args::{KeyArgs, SigningArgs};
pub(crate) use secret::{Hidden, from_value_or_file};
pub(crate) use tls_args::{CoreTlsArgs, GrpcTlsArgs, RestTlsArgs, TlsRefreshArgs};
