//! Every service behind one router, and a shorter path for reads of single records, which are most calls.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::{BufMut as _, Bytes, BytesMut};
use compliance_api::{
    error::{Error, Reason},
    v1::{
        affiliate_service_server::AffiliateService as _, compliance_case_service_server::ComplianceCaseService as _,
        compliance_url_service_server::ComplianceUrlService as _,
    },
    wire::Operation,
};
use futures::future::BoxFuture;
use http::{HeaderMap, HeaderValue, header::CONTENT_TYPE};
use http_body::Frame;
use http_body_util::BodyExt as _;
use prost::Message;
use tonic::{Request, Response, Status, body::Body, metadata::GRPC_CONTENT_TYPE, service::Routes};
use tower::Service;

use super::protocol::{ENCODING, RESPONSE_TOO_LARGE};
use crate::{affiliates::Affiliates, cases::ComplianceCases, urls::ComplianceUrls};

const GET_AFFILIATE: &str = Operation::GET_AFFILIATE.path;
const GET_URL: &str = Operation::GET_COMPLIANCE_URL.path;
const GET_CASE: &str = Operation::GET_COMPLIANCE_CASE.path;
/// Flag and length of a message.
const PREFIX: usize = 5;

/// Every service. Clones share them.
#[derive(Clone)]
pub struct Services(pub(super) Arc<SharedServices>);

pub(super) struct SharedServices {
    pub(super) affiliates: Arc<Affiliates>,
    pub(super) urls: Arc<ComplianceUrls>,
    pub(super) cases: Arc<ComplianceCases>,
    /// They lead to all services, standard ones included.
    pub(super) routes: Routes,
    /// Bytes of a response, at most.
    pub(super) message_limit: usize,
}

impl Service<http::Request<Body>> for Services {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    /// The message of a request for a single record must have been received whole, as the pipeline does it.
    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let Self(services) = self.clone();
        // A request that names its encoding takes the general path, which knows all of them.
        let path = if request.headers().contains_key(ENCODING) { "" } else { request.uri().path() };
        let limit = services.message_limit;
        match path {
            GET_AFFILIATE => Box::pin(async move {
                Ok(unary(request, limit, |request| services.affiliates.get_affiliate(request)).await)
            }),
            GET_URL => {
                Box::pin(
                    async move { Ok(unary(request, limit, |request| services.urls.get_compliance_url(request)).await) },
                )
            }
            GET_CASE => Box::pin(async move {
                Ok(unary(request, limit, |request| services.cases.get_compliance_case(request)).await)
            }),
            _ => {
                let mut routes = services.routes.clone();
                Box::pin(async move { routes.call(request).await })
            }
        }
    }
}

async fn unary<M, R, F>(
    request: http::Request<Body>,
    limit: usize,
    call: impl FnOnce(Request<M>) -> F,
) -> http::Response<Body>
where
    M: Message + Default,
    R: Message,
    F: Future<Output = Result<Response<R>, Status>>,
{
    let called = async {
        let (metadata, extensions, body) = Request::from_http(request).into_parts();
        let message = decode(body).await?;
        encode(call(Request::from_parts(metadata, extensions, message)).await?, limit)
    };
    called.await.unwrap_or_else(Status::into_http)
}

async fn decode<M: Message + Default>(mut body: Body) -> Result<M, Status> {
    let data = match body.frame().await.transpose()?.map(Frame::into_data) {
        Some(Ok(data)) => data,
        _ => Bytes::new(),
    };
    let message = data.get(PREFIX..).and_then(|message| M::decode(message).ok());
    // The pipeline has measured it, and refuses what cannot be decoded.
    message.ok_or_else(|| Error::internal().into())
}

fn encode<R: Message>(response: Response<R>, limit: usize) -> Result<http::Response<Body>, Status> {
    let (metadata, message, extensions) = response.into_parts();
    let length = message.encoded_len();
    if length > limit {
        return Err(Error::new(Reason::BodyTooLarge, RESPONSE_TOO_LARGE).into());
    }
    let mut encoded = BytesMut::with_capacity(PREFIX + length);
    encoded.put_u8(0);
    encoded.put_u32(length as u32);
    message.encode_raw(&mut encoded);
    let mut response = http::Response::new(Body::new(OneMessage::First(encoded.freeze())));
    *response.headers_mut() = metadata.into_headers();
    response.headers_mut().insert(CONTENT_TYPE, GRPC_CONTENT_TYPE);
    *response.extensions_mut() = extensions;
    Ok(response)
}

/// A body of one message, and the status of success after it. Its end is known without asking for one more frame, as the count
/// of requests that end early needs it.
enum OneMessage {
    First(Bytes),
    Status,
    End,
}

impl http_body::Body for OneMessage {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let (frame, next) = match std::mem::replace(&mut *self, Self::End) {
            Self::First(message) => (Some(Frame::data(message)), Self::Status),
            Self::Status => {
                let mut trailers = HeaderMap::with_capacity(1);
                trailers.insert(Status::GRPC_STATUS, HeaderValue::from_static("0"));
                (Some(Frame::trailers(trailers)), Self::End)
            }
            Self::End => (None, Self::End),
        };
        *self = next;
        Poll::Ready(frame.map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::End)
    }
}
