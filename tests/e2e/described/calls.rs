//! Calls any operation with encoded messages.

use std::{net::SocketAddr, time::Duration};

use futures::stream;
use http::uri::PathAndQuery;
use test_support::Bytes;
use tonic::{Request, Status, client::Grpc, transport::Channel};

use crate::isolation::WATCH;

/// An operation's response: its messages and its error, if any.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) messages: Vec<Vec<u8>>,
    pub(super) error: Option<Status>,
}

/// A connection to the core. Clones share the connection.
#[derive(Clone)]
pub(super) struct Core(Channel);

impl Core {
    pub(super) async fn connect(address: SocketAddr) -> Self {
        Self(Channel::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap())
    }

    /// Calls an operation, such as `AffiliateService/GetAffiliate`, with one message and these `authorization` values. On the wire, a unary call is a
    /// stream of one message each way.
    pub(super) async fn call(&self, operation: &str, authorizations: &[&str], message: Vec<u8>) -> Answer {
        let mut grpc = Grpc::new(self.0.clone()).max_decoding_message_size(64 << 20);
        let mut request = Request::new(stream::iter([message]));
        for value in authorizations {
            request.metadata_mut().append("authorization", value.parse().unwrap());
        }
        if operation == WATCH {
            request.set_timeout(Duration::from_secs(2));
        }
        let path = PathAndQuery::try_from(format!("/compliance.v1.{operation}")).unwrap();
        grpc.ready().await.unwrap();
        let (mut messages, mut error) = (Vec::new(), None);
        let mut received = match grpc.streaming(request, path, Bytes).await {
            Ok(response) => response.into_inner(),
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
