//! A request that can be sent more than once.

use std::time::Duration;

use bytes::Bytes;
use compliance_api::deadline::timeout_header;
use futures::{FutureExt as _, StreamExt as _, stream};
use http::request::Parts;
use http_body::Frame;
use http_body_util::{BodyExt as _, BodyStream, Full, StreamBody};
use tonic::{Status, body::Body};

/// A request that can be sent more than once if its body is one message.
pub(super) struct Replay {
    parts: Parts,
    message: Message,
}

/// The body of a request.
enum Message {
    /// One message, which can be sent again.
    Whole(Bytes),
    /// A stream of messages, which can be sent once.
    Stream(Option<Body>),
}

impl Replay {
    /// Takes a request without waiting for anything: a single message is encoded when it is asked for.
    pub(super) fn new(request: http::Request<Body>) -> Result<Self, Status> {
        let (parts, mut body) = request.into_parts();
        let mut pieces = Vec::new();
        while let Some(frame) = body.frame().now_or_never() {
            match frame.transpose()? {
                // A single message is one piece.
                Some(frame) if pieces.is_empty() => pieces.push(frame),
                Some(frame) => {
                    pieces.push(frame);
                    break;
                }
                None => {
                    let message = pieces.pop().and_then(|piece| piece.into_data().ok());
                    return Ok(Self { parts, message: Message::Whole(message.unwrap_or_default()) });
                }
            }
        }
        let pieces: Vec<Result<Frame<Bytes>, Status>> = pieces.into_iter().map(Ok).collect();
        let whole = StreamBody::new(stream::iter(pieces).chain(BodyStream::new(body)));
        Ok(Self { parts, message: Message::Stream(Some(Body::new(whole))) })
    }

    /// The path of the request.
    pub(super) fn path(&self) -> &str {
        self.parts.uri.path()
    }

    /// The request, for a core that has `timeout` for it. `None` if it was sent and cannot be sent again.
    pub(super) fn request(&mut self, timeout: Option<Duration>) -> Option<http::Request<Body>> {
        if let Some(timeout) = timeout {
            self.parts.headers.insert("grpc-timeout", timeout_header(timeout));
        }
        let body = match &mut self.message {
            Message::Whole(message) => Body::new(Full::new(message.clone())),
            Message::Stream(body) => body.take()?,
        };
        Some(http::Request::from_parts(self.parts.clone(), body))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures::{StreamExt as _, stream};
    use http_body::Frame;
    use http_body_util::{BodyExt as _, Full, StreamBody};
    use tonic::{Status, body::Body};

    use super::Replay;

    async fn sent(replay: &mut Replay) -> Option<Bytes> {
        Some(replay.request(None)?.into_body().collect().await.unwrap().to_bytes())
    }

    #[tokio::test]
    async fn a_single_message_can_be_sent_again() {
        for message in ["", "a message"] {
            let request = http::Request::new(Body::new(Full::new(Bytes::from(message))));
            let mut replay = Replay::new(request).unwrap();
            for _ in 0..2 {
                assert_eq!(sent(&mut replay).await.unwrap(), message);
            }
        }
    }

    #[tokio::test]
    async fn a_stream_is_sent_whole_and_once() {
        let frame = |text: &'static str| Ok::<_, Status>(Frame::data(Bytes::from(text)));
        for ready in 0..4 {
            let (first, later) = (["a", "b", "c"].into_iter().take(ready), ["a", "b", "c"].into_iter().skip(ready));
            let later = stream::iter(later.map(frame)).then(async |frame| {
                tokio::task::yield_now().await;
                frame
            });
            let body = StreamBody::new(stream::iter(first.map(frame)).chain(Box::pin(later)));
            let mut replay = Replay::new(http::Request::new(Body::new(body))).unwrap();
            assert_eq!(sent(&mut replay).await.unwrap(), "abc", "{ready}");
            assert_eq!(sent(&mut replay).await, None);
        }
    }
}
