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
    background::{Task, supervise},
    metrics::{count, describe, on_render},
};
use tls::{ClientTls, IdentityFiles, Reloaded, ServerTls, TlsError};
use tokio_util::task::AbortOnDropHandle;

use crate::program::failure::InvalidSetting;

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
        Some(AbortOnDropHandle::new(tokio::spawn(supervise("certificate refresh", refresh))))
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

/// A certificate and its key, with the names of their settings.
struct Identity<'a> {
    certificate: (Option<&'a PathBuf>, &'static str),
    key: (Option<&'a PathBuf>, &'static str),
}

impl Identity<'_> {
    /// Both files, or `None` if neither is given. One alone is an error: clap's `requires` does not see the values of a
    /// configuration file, and without the other one the port would serve without TLS.
    fn files(&self) -> Result<Option<IdentityFiles>, InvalidSetting> {
        let ((certificate, certificate_name), (key, key_name)) = (self.certificate, self.key);
        match (certificate, key) {
            (Some(certificate), Some(key)) => {
                Ok(Some(IdentityFiles { certificate: certificate.clone(), key: key.clone() }))
            }
            (Some(_), None) => Err(InvalidSetting::missing(key_name, format!("{certificate_name} is given"))),
            (None, Some(_)) => Err(InvalidSetting::missing(certificate_name, format!("{key_name} is given"))),
            (None, None) => Ok(None),
        }
    }

    /// Names the setting of the file that cannot be used.
    fn wrong(&self, error: TlsError, authority: Option<(&Path, &'static str)>) -> InvalidSetting {
        let key = self.key.0.map(|path| (path.as_path(), self.key.1));
        let certificate = self.certificate.0.map(|path| (path.as_path(), self.certificate.1));
        let all = [certificate, key, authority].into_iter().flatten();
        let name = all.filter(|(path, _)| *path == error.path()).map(|(_, name)| name).next();
        InvalidSetting::of(name.unwrap_or(self.certificate.1))(error)
    }
}

impl RestTlsArgs {
    /// The file of the certificate.
    pub(crate) fn certificate(&self) -> Option<&Path> {
        self.rest_tls_cert.as_deref()
    }

    /// Reads the certificate, if one is given.
    pub(crate) fn load(&self) -> Result<Option<ServerTls>, InvalidSetting> {
        let identity = Identity {
            certificate: (self.rest_tls_cert.as_ref(), "--rest-tls-cert (COMPLIANCE_REST_TLS_CERT)"),
            key: (self.rest_tls_key.as_ref(), "--rest-tls-key (COMPLIANCE_REST_TLS_KEY)"),
        };
        let loaded = identity.files()?.map(|files| ServerTls::load(files, None, &["h2", "http/1.1"])).transpose();
        loaded.map_err(|error| identity.wrong(error, None))
    }
}

impl GrpcTlsArgs {
    /// The file of the certificate.
    pub(crate) fn certificate(&self) -> Option<&Path> {
        self.grpc_tls_cert.as_deref()
    }

    /// Reads the certificate and the authorities of clients, if they are given.
    pub(crate) fn load(&self) -> Result<Option<ServerTls>, InvalidSetting> {
        let identity = Identity {
            certificate: (self.grpc_tls_cert.as_ref(), "--grpc-tls-cert (COMPLIANCE_GRPC_TLS_CERT)"),
            key: (self.grpc_tls_key.as_ref(), "--grpc-tls-key (COMPLIANCE_GRPC_TLS_KEY)"),
        };
        let authority = "--grpc-client-ca (COMPLIANCE_GRPC_CLIENT_CA)";
        let files = identity.files()?;
        if self.grpc_client_ca.is_some() && files.is_none() {
            return Err(InvalidSetting::missing(identity.certificate.1, format!("{authority} is given")));
        }
        let loaded = files.map(|files| ServerTls::load(files, self.grpc_client_ca.clone(), &["h2"])).transpose();
        loaded.map_err(|error| identity.wrong(error, self.grpc_client_ca.as_deref().map(|path| (path, authority))))
    }
}

impl CoreTlsArgs {
    /// The file of the certificate.
    pub(crate) fn certificate(&self) -> Option<&Path> {
        self.core_tls_cert.as_deref()
    }

    /// Reads what is given. `None` if nothing is.
    pub(crate) fn load(&self) -> Result<Option<ClientTls>, InvalidSetting> {
        let identity = Identity {
            certificate: (self.core_tls_cert.as_ref(), "--core-tls-cert (COMPLIANCE_CORE_TLS_CERT)"),
            key: (self.core_tls_key.as_ref(), "--core-tls-key (COMPLIANCE_CORE_TLS_KEY)"),
        };
        let files = identity.files()?;
        let is_given = self.core_ca.is_some() || files.is_some();
        let loaded = is_given.then(|| ClientTls::load(self.core_ca.clone(), files)).transpose();
        let authority = self.core_ca.as_deref().map(|path| (path, "--core-ca (COMPLIANCE_CORE_CA)"));
        loaded.map_err(|error| identity.wrong(error, authority))
    }
}
