//! Certificates of both ports, and for connections to cores.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use clap::Args;
use flags::duration;
use metrics::{describe_gauge, gauge};
use telemetry::{
    background::{self, Task},
    metrics::{count, describe, on_render},
};
use tls::{ClientTls, IdentityFiles, Reloaded, ServerTls, TlsError};
use tokio_util::task::AbortOnDropHandle;

use crate::program::{failure::InvalidSetting, names::named};

/// How often certificates are read again.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Certificates")]
pub(crate) struct TlsRefreshArgs {
    /// Time after which certificates are read again from their files.
    #[arg(long, env = "COMPLIANCE_TLS_REFRESH", default_value = "1m", value_name = "TIME",
          value_parser = duration(Duration::from_secs(1)..=Duration::from_hours(24)))]
    tls_refresh: Duration,
}

impl TlsRefreshArgs {
    /// Starts a task that reloads the certificates of these ports, and that of a client, until the handle is dropped. If one
    /// cannot be used, the previous one stays.
    pub(crate) fn keep<'a>(
        &self,
        servers: impl IntoIterator<Item = (&'static str, &'a Option<ServerTls>)>,
        client: Option<&ClientTls>,
    ) -> Option<AbortOnDropHandle<()>> {
        let servers = servers.into_iter().filter_map(|(port, tls)| Some((port, tls.clone()?)));
        let servers: Vec<(&'static str, ServerTls)> = servers.collect();
        let client = client.cloned().map(|tls| (CLIENT, tls));
        let ports: Vec<&'static str> =
            servers.iter().map(|(port, _)| *port).chain(client.iter().map(|_| CLIENT)).collect();
        describe(FAILURES, "Certificates that could not be read again.", "port", &ports);
        for (port, tls) in &servers {
            report(port, tls);
        }
        if let Some((port, tls)) = &client {
            report(port, tls);
        }
        if servers.is_empty() && client.is_none() {
            return None;
        }
        let interval = self.tls_refresh;
        let refresh = move |task: Arc<Task>| {
            let (servers, client) = (servers.clone(), client.clone());
            async move {
                loop {
                    tokio::time::sleep(interval).await;
                    // Small files, so the thread is not kept for long.
                    let of_servers = servers.iter().map(|(port, tls)| (*port, tls.reload()));
                    let mut failure = None;
                    for (port, reloaded) in of_servers.chain(client.iter().map(|(port, tls)| (*port, tls.reload()))) {
                        match reloaded {
                            Ok(true) => tracing::info!(port, "certificates were replaced"),
                            Ok(false) => {}
                            Err(error) => {
                                count(FAILURES, "port", port);
                                failure = Some((port, error));
                            }
                        }
                    }
                    match failure {
                        None => task.succeeded(),
                        Some((port, error)) => task.failed(format_args!(
                            "the certificates of the port {port} cannot be replaced, and the previous ones stay in use: {error}"
                        )),
                    }
                }
            }
        };
        Some(AbortOnDropHandle::new(background::spawn("certificate refresh", refresh)))
    }
}

/// The port in metrics of the certificate for cores.
const CLIENT: &str = "client";
const FAILURES: &str = "compliance_certificate_refresh_failures_total";

/// Measures when a certificate expires.
fn report<C: Send + Sync + 'static>(port: &'static str, tls: &Reloaded<C>) {
    if tls.expires().is_none() {
        return;
    }
    let name = "compliance_certificate_expiry_timestamp_seconds";
    describe_gauge!(name, "When the certificate in use expires, in seconds since 1970.");
    let tls = tls.clone();
    on_render(gauge!(name, "port" => port), move || tls.expires().map(|expires| expires as f64));
}

/// The certificate of REST.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Certificates")]
pub(crate) struct RestTlsArgs {
    /// PEM file with the certificate of REST, and those that lead to its authority. Without it, REST is served without
    /// TLS.
    #[arg(long, env = "COMPLIANCE_REST_TLS_CERT", value_name = "FILE")]
    rest_tls_cert: Option<PathBuf>,
    /// PEM file with the key of --rest-tls-cert.
    #[arg(long, env = "COMPLIANCE_REST_TLS_KEY", value_name = "FILE")]
    rest_tls_key: Option<PathBuf>,
}

/// The certificate of gRPC, and the authorities of its clients.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Certificates")]
#[expect(clippy::struct_field_names, reason = "fields are named as their flags")]
pub(crate) struct GrpcTlsArgs {
    /// PEM file with the certificate of gRPC, and those that lead to its authority. Without it, gRPC is served without
    /// TLS.
    #[arg(long, env = "COMPLIANCE_GRPC_TLS_CERT", value_name = "FILE")]
    grpc_tls_cert: Option<PathBuf>,
    /// PEM file with the key of --grpc-tls-cert.
    #[arg(long, env = "COMPLIANCE_GRPC_TLS_KEY", value_name = "FILE")]
    grpc_tls_key: Option<PathBuf>,
    /// PEM file with the authorities of clients. With it, gRPC clients need a certificate from one of them (mutual TLS).
    #[arg(long, env = "COMPLIANCE_GRPC_CLIENT_CA", value_name = "FILE")]
    grpc_client_ca: Option<PathBuf>,
}

