//! What a command of the service uses on this machine, by its settings.

use std::net::SocketAddr;

use crate::program::{CoreTlsArgs, DatabaseUrlArgs, InvalidSetting, KeyArgs, ReplicaArgs};
use anyhow::anyhow;
use compliance_api::PrivateUrl;
use http::Uri;
use tls::Inspected;

use crate::data_dir::DataDirArgs;

/// A port, with what sets its address.
pub(in crate::commands) struct PortNeed {
    pub(in crate::commands) check: &'static str,
    pub(in crate::commands) address: SocketAddr,
    pub(in crate::commands) setting: &'static str,
}

/// A certificate that can be loaded with its key, or the reason why it cannot.
pub(in crate::commands) struct CertificateNeed {
    pub(in crate::commands) check: &'static str,
    pub(in crate::commands) found: anyhow::Result<Inspected>,
    /// Whether gateways connect to it.
    pub(in crate::commands) is_core: bool,
}

/// A database.
pub(in crate::commands) struct DatabaseNeed<'a> {
    pub(in crate::commands) url: &'a DatabaseUrlArgs,
    pub(in crate::commands) replicas: &'a ReplicaArgs,
    /// To each server.
    pub(in crate::commands) connections: u32,
    /// For how many days changes must be kept.
    pub(in crate::commands) retention: Option<i32>,
}

/// What a command uses.
pub(in crate::commands) struct Needs<'a> {
    pub(in crate::commands) ports: Vec<PortNeed>,
    pub(in crate::commands) certificates: Vec<CertificateNeed>,
    pub(in crate::commands) database: Option<DatabaseNeed<'a>>,
    /// The folder of the command's own database and secret, if it can have one.
    pub(in crate::commands) data_dir: Option<&'a DataDirArgs>,
    pub(in crate::commands) keys: &'a KeyArgs,
    /// The cores that it calls.
    pub(in crate::commands) cores: &'a [PrivateUrl],
    /// Whom it trusts there, and who it is.
    pub(in crate::commands) core_tls: Option<&'a CoreTlsArgs>,
}

impl PortNeed {
    pub(in crate::commands) fn rest(address: SocketAddr) -> Self {
        Self { check: "REST", address, setting: "rest-addr" }
    }

    pub(in crate::commands) fn grpc(address: SocketAddr) -> Self {
        Self { check: "gRPC", address, setting: "grpc-addr" }
    }
}

impl CertificateNeed {
    /// `None` if no certificate is given.
    pub(in crate::commands) fn of<T>(
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

impl Needs<'_> {
    /// The hosts of the cores that it calls with TLS.
    pub(super) fn secure_hosts(&self) -> impl Iterator<Item = String> {
        let urls = self.cores.iter().filter_map(|url| url.reveal().trim().parse::<Uri>().ok());
        urls.filter(|url| url.scheme_str() == Some("https")).filter_map(|url| url.host().map(str::to_owned))
    }
}
