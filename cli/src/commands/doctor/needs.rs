//! What a command of the service uses on this machine, by its settings.

use std::net::SocketAddr;

use anyhow::anyhow;
use compliance_api::PrivateUrl;
use http::Uri;
use tls::Inspected;

use crate::{
    data_dir::DataDirArgs,
    program::{CoreTlsArgs, DatabaseUrlArgs, InvalidSetting, KeyArgs, ReplicaArgs},
};

/// A port to listen on.
pub(crate) struct PortNeed {
    pub(super) check: &'static str,
    pub(super) address: SocketAddr,
    /// The flag of the address.
    pub(super) setting: &'static str,
}

/// A certificate, or the reason why it cannot be loaded.
pub(crate) struct CertificateNeed {
    pub(super) check: &'static str,
    pub(super) found: anyhow::Result<Inspected>,
    /// Whether gateways connect to it.
    pub(super) is_core: bool,
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

/// What a command uses.
pub(crate) struct Needs<'a> {
    pub(crate) ports: Vec<PortNeed>,
    pub(crate) certificates: Vec<CertificateNeed>,
    pub(crate) database: Option<DatabaseNeed<'a>>,
    /// The folder of the command's own database and secret, if it can have one.
    pub(crate) data_dir: Option<&'a DataDirArgs>,
    pub(crate) keys: &'a KeyArgs,
    /// The cores that it calls.
    pub(crate) cores: &'a [PrivateUrl],
    /// The certificates for connections to these cores.
    pub(crate) core_tls: Option<&'a CoreTlsArgs>,
}

impl PortNeed {
    pub(crate) fn rest(address: SocketAddr) -> Self {
        Self { check: "REST", address, setting: "rest-addr" }
    }

    pub(crate) fn grpc(address: SocketAddr) -> Self {
        Self { check: "gRPC", address, setting: "grpc-addr" }
    }
}

impl CertificateNeed {
    /// Returns the certificate at a path that a command has loaded; `None` if no path is given.
    pub(crate) fn of<T>(
        check: &'static str,
        loaded: Result<Option<T>, InvalidSetting>,
        path: Option<&std::path::Path>,
        is_core: bool,
    ) -> Option<Self> {
        let found = match (loaded, path) {
            (Err(error), _) => Err(error.into()),
            (Ok(_), Some(path)) => Inspected::read(path).map_err(|error| anyhow!(error)),
            (Ok(_), None) => return None,
        };
        Some(Self { check, found, is_core })
    }
}

impl<'a> Needs<'a> {
    /// The needs of a command that only verifies tokens.
    pub(crate) fn of(keys: &'a KeyArgs, certificates: impl IntoIterator<Item = Option<CertificateNeed>>) -> Self {
        let certificates = certificates.into_iter().flatten().collect();
        Self { ports: Vec::new(), certificates, database: None, data_dir: None, keys, cores: &[], core_tls: None }
    }

    /// The hosts of the cores that the command calls with TLS.
    pub(super) fn secure_hosts(&self) -> impl Iterator<Item = String> {
        let urls = self.cores.iter().filter_map(|url| url.reveal().trim().parse::<Uri>().ok());
        urls.filter(|url| url.scheme_str() == Some("https")).filter_map(|url| url.host().map(str::to_owned))
    }
}