/// What is trusted, and who connects, at `https` addresses of cores.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Certificates")]
#[expect(clippy::struct_field_names, reason = "fields are named as their flags")]
pub(crate) struct CoreTlsArgs {
    /// PEM file with the authorities of cores at https addresses. Without it, those that the system trusts.
    #[arg(long, env = "COMPLIANCE_CORE_CA", value_name = "FILE")]
    core_ca: Option<PathBuf>,
    /// PEM file with the certificate for cores that require one (mutual TLS).
    #[arg(long, env = "COMPLIANCE_CORE_TLS_CERT", value_name = "FILE")]
    core_tls_cert: Option<PathBuf>,
    /// PEM file with the key of --core-tls-cert.
    #[arg(long, env = "COMPLIANCE_CORE_TLS_KEY", value_name = "FILE")]
    core_tls_key: Option<PathBuf>,
}

/// A certificate and its key. Their settings begin with `prefix`.
struct Identity<'a> {
    prefix: &'static str,
    certificate: Option<&'a PathBuf>,
    key: Option<&'a PathBuf>,
}

impl Identity<'_> {
    /// Both files, or `None` if neither is given. One alone is an error: clap's `requires` does not see the values of a
    /// configuration file, and without the other one the port would serve without TLS.
    fn files(&self) -> Result<Option<IdentityFiles>, InvalidSetting> {
        let [certificate, key] = self.settings();
        match (self.certificate, self.key) {
            (Some(certificate), Some(key)) => {
                Ok(Some(IdentityFiles { certificate: certificate.clone(), key: key.clone() }))
            }
            (Some(_), None) => Err(InvalidSetting::missing(key, format!("{certificate} is given"))),
            (None, Some(_)) => Err(InvalidSetting::missing(certificate, format!("{key} is given"))),
            (None, None) => Ok(None),
        }
    }

    /// Names the setting of the file that cannot be used: one of these, or that of the authority.
    fn wrong(&self, error: TlsError, authority: (Option<&PathBuf>, &str)) -> InvalidSetting {
        let is_at = |path: Option<&PathBuf>| path.is_some_and(|path| path == error.path());
        let [certificate, key] = self.settings();
        let setting = if is_at(self.certificate) {
            certificate
        } else if is_at(self.key) {
            key
        } else if is_at(authority.0) {
            named(authority.1)
        } else {
            certificate
        };
        InvalidSetting::of(setting)(error)
    }

    fn settings(&self) -> [String; 2] {
        ["cert", "key"].map(|file| named(&format!("{}-{file}", self.prefix)))
    }
}

impl RestTlsArgs {
    /// The file of the certificate.
    pub(crate) fn certificate(&self) -> Option<&Path> {
        self.rest_tls_cert.as_deref()
    }

    /// Reads the certificate, if one is given.
    pub(crate) fn load(&self) -> Result<Option<ServerTls>, InvalidSetting> {
        let (certificate, key) = (self.rest_tls_cert.as_ref(), self.rest_tls_key.as_ref());
        let identity = Identity { prefix: "rest-tls", certificate, key };
        let loaded = identity.files()?.map(|files| ServerTls::load(files, None, &["h2", "http/1.1"])).transpose();
        loaded.map_err(|error| identity.wrong(error, (None, "")))
    }
}

impl GrpcTlsArgs {
    /// The file of the certificate.
    pub(crate) fn certificate(&self) -> Option<&Path> {
        self.grpc_tls_cert.as_deref()
    }

    /// Reads the certificate and the authorities of clients, if they are given.
    pub(crate) fn load(&self) -> Result<Option<ServerTls>, InvalidSetting> {
        let (certificate, key) = (self.grpc_tls_cert.as_ref(), self.grpc_tls_key.as_ref());
        let identity = Identity { prefix: "grpc-tls", certificate, key };
        let files = identity.files()?;
        let (authority, setting) = (self.grpc_client_ca.as_ref(), "grpc-client-ca");
        if authority.is_some() && files.is_none() {
            let [certificate, _] = identity.settings();
            return Err(InvalidSetting::missing(certificate, format!("{} is given", named(setting))));
        }
        let loaded = files.map(|files| ServerTls::load(files, authority.cloned(), &["h2"])).transpose();
        loaded.map_err(|error| identity.wrong(error, (authority, setting)))
    }
}

impl CoreTlsArgs {
    /// The file of the certificate.
    pub(crate) fn certificate(&self) -> Option<&Path> {
        self.core_tls_cert.as_deref()
    }

    /// Reads what is given. `None` if nothing is.
    pub(crate) fn load(&self) -> Result<Option<ClientTls>, InvalidSetting> {
        let (certificate, key) = (self.core_tls_cert.as_ref(), self.core_tls_key.as_ref());
        let identity = Identity { prefix: "core-tls", certificate, key };
        let files = identity.files()?;
        let is_given = self.core_ca.is_some() || files.is_some();
        let loaded = is_given.then(|| ClientTls::load(self.core_ca.clone(), files)).transpose();
        loaded.map_err(|error| identity.wrong(error, (self.core_ca.as_ref(), "core-ca")))
    }
}
