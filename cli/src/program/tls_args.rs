//! Certificates for both ports and for connections to cores.

use std::{path::PathBuf, sync::Arc, time::Duration};

use clap::Args;
use compliance_api::PrivateUrl;
use flags::duration;
use metrics::{describe_gauge, gauge};
use telemetry::{
    background::{self, Task},
    metrics::{count, describe, on_render},
};
use tls::{ClientTls, IdentityFiles, Reloaded, ServerTls, TlsError};
use tokio_util::task::AbortOnDropHandle;

use super::failure::{InvalidSetting, named};

/// How often to reload certificates.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Certificates")]
pub(crate) struct TlsRefreshArgs {
    /// Interval between reloads of certificate files.
    #[arg(long, env = "COMPLIANCE_TLS_REFRESH", default_value = "1m", value_name = "TIME",
          value_parser = duration(Duration::from_secs(1)..=Duration::from_hours(24)))]
    tls_refresh: Duration,
}

impl TlsRefreshArgs {
    /// Starts a task that reloads port and client certificates until the handle is dropped. If a reload fails, the previous certificate stays in use.
    pub(crate) fn keep<'a>(
        &self,
        servers: impl IntoIterator<Item = (&'static str, &'a Option<ServerTls>)>,
        client: Option<&ClientTls>,
    ) -> Option<AbortOnDropHandle<()>> {
        let mut certificates: Vec<(&'static str, Reload)> = Vec::new();
        for (port, tls) in servers {
            certificates.extend(tls.clone().map(|tls| (port, reload(port, tls))));
        }
        certificates.extend(client.cloned().map(|tls| (CLIENT, reload(CLIENT, tls))));
        let ports: Vec<&'static str> = certificates.iter().map(|(port, _)| *port).collect();
        describe(FAILURES, "Failed certificate reloads, by port.", "port", &ports);
        if certificates.is_empty() {
            return None;
        }
        let interval = self.tls_refresh;
        let refresh = move |task: Arc<Task>| {
            let certificates = certificates.clone();
            async move {
                loop {
                    tokio::time::sleep(interval).await;
                    let mut failure = None;
                    // The files are small, so reading them blocks the thread only briefly.
                    for (port, reload) in &certificates {
                        match reload() {
                            Ok(true) => tracing::info!(port, "reloaded certificates"),
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
                            "cannot load the {port} certificates; the previous certificates stay in use: {error}"
                        )),
                    }
                }
            }
        };
        Some(AbortOnDropHandle::new(background::spawn("certificate refresh", refresh)))
    }
}

/// Value of the `port` label for the client certificate.
const CLIENT: &str = "client";
const FAILURES: &str = "compliance_certificate_refresh_failures_total";

/// Reloads a certificate. Returns whether it changed.
type Reload = Arc<dyn Fn() -> Result<bool, TlsError> + Send + Sync>;

/// Returns a function that reloads a certificate, and exports its expiry as a metric.
fn reload<C: Send + Sync + 'static>(port: &'static str, tls: Reloaded<C>) -> Reload {
    if tls.expires().is_some() {
        let name = "compliance_certificate_expiry_timestamp_seconds";
        describe_gauge!(name, "Unix time at which the current certificate expires.");
        let tls = tls.clone();
        on_render(gauge!(name, "port" => port), move || tls.expires().map(|expires| expires as f64));
    }
    Arc::new(move || tls.reload())
}

/// REST certificate.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Certificates")]
pub(crate) struct RestTlsArgs {
    /// PEM file with the REST certificate and its intermediate certificates. Without a certificate, REST does not use TLS.
    #[arg(long, env = "COMPLIANCE_REST_TLS_CERT", value_name = "FILE", requires = "rest_tls_key")]
    rest_tls_cert: Option<PathBuf>,
    /// PEM file with the private key of --rest-tls-cert.
    #[arg(long, env = "COMPLIANCE_REST_TLS_KEY", value_name = "FILE", requires = "rest_tls_cert")]
    rest_tls_key: Option<PathBuf>,
}

/// gRPC certificate, and the authorities of gRPC clients.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Certificates")]
#[expect(clippy::struct_field_names, reason = "the fields have the names of their flags")]
pub(crate) struct GrpcTlsArgs {
    /// PEM file with the gRPC certificate and its intermediate certificates. Without a certificate, gRPC does not use TLS.
    #[arg(long, env = "COMPLIANCE_GRPC_TLS_CERT", value_name = "FILE", requires = "grpc_tls_key")]
    grpc_tls_cert: Option<PathBuf>,
    /// PEM file with the private key of --grpc-tls-cert.
    #[arg(long, env = "COMPLIANCE_GRPC_TLS_KEY", value_name = "FILE", requires = "grpc_tls_cert")]
    grpc_tls_key: Option<PathBuf>,
    /// PEM file with client authorities. If set, gRPC clients need a certificate from one of these authorities (mutual TLS).
    #[arg(long, env = "COMPLIANCE_GRPC_CLIENT_CA", value_name = "FILE", requires = "grpc_tls_cert")]
    grpc_client_ca: Option<PathBuf>,
}

