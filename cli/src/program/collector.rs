//! Connections to a trace collector.

use std::{io, path::PathBuf, time::Duration};

use http::Uri;
use hyper_util::rt::TokioIo;
use tls::{ClientTls, TlsError};
use tokio::{net::TcpStream, time::timeout};
use tokio_util::either::Either;
use tonic::transport::{Channel, Endpoint};
use tower::service_fn;

/// How long a connection to the collector may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns a channel to the collector at an `http` or `https` address. It connects with the first trace. The authorities of an `https`
/// address are in the file `ca`; the default are the system's authorities.
pub(super) fn connect(address: Uri, ca: Option<PathBuf>) -> Result<Channel, TlsError> {
    let is_secure = address.scheme_str() == Some("https");
    let tls = is_secure.then(|| ClientTls::load(ca, None)).transpose()?;
    let host = address.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let port = address.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
    let connect = service_fn(move |_| {
        let (host, tls) = (host.clone(), tls.clone());
        async move {
            timeout(CONNECT_TIMEOUT, async {
                let stream = TcpStream::connect((host.as_str(), port)).await?;
                let Some(tls) = tls else { return Ok::<_, io::Error>(TokioIo::new(Either::Left(stream))) };
                // The file may have changed. If it cannot be read, the previous authorities stay in use.
                let _ = tls.reload();
                Ok(TokioIo::new(Either::Right(Box::new(tls.connect(&host, stream).await?))))
            })
            .await?
        }
    });
    // With an `https` URI, the endpoint would add its own TLS.
    Ok(Endpoint::from_static("http://collector").origin(address).connect_with_connector_lazy(connect))
}
