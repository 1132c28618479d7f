//! What a command of the service uses on this machine, by its settings.

use std::net::SocketAddr;

use compliance_api::PrivateUrl;
use http::Uri;

use crate::{
    data_dir::DataDirArgs,
    program::{CoreTlsArgs, DatabaseUrlArgs, GrpcTlsArgs, InvalidSetting, KeyArgs, ReplicaArgs, RestTlsArgs},
};

/// What a command uses.
pub(crate) struct Needs<'a> {
    /// The address of REST.
    pub(crate) rest: Option<SocketAddr>,
    /// The address of gRPC.
    pub(crate) grpc: Option<SocketAddr>,
    pub(crate) rest_tls: Option<&'a RestTlsArgs>,
    pub(crate) grpc_tls: Option<&'a GrpcTlsArgs>,
    /// Whether the authorities of webhooks can be used.
    pub(crate) webhooks: Result<(), InvalidSetting>,
    pub(crate) database: Option<DatabaseNeed<'a>>,
    /// The folder of the command's own database and secret, if it can have one.
    pub(crate) data_dir: Option<&'a DataDirArgs>,
    pub(crate) keys: &'a KeyArgs,
    /// The cores that it calls.
    pub(crate) cores: &'a [PrivateUrl],
    /// The certificates for connections to these cores.
    pub(crate) core_tls: Option<&'a CoreTlsArgs>,
}

/// A database with its replicas.
pub(crate) struct DatabaseNeed<'a> {
    pub(crate) url: &'a DatabaseUrlArgs,
    pub(crate) replicas: &'a ReplicaArgs,
    /// Maximum number of connections to each server.
    pub(crate) connections: u32,
    /// How many days the command keeps changes.
    pub(crate) retention: Option<i32>,
}

impl<'a> Needs<'a> {
    /// The needs of a command that only verifies tokens.
    pub(crate) fn of(keys: &'a KeyArgs) -> Self {
        Self {
            rest: None,
            grpc: None,
            rest_tls: None,
            grpc_tls: None,
            webhooks: Ok(()),
            database: None,
            data_dir: None,
            keys,
            cores: &[],
            core_tls: None,
        }
    }

    /// The hosts of the cores that the command calls with TLS.
    pub(super) fn secure_hosts(&self) -> impl Iterator<Item = String> {
        let urls = self.cores.iter().filter_map(|url| url.reveal().trim().parse::<Uri>().ok());
        urls.filter(|url| url.scheme_str() == Some("https")).filter_map(|url| url.host().map(str::to_owned))
    }
}
