use admission::Memory;
use axum::{Router, body::Body, routing::get};
use http::{HeaderValue, Request};
use tower::ServiceExt as _;

use super::{REQUEST_ID, observe};

async fn returned_id(sent: Option<&[u8]>) -> HeaderValue {
    let router = observe(Router::new().route("/", get(|| async {})), &[], Memory::new(0, 1));
    let mut request = Request::get("/").header("host", "a").body(Body::empty()).unwrap();
    if let Some(sent) = sent {
        request.headers_mut().insert(REQUEST_ID, HeaderValue::from_bytes(sent).unwrap());
    }
    router.oneshot(request).await.unwrap().headers()[REQUEST_ID].clone()
}

#[tokio::test]
async fn unsafe_request_ids_are_replaced() {
    for accepted in [&b"abc-1"[..], &[b'x'; 128]] {
        assert_eq!(returned_id(Some(accepted)).await, accepted);
    }
    for refused in [&b""[..], b"a b", "é".as_bytes(), &[b'x'; 129]] {
        assert_ne!(returned_id(Some(refused)).await, refused, "{refused:?}");
    }
    assert_ne!(returned_id(None).await, returned_id(None).await);
}
