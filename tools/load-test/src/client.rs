//! Implements a client for either layer: HTTP/1.1 for REST, and HTTP/2 for gRPC.

use std::sync::Arc;

use anyhow::{Context as _, ensure};
use bytes::{Buf as _, Bytes};
use clap::ValueEnum;
use http::{
    HeaderMap, HeaderValue, Request, StatusCode, Uri,
    header::{AUTHORIZATION, CONTENT_TYPE, HOST, TE},
};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio_util::task::AbortOnDropHandle;
use tonic::{Code, Status};

use crate::{
    check::{self, Content},
    target::Target,
    workload::{LoadRequest, Universe},
};

/// Size of a gRPC message's prefix (flag and length), in bytes.
const PREFIX: usize = 5;
/// HTTP/2 windows, in bytes.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 8 << 20;

/// The layer that receives the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Layer {
    /// REST, over HTTP/1.1.
    Rest,
    /// gRPC, over HTTP/2.
    Grpc,
}

#[derive(Debug)]
enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

/// A connection to one layer. Dropping it cancels the request in flight.
#[derive(Debug)]
pub struct Connection {
    target: Target,
    layer: Layer,
    sender: Sender,
    /// The task that drives the connection.
    driver: Arc<AbortOnDropHandle<()>>,
}

/// A complete response.
#[derive(Debug)]
pub struct Response {
    /// The HTTP status.
    pub status: StatusCode,
    /// The body, or the gRPC messages with their prefixes.
    pub body: Bytes,
    /// The trailers, or the headers of a response without trailers.
    trailers: HeaderMap,
}

/// Returns the request headers for a token.
pub fn headers(layer: Layer, token: Option<&str>) -> anyhow::Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    if let Some(token) = token {
        headers.insert(AUTHORIZATION, HeaderValue::try_from(format!("Bearer {token}"))?);
    }
    if layer == Layer::Grpc {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
    Ok(headers)
}

impl Connection {
    /// Connects to a target.
    pub async fn open(target: &Target, layer: Layer) -> anyhow::Result<Self> {
        let stream = TokioIo::new(target.connect().await?);
        let (sender, driver) = match layer {
            Layer::Rest => {
                let (sender, driver) = http1::handshake(stream).await?;
                (Sender::Http1(sender), tokio::spawn(async move { drop(driver.await) }))
            }
            Layer::Grpc => {
                let (sender, driver) = http2::Builder::new(TokioExecutor::new())
                    // Large enough that no response waits for a window update.
                    .initial_stream_window_size(STREAM_WINDOW)
                    .initial_connection_window_size(CONNECTION_WINDOW)
                    .handshake(stream)
                    .await?;
                (Sender::Http2(sender), tokio::spawn(async move { drop(driver.await) }))
            }
        };
        Ok(Self { target: target.clone(), layer, sender, driver: Arc::new(AbortOnDropHandle::new(driver)) })
    }

    /// Returns a second handle to an HTTP/2 connection, or `None` for HTTP/1.1.
    pub fn share(&self) -> Option<Self> {
        let Sender::Http2(sender) = &self.sender else { return None };
        let (target, driver) = (self.target.clone(), Arc::clone(&self.driver));
        Some(Self { target, layer: self.layer, sender: Sender::Http2(sender.clone()), driver })
    }

    /// Sends a request and checks the response; `whole` checks it in full.
    pub async fn call(
        &mut self,
        headers: &HeaderMap,
        request: &LoadRequest,
        universe: &Universe,
        whole: bool,
    ) -> anyhow::Result<()> {
        let response = self.ask(headers, request).await?;
        match self.layer {
            Layer::Rest => check::rest(request, universe, response.status.as_u16(), &response.body, whole),
            Layer::Grpc => check::grpc(request, universe, &response.messages()?, whole),
        }
    }

    /// Sends a read, and returns the response's content.
    pub(crate) async fn read(&mut self, headers: &HeaderMap, request: &LoadRequest) -> anyhow::Result<Content> {
        let layer = if self.layer == Layer::Rest { "REST" } else { "gRPC" };
        let wrong_port = format!("{} does not seem to be the {layer} port", self.target.authority);
        let response = self.ask(headers, request).await.context(wrong_port.clone())?;
        match self.layer {
            Layer::Rest => {
                check::rest_status(200, response.status.as_u16(), &response.body)?;
                check::read_rest(request, &response.body)
            }
            Layer::Grpc => {
                ensure!(response.status == StatusCode::OK, "{wrong_port}: HTTP status {}", response.status);
                check::read_grpc(request, &response.messages()?)
            }
        }
    }

    /// Sends a request in the layer's format.
    pub async fn ask(&mut self, headers: &HeaderMap, request: &LoadRequest) -> anyhow::Result<Response> {
        match self.layer {
            Layer::Rest => {
                let (method, path, body) = request.rest();
                self.send(method, &path, headers, body.into()).await
            }
            Layer::Grpc => {
                let (path, message) = request.grpc();
                self.send("POST", path, headers, message).await
            }
        }
    }

    /// Sends a request and reads the response. Reconnects first if the service has closed the connection.
    pub async fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &HeaderMap,
        body: Bytes,
    ) -> anyhow::Result<Response> {
        let is_open = match &mut self.sender {
            Sender::Http1(sender) => sender.ready().await.is_ok(),
            Sender::Http2(sender) => sender.ready().await.is_ok(),
        };
        if !is_open {
            *self = Self::open(&self.target, self.layer).await?;
        }
        let mut request = Request::builder().method(method);
        request = match self.layer {
            Layer::Rest => request.uri(path).header(HOST, &self.target.authority),
            Layer::Grpc => {
                let uri = Uri::builder().scheme("http").authority(self.target.authority.as_str());
                request.uri(uri.path_and_query(path).build()?)
            }
        };
        if !body.is_empty() {
            let grpc = self.layer == Layer::Grpc;
            request = request.header(CONTENT_TYPE, if grpc { "application/grpc" } else { "application/json" });
        }
        let mut request = request.body(Full::new(body))?;
        request.headers_mut().extend(headers.clone());
        let response = match &mut self.sender {
            Sender::Http1(sender) => sender.send_request(request).await,
            Sender::Http2(sender) => sender.send_request(request).await,
        };
        let (head, body) = response.context("no response")?.into_parts();
        let body = body.collect().await.context("the response is truncated")?;
        let trailers = body.trailers().cloned().unwrap_or(head.headers);
        Ok(Response { status: head.status, body: body.to_bytes(), trailers })
    }
}

impl Response {
    /// Returns a gRPC response's messages, or its error status.
    fn messages(&self) -> anyhow::Result<Vec<Bytes>> {
        ensure!(self.status == StatusCode::OK, "HTTP status {}", self.status);
        let status = Status::from_header_map(&self.trailers).context("the call ended without a gRPC status")?;
        let code = status.code();
        ensure!(code == Code::Ok, "gRPC status {} ({code:?}): {}", code as i32, status.message());
        let (mut rest, mut messages) = (self.body.clone(), Vec::new());
        while !rest.is_empty() {
            ensure!(rest.len() >= PREFIX && rest.get_u8() == 0, "a message is truncated or compressed");
            let length = rest.get_u32() as usize;
            ensure!(rest.len() >= length, "the last message is truncated");
            messages.push(rest.split_to(length));
        }
        Ok(messages)
    }
}
