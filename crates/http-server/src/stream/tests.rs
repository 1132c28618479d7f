use std::{
    io,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};

use super::Outgoing;
use crate::{
    ConnectionLimits,
    activity::{Activity, InFlight},
};

/// A connection with so many requests in flight.
fn with_requests(count: usize) -> (Arc<Activity>, Vec<InFlight>) {
    let activity = Activity::new(&ConnectionLimits::default(), None);
    let requests = (0..count).map(|_| activity.start(true)).collect();
    (activity, requests)
}

/// A stream to which nothing arrives, and which counts the writes.
#[derive(Clone, Default)]
struct Counted(Arc<AtomicUsize>);

impl AsyncRead for Counted {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

impl AsyncWrite for Counted {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.fetch_add(1, Relaxed);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn outgoing(stream: Counted, is_http2: bool, activity: Arc<Activity>) -> Outgoing<Counted> {
    if is_http2 { Outgoing::coalesced(stream, activity) } else { Outgoing::with_rejections(stream, None) }
}

/// Whether a future is ready when it is first polled.
async fn is_ready(future: impl Future) -> bool {
    let mut future = pin!(future);
    std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_ready())).await
}

#[tokio::test]
async fn a_write_waits_for_tasks_that_are_ready_on_http_2() {
    for (is_http2, requests, expected) in [(true, 2, 8), (true, 1, 0), (true, 0, 0), (false, 2, 0)] {
        let (activity, _requests) = with_requests(requests);
        let ran = Arc::new(AtomicUsize::new(0));
        for _ in 0..8 {
            let ran = Arc::clone(&ran);
            tokio::spawn(async move { ran.fetch_add(1, Relaxed) });
        }
        outgoing(Counted::default(), is_http2, activity).write_all(b"a").await.unwrap();
        assert_eq!(ran.load(Relaxed), expected);
    }
}

#[tokio::test]
async fn a_write_waits_once_a_round() {
    let counted = Counted::default();
    let (activity, _requests) = with_requests(2);
    let mut stream = outgoing(counted.clone(), true, activity);
    for round in 1..=3 {
        stream.write_all(b"a").await.unwrap();
        assert!(is_ready(stream.write_all(b"b")).await);
        assert_eq!(counted.0.load(Relaxed), round * 2);
        // The next round.
        assert!(!is_ready(stream.read_u8()).await);
        assert!(!is_ready(stream.write_all(b"a")).await);
    }
}
