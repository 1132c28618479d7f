//! A REST client that returns the status, headers and raw body of a response. It compares each exchange with
//! the OpenAPI document.

use std::{net::SocketAddr, time::Duration};

use reqwest::{Client, Method, RequestBuilder, header::HeaderMap, redirect::Policy};
use serde_json::Value;

use crate::contract;

/// Maximum time of a response on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(2);
/// Shorter than the service keeps idle connections, so that no request meets a connection that is just being closed.
const IDLE: Duration = Duration::from_secs(20);

/// A client with a token, or without one.
#[derive(Clone, Debug)]
pub struct RestClient {
    base: String,
    client: Client,
    token: Option<String>,
}

/// A response, read to its end.
#[derive(Debug)]
pub struct RestResponse {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub text: String,
}

impl RestClient {
    /// A client with its own connections.
    pub fn new(address: SocketAddr, token: Option<String>) -> Self {
        // Without TLS, since loading the system's certificates is slow in a development build.
        let client = Client::builder().tls_certs_only([]).no_proxy().redirect(Policy::none()).timeout(TIMEOUT);
        let client = client.pool_idle_timeout(IDLE).build().unwrap();
        Self { base: format!("http://{address}"), client, token }
    }

    /// The same client and connections with another token.
    #[must_use]
    pub fn with_token(&self, token: Option<String>) -> Self {
        Self { token, ..self.clone() }
    }

    /// A request to a path under `/api`, for the caller to complete and send.
    pub fn request(&self, method: &str, path: &str) -> RequestBuilder {
        self.request_to(method, &format!("/api{path}"))
    }

    /// A request to any path.
    pub fn request_to(&self, method: &str, path: &str) -> RequestBuilder {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request = self.client.request(method, format!("{}{path}", self.base));
        match &self.token {
            Some(token) => request.header("Authorization", format!("Bearer {token}")),
            None => request,
        }
    }

    /// Reads a path under `/api`.
    pub async fn get(&self, path: &str) -> RestResponse {
        RestResponse::of(self.request("GET", path)).await
    }

    /// Posts JSON to a path under `/api`.
    pub async fn post(&self, path: &str, body: impl Into<reqwest::Body>) -> RestResponse {
        RestResponse::of(self.request("POST", path).header("Content-Type", "application/json").body(body)).await
    }

    /// Puts JSON to a path under `/api`.
    pub async fn put(&self, path: &str, body: impl Into<reqwest::Body>) -> RestResponse {
        RestResponse::of(self.request("PUT", path).header("Content-Type", "application/json").body(body)).await
    }
}

impl RestResponse {
    /// Sends a request, reads its response, and compares both with the document.
    pub async fn of(request: RequestBuilder) -> Self {
        let (client, request) = request.build_split();
        let request = request.unwrap();
        let (method, url) = (request.method().clone(), request.url().clone());
        let body = request.body().and_then(|body| body.as_bytes()).map(<[u8]>::to_vec);
        let response = client.execute(request).await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let response = Self { status, headers, text: response.text().await.unwrap() };
        let answer = (status, &response.headers, response.text.as_str());
        contract::check(method.as_str(), &url, body.as_deref(), answer);
        response
    }

    /// A header as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The paths of fields in a validation error.
    pub fn paths(&self) -> Vec<String> {
        self.json()["errors"].as_object().unwrap().keys().cloned().collect()
    }

    /// The body as JSON, after a check of the status.
    pub fn with_status(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.json()
    }
}