/// Certificates for connections to `https` addresses of cores.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Certificates")]
#[expect(clippy::struct_field_names, reason = "the fields have the names of their flags")]
pub(crate) struct CoreTlsArgs {
    /// PEM file with the authorities for cores at https addresses [default: the system's authorities].
    #[arg(long, env = "COMPLIANCE_CORE_CA", value_name = "FILE")]
    core_ca: Option<PathBuf>,
    /// PEM file with the client certificate for cores that require one (mutual TLS).
    #[arg(long, env = "COMPLIANCE_CORE_TLS_CERT", value_name = "FILE", requires = "core_tls_key")]
    core_tls_cert: Option<PathBuf>,
    /// PEM file with the private key of --core-tls-cert.
    #[arg(long, env = "COMPLIANCE_CORE_TLS_KEY", value_name = "FILE", requires = "core_tls_cert")]
    core_tls_key: Option<PathBuf>,
}

/// A setting and its file, if given.
type FileSetting<'a> = (&'static str, Option<&'a PathBuf>);

/// Loads a certificate with its key, and the peer's authorities. Errors name the setting of the invalid file.
fn load<T>(
    [certificate, key]: [FileSetting<'_>; 2],
    authority: Option<FileSetting<'_>>,
    load: impl FnOnce(Option<IdentityFiles>) -> Result<Option<T>, TlsError>,
) -> Result<Option<T>, InvalidSetting> {
    // clap requires both files or neither.
    let identity = certificate.1.zip(key.1);
    let identity =
        identity.map(|(certificate, key)| IdentityFiles { certificate: certificate.clone(), key: key.clone() });
    load(identity).map_err(|error| {
        // One file can have two settings. The authorities are read first.
        let mut settings = authority.into_iter().chain([certificate, key]);
        let wrong = settings.find(|(_, file)| file.is_some_and(|file| file == error.path()));
        InvalidSetting::of(named(wrong.unwrap_or(certificate).0))(error)
    })
}

impl RestTlsArgs {
    /// Loads the certificate, if given.
    pub(crate) fn load(&self) -> Result<Option<ServerTls>, InvalidSetting> {
        let identity = [("rest-tls-cert", self.rest_tls_cert.as_ref()), ("rest-tls-key", self.rest_tls_key.as_ref())];
        load(identity, None, |files| files.map(|files| ServerTls::load(files, None, &["h2", "http/1.1"])).transpose())
    }
}

impl GrpcTlsArgs {
    /// Loads the certificate and the client authorities, if given.
    pub(crate) fn load(&self) -> Result<Option<ServerTls>, InvalidSetting> {
        let identity = [("grpc-tls-cert", self.grpc_tls_cert.as_ref()), ("grpc-tls-key", self.grpc_tls_key.as_ref())];
        let authority = ("grpc-client-ca", self.grpc_client_ca.as_ref());
        let authorities = self.grpc_client_ca.clone();
        load(identity, Some(authority), |files| {
            files.map(|files| ServerTls::load(files, authorities, &["h2"])).transpose()
        })
    }
}

impl CoreTlsArgs {
    /// Loads the given files, or returns `None` if none are given.
    pub(crate) fn load(&self) -> Result<Option<ClientTls>, InvalidSetting> {
        let identity = [("core-tls-cert", self.core_tls_cert.as_ref()), ("core-tls-key", self.core_tls_key.as_ref())];
        load(identity, Some(("core-ca", self.core_ca.as_ref())), |files| {
            let is_given = self.core_ca.is_some() || files.is_some();
            is_given.then(|| ClientTls::load(self.core_ca.clone(), files)).transpose()
        })
    }

    /// Like [`Self::load`], for cores at these addresses. Fails if files are given, but no address uses them.
    pub(crate) fn load_for<'a>(
        &self,
        cores: impl IntoIterator<Item = &'a PrivateUrl>,
    ) -> Result<Option<ClientTls>, InvalidSetting> {
        let is_https = |core: &PrivateUrl| core.reveal().split(',').any(|url| url.trim().starts_with("https://"));
        let mut cores = cores.into_iter().peekable();
        if cores.peek().is_none() || cores.any(is_https) {
            return self.load();
        }
        let given =
            [("core-ca", &self.core_ca), ("core-tls-cert", &self.core_tls_cert), ("core-tls-key", &self.core_tls_key)];
        match given.into_iter().find(|(_, file)| file.is_some()) {
            None => Ok(None),
            Some((setting, _)) => {
                let text = format!("it has no effect, because no {} begins with https://", named("core-url"));
                Err(InvalidSetting::of(named(setting))(text))
            }
        }
    }

    /// Loads the given files, or the system's authorities by default.
    pub(crate) fn load_or_system(&self) -> anyhow::Result<ClientTls> {
        self.load()?.map_or_else(|| Ok(ClientTls::load(None, None)?), Ok)
    }
}
