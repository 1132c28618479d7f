//! The port of a program that is not ready.

use std::{convert::Infallible, error::Error, time::Duration};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::either::Either;
use tower::{Service, ServiceExt as _};

use crate::{
    accept::{ACCEPT_PAUSE, Listener},
    connection_limits::ConnectionLimits,
};

/// Maximum number of open connections.
const MAX_CONNECTIONS: usize = 256;
/// How long a connection stays open.
const CONNECTION_TIME: Duration = Duration::from_secs(5);

/// Responds to all requests with `service` until the future is dropped.
///
/// That closes the connections. The port stays open if another listener has it.
pub async fn serve_unready<S, B>(listener: Listener, service: S) -> Infallible
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible, Future: Send> + Clone + Send + 'static,
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    let limits = ConnectionLimits { header_timeout: CONNECTION_TIME, ..ConnectionLimits::default() };
    let builder = limits.builder(true);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = connections.join_next() => {}
            accepted = listener.tcp.accept(), if connections.len() < MAX_CONNECTIONS => {
                let Ok((stream, _)) = accepted else {
                    sleep(ACCEPT_PAUSE).await;
                    continue;
                };
                let (builder, tls, service) = (builder.clone(), listener.tls.clone(), service.clone());
                connections.spawn(timeout(CONNECTION_TIME, async move {
                    let stream = match tls {
                        Some(tls) => Either::Left(tls.accept(stream).await?),
                        None => Either::Right(stream),
                    };
                    let respond = service_fn(move |request| service.clone().oneshot(request));
                    builder.serve_connection(TokioIo::new(stream), respond).await
                }));
            }
        }
    }
}
