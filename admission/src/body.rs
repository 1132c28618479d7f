//! Bodies of responses that take much.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use http_body::{Body, Frame, SizeHint};

use crate::off_thread;

/// A body that holds something until it was sent, such as the memory that it takes.
#[derive(Debug)]
pub struct HoldingBody<B, H> {
    body: B,
    is_long: bool,
    _held: H,
}

impl<B, H> HoldingBody<B, H> {
    /// A body that holds `held`. If `is_long` is set, each step may take long, and is run by [`off_thread`].
    pub fn new(body: B, is_long: bool, held: H) -> Self {
        Self { body, is_long, _held: held }
    }
}

impl<B: Body + Unpin, H: Unpin> Body for HoldingBody<B, H> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let is_long = self.is_long;
        let body = Pin::new(&mut self.body);
        if is_long { off_thread(|| body.poll_frame(context)) } else { body.poll_frame(context) }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
