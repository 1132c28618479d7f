use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures::task::noop_waker_ref;
use http::HeaderMap;
use http_body::{Body as _, Frame};
use http_body_util::StreamBody;
use tokio::time::{Instant, advance};

use super::{Activity, State, Tracked};
use crate::{
    ConnectionLimits,
    connection_limits::{MAX_BYTES_WITHOUT_REQUEST, MAX_CANCELLED},
};

const SECOND: Duration = Duration::from_secs(1);

fn activity() -> Arc<Activity> {
    let limits =
        ConnectionLimits { header_timeout: SECOND * 3, idle_timeout: SECOND * 10, ..ConnectionLimits::default() };
    Activity::new(&limits, Some(SECOND * 100))
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_idle_after_its_timeout() {
    let activity = activity();
    advance(SECOND * 3).await;
    assert!(matches!(activity.check(), State::Closable(_)));
    activity.start(false).finish();
    assert_eq!(activity.check(), State::Active(Instant::now() + SECOND * 10));
    advance(SECOND * 10).await;
    assert!(matches!(activity.check(), State::Closable(_)));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_never_ends_is_detected_among_others() {
    let activity = activity();
    let _stuck = activity.start(true);
    for second in 0..100 {
        let _other = activity.start(true);
        assert!(matches!(activity.check(), State::Active(_)), "{second}");
        advance(SECOND).await;
    }
    assert!(matches!(activity.check(), State::Closable(_)));
}

#[tokio::test(start_paused = true)]
async fn a_request_may_have_a_deadline_of_its_own() {
    let activity = activity();
    let request = activity.start(false);
    request.finish_by(Instant::now() + SECOND * 2);
    activity.changed.notified().await;
    assert_eq!(activity.check(), State::Active(Instant::now() + SECOND * 2));
    advance(SECOND * 2).await;
    assert_eq!(activity.check(), State::Stalled);
    drop(request);
    assert!(matches!(activity.check(), State::Active(_)));
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_reads_nothing_is_stalled() {
    let activity = activity();
    let _request = activity.start(true);
    for _ in 0..3 {
        activity.written(false);
        advance(SECOND * 29).await;
        assert!(matches!(activity.check(), State::Active(_)));
        activity.written(true);
    }
    activity.written(false);
    advance(SECOND * 30).await;
    activity.written(false);
    assert_eq!(activity.check(), State::Stalled);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_cancels_most_of_its_requests_is_closed() {
    let activity = activity();
    // Half of them is not most, and a request that ran for a second was of use.
    for _ in 0..MAX_CANCELLED {
        drop(activity.start(true));
        activity.start(true).finish();
        assert!(matches!(activity.check(), State::Active(_)));
    }
    let long = activity.start(true);
    advance(SECOND).await;
    drop(long);
    assert!(matches!(activity.check(), State::Active(_)));
    for _ in 0..3 {
        drop(activity.start(true));
    }
    assert!(matches!(activity.check(), State::Closable(_)));
    activity.changed.notified().await;
}

#[tokio::test]
async fn a_peer_may_not_send_much_without_a_request() {
    let activity = activity();
    assert!(!activity.has_read_too_much(MAX_BYTES_WITHOUT_REQUEST));
    assert!(activity.has_read_too_much(1));
    let request = activity.start(true);
    assert!(!activity.has_read_too_much(MAX_BYTES_WITHOUT_REQUEST + 1));
    drop(request);
    assert!(!activity.has_read_too_much(MAX_BYTES_WITHOUT_REQUEST));
    assert!(activity.has_read_too_much(1));
}

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
        let frames = futures::stream::repeat_with(|| Ok::<_, std::io::Error>(Frame::data(Bytes::from_static(b"a"))));
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
