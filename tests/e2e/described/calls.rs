//! Calls of any operation, with messages as bytes.

use std::net::SocketAddr;

use bytes::{Buf as _, BufMut as _};
use futures::stream;
use http::uri::PathAndQuery;
use tonic::{
    Request, Status,
    client::Grpc,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
    metadata::MetadataMap,
    transport::Channel,
};

/// Sends and receives messages as they are.
#[derive(Clone, Copy, Default)]
struct Bytes;

impl Codec for Bytes {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Bytes {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, message: Vec<u8>, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put_slice(&message);
        Ok(())
    }
}

impl Decoder for Bytes {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining()).to_vec()))
    }
}

/// What an operation returned: its messages, and the error that ended them, if any.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) headers: MetadataMap,
    pub(super) messages: Vec<Vec<u8>>,
    pub(super) error: Option<Status>,
}

/// A connection to the core. Clones share it.
#[derive(Clone)]
pub(super) struct Core(Channel);

impl Core {
    pub(super) async fn connect(address: SocketAddr) -> Self {
        Self(Channel::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap())
    }

    /// Calls an operation, such as `AffiliateService/GetAffiliate`, with one message and these values of `authorization`.
    /// On the wire, an operation without streams is a stream of one message each way.
    pub(super) async fn call(&self, operation: &str, authorizations: &[&str], message: Vec<u8>) -> Answer {
        let mut grpc = Grpc::new(self.0.clone()).max_decoding_message_size(64 << 20);
        let mut request = Request::new(stream::iter([message]));
        for value in authorizations {
            request.metadata_mut().append("authorization", value.parse().unwrap());
        }
        let path = PathAndQuery::try_from(format!("/compliance.v1.{operation}")).unwrap();
        grpc.ready().await.unwrap();
        let (mut messages, mut error) = (Vec::new(), None);
        let (headers, mut received) = match grpc.streaming(request, path, Bytes).await {
            Ok(response) => {
                let (headers, received, _) = response.into_parts();
                (headers, received)
            }
            Err(status) => return Answer { headers: MetadataMap::new(), messages, error: Some(status) },
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
        Answer { headers, messages, error }
    }
}
