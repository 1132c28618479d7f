//! The endpoint of the service, with or without TLS.

use tonic::{codegen::http::Uri, transport::Endpoint};

use crate::Error;

/// PEM texts for an `https` endpoint.
#[derive(Default)]
pub(crate) struct TlsSettings {
    /// The trusted authorities; by default, the system's authorities.
    pub(crate) authorities: Option<Vec<u8>>,
    /// The client certificate and its key.
    pub(crate) identity: Option<(Vec<u8>, Vec<u8>)>,
}

/// The keys are secret.
impl std::fmt::Debug for TlsSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsSettings").finish_non_exhaustive()
    }
}

fn settings(message: String) -> Error {
    Error::Settings(message)
}

/// Makes the endpoint of an address. Errors that would fail every call fail here.
pub(crate) fn endpoint(address: &str, tls: TlsSettings) -> Result<Endpoint, Error> {
    let uri: Uri =
        address.parse().map_err(|error| settings(format!("the endpoint {address:?} is not a URL: {error}")))?;
    match uri.scheme_str() {
        Some("http") if tls.authorities.is_some() || tls.identity.is_some() => {
            Err(settings(format!("certificates need an https endpoint, and {address:?} is not one")))
        }
        Some("http") => Ok(Endpoint::from(uri)),
        Some("https") => secure(Endpoint::from(uri), tls)
            .map_err(|error| settings(format!("TLS of the endpoint {address:?}: {error}"))),
        _ => Err(settings(format!("the endpoint {address:?} does not begin with http:// or https://"))),
    }
}

#[cfg(feature = "tls")]
fn secure(endpoint: Endpoint, tls: TlsSettings) -> Result<Endpoint, String> {
    use tonic::transport::{Certificate, ClientTlsConfig, Identity};

    // A text without a certificate would parse as an empty list.
    let certificates = |pem: &[u8], what| {
        let marker = b"-----BEGIN CERTIFICATE-----";
        pem.windows(marker.len())
            .any(|text| text == marker)
            .then_some(())
            .ok_or(format!("{what} has no PEM certificate"))
    };
    let mut config = ClientTlsConfig::new();
    config = match tls.authorities {
        Some(pem) => {
            certificates(&pem, "the CA certificate")?;
            config.ca_certificate(Certificate::from_pem(pem))
        }
        None => config.with_native_roots(),
    };
    if let Some((certificate, key)) = tls.identity {
        certificates(&certificate, "the client certificate")?;
        config = config.identity(Identity::from_pem(certificate, key));
    }
    endpoint.tls_config(config).map_err(|error| crate::status::chain(&error))
}

#[cfg(not(feature = "tls"))]
fn secure(_: Endpoint, _: TlsSettings) -> Result<Endpoint, String> {
    Err("compliance-client is built without TLS; add its feature `tls`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Error, TlsSettings, endpoint};

    fn refused(address: &str, tls: TlsSettings) -> String {
        match endpoint(address, tls) {
            Err(Error::Settings(message)) => message,
            other => panic!("{address}: {other:?}"),
        }
    }

    #[test]
    fn endpoints_are_urls_of_http_or_https() {
        assert!(endpoint("http://127.0.0.1:50051", TlsSettings::default()).is_ok());
        for address in ["localhost:50051", "ftp://localhost", "/run/core.sock"] {
            let message = refused(address, TlsSettings::default());
            assert!(message.ends_with("does not begin with http:// or https://"), "{message}");
        }
        assert!(refused("no url", TlsSettings::default()).contains("is not a URL"));
    }

    #[test]
    fn certificates_are_checked_before_the_first_call() {
        let authorities = |pem: &str| TlsSettings { authorities: Some(pem.into()), ..TlsSettings::default() };
        let message = refused("http://localhost:1", authorities("x"));
        assert!(message.starts_with("certificates need an https endpoint"), "{message}");
        let message = refused("https://localhost:1", authorities("x"));
        assert!(message.ends_with("the CA certificate has no PEM certificate"), "{message}");
        let key = rcgen::KeyPair::generate().unwrap();
        let own = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap().self_signed(&key).unwrap().pem();
        let with_key = |key: &str| TlsSettings {
            authorities: Some(own.clone().into()),
            identity: Some((own.clone().into(), key.into())),
        };
        assert!(endpoint("https://localhost:1", with_key(&key.serialize_pem())).is_ok());
        let other = rcgen::KeyPair::generate().unwrap().serialize_pem();
        for wrong in ["x", other.as_str()] {
            let message = refused("https://localhost:1", with_key(wrong));
            assert!(message.starts_with("TLS of the endpoint \"https://localhost:1\": "), "{message}");
        }
    }
}
