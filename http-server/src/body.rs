//! The body of a response: its request is in flight until it is sent.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use http_body::{Body, Frame, SizeHint};

use crate::activity::InFlight;

/// A body that keeps its request in flight.
pub(crate) struct Tracked<B: Body> {
    body: B,
    in_flight: InFlight,
}

impl<B: Body> Tracked<B> {
    pub(crate) fn new(body: B, in_flight: InFlight) -> Self {
        Self { body, in_flight }
    }
}

impl<B: Body + Unpin> Body for Tracked<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        // An error is the end, too, and not one that the peer has caused.
        if matches!(frame, Poll::Ready(None | Some(Err(_)))) {
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
        // The end of a body may be known without asking for one more frame.
        if self.body.is_end_stream() {
            self.in_flight.finish();
        }
    }
}
