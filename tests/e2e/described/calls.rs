//! Calls any operation with encoded messages.

use std::{net::SocketAddr, time::Duration};

use futures::{Stream, stream};
use http::uri::PathAndQuery;
use test_support::Bytes;
use tonic::{Request, Status, Streaming, client::Grpc, transport::Channel};

/// The operation with an endless response.
pub(crate) const WATCH: &str = "ChangeService/WatchChanges";

/// An operation's response: its messages and its error, if any.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) messages: Vec<Vec<u8>>,
    pub(crate) error: Option<Status>,
}

/// A connection to the core. Clones share the connection.
#[derive(Clone)]
pub(crate) struct Core(pub(crate) Channel);

impl Core {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self(Channel::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap())
    }

    /// Calls an operation, such as `AffiliateService/GetAffiliate`, with these messages and `authorization` values. On the wire, a unary call is a
    /// stream of one message each way.
    pub(crate) async fn open(
        &self,
        operation: &str,
        authorizations: &[&str],
        messages: impl Stream<Item = Vec<u8>> + Send + 'static,
        timeout: Option<Duration>,
    ) -> Result<Streaming<Vec<u8>>, Status> {
        let mut grpc = Grpc::new(self.0.clone()).max_decoding_message_size(64 << 20);
        let mut request = Request::new(messages);
        for value in authorizations {
            request.metadata_mut().append("authorization", value.parse().unwrap());
        }
        if let Some(timeout) = timeout {
            request.set_timeout(timeout);
        }
        let path = PathAndQuery::try_from(format!("/compliance.v1.{operation}")).unwrap();
        grpc.ready().await.unwrap();
        Ok(grpc.streaming(request, path, Bytes).await?.into_inner())
    }

    /// Calls an operation with one message and reads its response.
    pub(crate) async fn call(&self, operation: &str, authorizations: &[&str], message: Vec<u8>) -> Answer {
        let timeout = (operation == WATCH).then_some(Duration::from_secs(2));
        let (mut messages, mut error) = (Vec::new(), None);
        let mut received = match self.open(operation, authorizations, stream::iter([message]), timeout).await {
            Ok(received) => received,
            Err(status) => return Answer { messages, error: Some(status) },
        };
        loop {
            match received.message().await {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(status) => {
                    error = Some(status);
                    break;
                }
            }
        }
        Answer { messages, error }
    }
}
