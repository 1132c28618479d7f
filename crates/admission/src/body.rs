//! Bodies that hold resources until they are sent.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use http_body::{Body, Frame, SizeHint};

use crate::off_thread::off_thread;

/// A body that holds resources, such as memory, until it is sent.
#[derive(Debug)]
pub struct GuardedBody<B, H> {
    body: B,
    is_long: bool,
    _guard: H,
}

impl<B, H> GuardedBody<B, H> {
    /// Creates a body that holds `guard`. If `is_long` is set, [`off_thread`] runs each poll.
    pub fn new(body: B, is_long: bool, guard: H) -> Self {
        Self { body, is_long, _guard: guard }
    }
}

impl<B: Body + Unpin, H: Unpin> Body for GuardedBody<B, H> {
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

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, pin::Pin, sync::Arc};

    use http_body::Body as _;

    use super::GuardedBody;

    #[tokio::test]
    async fn bodies_hold_their_guard_until_dropped() {
        for is_long in [false, true] {
            let guard = Arc::new(());
            let mut body = GuardedBody::new("text".to_owned(), is_long, Arc::clone(&guard));
            assert_eq!((body.is_end_stream(), body.size_hint().exact()), (false, Some(4)));
            let frame = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await.unwrap().unwrap();
            assert_eq!(frame.into_data().unwrap(), "text");
            assert_eq!((body.is_end_stream(), body.size_hint().exact()), (true, Some(0)));
            assert_eq!(Arc::strong_count(&guard), 2);
            drop(body);
            assert_eq!(Arc::strong_count(&guard), 1);
        }
    }
}
