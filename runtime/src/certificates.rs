//! Certificates that are read again while they are used.

use tls::{ClientTls, ServerTls, TlsError};
use tokio_util::task::AbortOnDropHandle;

use crate::settings::TlsRefreshArgs;

/// Reads certificates again and again until it is dropped.
#[derive(Debug)]
pub struct Certificates {
    _refresh: Option<AbortOnDropHandle<()>>,
}

/// Reads something again: whether it has changed, or why it cannot be used.
type Reload = Box<dyn Fn() -> Result<bool, TlsError> + Send>;

impl Certificates {
    /// Keeps these certificates up to date. Those that cannot be read or used stay as they were, and are reported.
    pub fn keep<'a>(
        args: &TlsRefreshArgs,
        servers: impl IntoIterator<Item = &'a Option<ServerTls>>,
        client: Option<&ClientTls>,
    ) -> Self {
        let mut all: Vec<Reload> = Vec::new();
        for server in servers.into_iter().flatten() {
            let server = server.clone();
            all.push(Box::new(move || server.reload()));
        }
        if let Some(client) = client.cloned() {
            all.push(Box::new(move || client.reload()));
        }
        if all.is_empty() {
            return Self { _refresh: None };
        }
        let interval = args.tls_refresh;
        let refresh = tokio::spawn(async move {
            loop {
                tokio::time::sleep(interval).await;
                for reload in &all {
                    // Small files, so the thread is not kept for long.
                    match reload() {
                        Ok(true) => tracing::info!("certificates were replaced"),
                        Ok(false) => {}
                        Err(error) => {
                            tracing::warn!(%error, "certificates cannot be replaced; the previous ones stay in use");
                        }
                    }
                }
            }
        });
        Self { _refresh: Some(AbortOnDropHandle::new(refresh)) }
    }
}
