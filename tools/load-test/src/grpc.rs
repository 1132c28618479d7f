//! A lean gRPC client whose workers share HTTP/2 connections, as the tasks of an internal service do.
//!
//! The generator shares the machine with the service, so each call must cost it little, as with [`http`](crate::http).
//! It prepares headers once per company, and reads only the statuses and the messages of a response.

use std::future::poll_fn;

use anyhow::ensure;
use bytes::{Buf as _, BytesMut};
use compliance_api::v1::ListAffiliatesResponse;
use h2::client::{Builder, SendRequest};
use http::{
    HeaderMap, HeaderValue, Method, Request, Uri,
    header::{AUTHORIZATION, CONTENT_TYPE, TE},
    uri::{Authority, PathAndQuery, Scheme},
};
use prost::Message as _;

use crate::{
    check,
    target::{HTTP2, Target},
    workload::{LoadRequest, Universe},
};

/// Flag and length of a message.
const PREFIX: usize = 5;
/// Windows that are too large for a response to wait for them.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 8 << 20;

/// A connection. Clones share it.
#[derive(Clone, Debug)]
pub struct Connection {
    sender: SendRequest<bytes::Bytes>,
    scheme: Scheme,
    authority: Authority,
}

/// The headers of a call.
pub type Headers = HeaderMap;

/// The headers of every call with a token.
pub fn headers(token: &str) -> anyhow::Result<Headers> {
    let mut headers = HeaderMap::with_capacity(4);
    headers.insert(AUTHORIZATION, HeaderValue::try_from(format!("Bearer {token}"))?);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert(TE, HeaderValue::from_static("trailers"));
    Ok(headers)
}

impl Connection {
    /// Connects to a target.
    pub async fn open(target: &Target) -> anyhow::Result<Self> {
        let stream = target.connect(HTTP2).await?;
        let mut http2 = Builder::new();
        http2.initial_window_size(STREAM_WINDOW).initial_connection_window_size(CONNECTION_WINDOW).enable_push(false);
        let (sender, connection) = http2.handshake(stream).await?;
        // It ends with the last sender. If it breaks, calls report the error.
        tokio::spawn(connection);
        let scheme = if target.is_secure() { Scheme::HTTPS } else { Scheme::HTTP };
        Ok(Self { sender, scheme, authority: target.authority.parse()? })
    }

    /// Sends a request, and checks the response; `whole` checks it in full.
    pub async fn call(
        &mut self,
        headers: &Headers,
        request: &LoadRequest,
        universe: &Universe,
        whole: bool,
    ) -> anyhow::Result<()> {
        if matches!(request, LoadRequest::ListAffiliates) {
            let mut listed = 0;
            self.affiliates(headers, |_, _| listed += 1).await?;
            return check::affiliates(universe, listed);
        }
        let (path, message) = request.grpc();
        let mut messages = 0;
        let call = self.send(path, headers, message, |message| {
            messages += 1;
            check::grpc(request, universe, message, whole)
        });
        call.await?;
        ensure!(messages == 1, "the response has {messages} messages");
        Ok(())
    }

    /// Lists the affiliates, and passes the ID and the company of each to `each`.
    pub async fn affiliates(&mut self, headers: &Headers, mut each: impl FnMut(i64, i64)) -> anyhow::Result<()> {
        let (path, message) = LoadRequest::ListAffiliates.grpc();
        let mut last = 0;
        let call = self.send(path, headers, message, |message| {
            let affiliates = ListAffiliatesResponse::decode(message)?.affiliates;
            for affiliate in &affiliates {
                ensure!(affiliate.id > last, "the affiliates do not ascend");
                last = affiliate.id;
                each(affiliate.id, affiliate.client_id);
            }
            Ok(())
        });
        call.await
    }

    /// Sends a request, which has its prefix, and passes each message of the response to `sink`. Fails unless both statuses
    /// report success.
    pub async fn send(
        &mut self,
        path: &'static str,
        headers: &Headers,
        request: bytes::Bytes,
        mut sink: impl FnMut(&[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let head = self.head(path, headers)?;
        poll_fn(|context| self.sender.poll_ready(context)).await?;
        let (response, mut sending) = self.sender.send_request(head, false)?;
        sending.send_data(request, true)?;
        let (head, mut body) = response.await?.into_parts();
        ensure!(head.status == http::StatusCode::OK, "HTTP status {}", head.status);
        let mut rest = BytesMut::new();
        while let Some(piece) = body.data().await {
            let piece = piece?;
            body.flow_control().release_capacity(piece.len())?;
            // Most responses are one piece.
            if rest.is_empty() && message_length(&piece)? == Some(piece.len()) {
                sink(&piece[PREFIX..])?;
                continue;
            }
            rest.extend_from_slice(&piece);
            while let Some(length) = message_length(&rest)?.filter(|length| *length <= rest.len()) {
                sink(&rest[PREFIX..length])?;
                rest.advance(length);
            }
        }
        ensure!(rest.is_empty(), "the last message of the response is incomplete");
        // A response without messages may have its status in its head.
        let trailers = body.trailers().await?;
        let last = trailers.as_ref().unwrap_or(&head.headers);
        let status = last.get("grpc-status").map(HeaderValue::as_bytes);
        if status != Some(b"0") {
            let message = last.get("grpc-message").map(HeaderValue::as_bytes).unwrap_or_default();
            return Err(check::grpc_status(status, message));
        }
        Ok(())
    }

    fn head(&self, path: &'static str, headers: &Headers) -> anyhow::Result<Request<()>> {
        let mut uri = http::uri::Parts::default();
        uri.scheme = Some(self.scheme.clone());
        uri.authority = Some(self.authority.clone());
        uri.path_and_query = Some(PathAndQuery::from_static(path));
        let mut head = Request::new(());
        *head.method_mut() = Method::POST;
        *head.uri_mut() = Uri::from_parts(uri)?;
        *head.headers_mut() = headers.clone();
        Ok(head)
    }
}

/// The length of the first message with its prefix, once that has arrived.
fn message_length(bytes: &[u8]) -> anyhow::Result<Option<usize>> {
    let Some(&[flag, a, b, c, d]) = bytes.first_chunk::<PREFIX>() else { return Ok(None) };
    ensure!(flag == 0, "the response is compressed");
    Ok(Some(PREFIX + u32::from_be_bytes([a, b, c, d]) as usize))
}
