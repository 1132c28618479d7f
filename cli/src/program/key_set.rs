//! Downloads JSON Web Key Sets over HTTP.

use std::{
    path::{Path, PathBuf},
    pin::Pin,
    time::Duration,
};

use compliance_api::PrivateUrl;
use reqwest::{Certificate, Client};
use url::Url;

use super::failure::describe;

/// Maximum size of a key set, in bytes.
const MAX_JWKS_BYTES: usize = 1 << 20;
/// Timeout for downloading a key set.
const JWKS_TIMEOUT: Duration = Duration::from_secs(10);

/// Downloads a key set. Reads the authorities each time, because the file may change.
pub(super) fn fetch(
    url: PrivateUrl,
    ca: Option<PathBuf>,
) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, String>> + Send>> {
    Box::pin(async move {
        let url = Url::parse(url.reveal()).map_err(|error| error.to_string())?;
        // Reject redirects from TLS to plain HTTP, where anyone on the path could replace the keys.
        let mut client = Client::builder().timeout(JWKS_TIMEOUT).https_only(url.scheme() == "https");
        if let Some(path) = ca {
            client = client.tls_certs_only(authorities(&path)?);
        }
        let response = client.build().map_err(reason)?.get(url).send().await.map_err(reason)?;
        let mut response = response.error_for_status().map_err(reason)?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(reason)? {
            if body.len() + chunk.len() > MAX_JWKS_BYTES {
                return Err(format!("the response exceeds {MAX_JWKS_BYTES} bytes"));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    })
}

/// Returns the error message without the URL, which may contain a password.
fn reason(error: reqwest::Error) -> String {
    describe(&error.without_url().into())
}

/// Reads the certificates from a PEM file.
pub(super) fn authorities(path: &Path) -> Result<Vec<Certificate>, String> {
    let pem = std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let certificates = Certificate::from_pem_bundle(&pem).unwrap_or_default();
    if certificates.is_empty() {
        return Err(format!("{} contains no PEM certificate", path.display()));
    }
    Ok(certificates)
}

#[cfg(test)]
mod tests {
    use compliance_api::{
        PrivateUrl,
        token::{KeyError, KeySource, Verifier},
    };

    /// RFC 3986, 3.2.1: applications should not show the password in a URL.
    #[tokio::test]
    async fn key_set_errors_hide_url_credentials() {
        // Nothing listens on port 1.
        for url in [
            "http://user:hidden@127.0.0.1:1/keys?token=hidden",
            "https://user:hidden@127.0.0.1:port/",
            "user:hidden@keys",
        ] {
            let url = PrivateUrl::from(url.to_owned());
            let source = KeySource { jwks_url: Some((url, super::fetch)), ..KeySource::default() };
            assert!(!format!("{source:?}").contains("hidden"), "{source:?}");
            let error = Verifier::new(source, None).await.unwrap_err();
            assert!(matches!(error, KeyError::Fetch { .. }), "{error:?}");
            assert!(!format!("{error} {error:?}").contains("hidden"), "{error:?}");
        }
    }
}
