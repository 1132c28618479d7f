//! Response bodies. A request is in flight until its response is sent.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use http_body::{Body, Frame, SizeHint};

use crate::activity::InFlight;

/// A body that keeps its request in flight.
pub(crate) struct Tracked<B: Body> {
    body: B,
    /// The inner body was polled for the next frame and is not ready.
    is_polled: bool,
    in_flight: InFlight,
}

impl<B: Body> Tracked<B> {
    pub(crate) fn new(body: B, in_flight: InFlight) -> Self {
        Self { body, is_polled: false, in_flight }
    }
}

impl<B: Body + Unpin> Body for Tracked<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        // Without this wait, hyper would buffer more for a peer that does not read.
        if !self.is_polled {
            ready!(self.in_flight.poll_read(context));
        }
        let frame = Pin::new(&mut self.body).poll_frame(context);
        self.is_polled = frame.is_pending();
        // Nothing follows trailers or an error. The peer has not caused the error.
        let is_end = match &frame {
            Poll::Ready(Some(Ok(frame))) => frame.is_trailers(),
            Poll::Ready(_) => true,
            Poll::Pending => false,
        };
        if is_end {
            self.in_flight.finish();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B: Body> Drop for Tracked<B> {
    fn drop(&mut self) {
        // The end of a body may be known without another frame.
        if self.body.is_end_stream() {
            self.in_flight.finish();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::Pin,
        task::{Context, Poll},
    };

    use bytes::Bytes;
    use futures::task::noop_waker_ref;
    use http::HeaderMap;
    use http_body::{Body as _, Frame};
    use http_body_util::StreamBody;

    use super::Tracked;
    use crate::{
        ConnectionLimits,
        activity::{Activity, State},
        connection_limits::MAX_CANCELLED,
    };

    /// A server asks for no frame after trailers, and drops the body.
    #[test]
    fn a_response_that_ends_with_trailers_was_not_cancelled() {
        let activity = Activity::new(&ConnectionLimits::default(), None);
        for _ in 0..=MAX_CANCELLED {
            let trailers = futures::stream::iter([Ok::<_, std::io::Error>(Frame::<Bytes>::trailers(HeaderMap::new()))]);
            let mut body = Tracked::new(StreamBody::new(trailers), activity.start(true));
            let frame = Pin::new(&mut body).poll_frame(&mut Context::from_waker(noop_waker_ref()));
            assert!(matches!(frame, Poll::Ready(Some(Ok(_)))));
        }
        assert!(matches!(activity.check(), State::Active(_)));
    }

    #[test]
    fn a_peer_that_does_not_read_is_sent_no_more_over_http_1() {
        for (is_http2, is_held) in [(false, true), (true, false)] {
            let activity = Activity::new(&ConnectionLimits::default(), None);
            let frames =
                futures::stream::repeat_with(|| Ok::<_, std::io::Error>(Frame::data(Bytes::from_static(b"a"))));
            let mut body = Tracked::new(StreamBody::new(frames), activity.start(is_http2));
            let mut has_next = || {
                let frame = Pin::new(&mut body).poll_frame(&mut Context::from_waker(noop_waker_ref()));
                matches!(frame, Poll::Ready(Some(Ok(_))))
            };
            assert!(has_next());
            activity.written(false);
            assert_eq!(has_next(), !is_held);
            activity.written(true);
            assert!(has_next());
        }
    }
}
