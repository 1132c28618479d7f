//! Implements a REST client for tests, which compares each exchange with the OpenAPI document.

use std::{net::SocketAddr, time::Duration};

use reqwest::{Client, Method, RequestBuilder, header::HeaderMap, redirect::Policy};
use serde_json::Value;

use crate::contract;

/// Maximum response time on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(2);
/// How long the client keeps idle connections. Shorter than in the service, so that no request uses a closing connection.
const IDLE: Duration = Duration::from_secs(20);

/// A client with or without a token.
#[derive(Clone, Debug)]
pub struct RestClient {
    base: String,
    client: Client,
    token: Option<String>,
}

/// A complete response.
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
    /// Creates a client with its own connections.
    pub fn new(address: SocketAddr, token: Option<String>) -> Self {
        // Without TLS, because loading the system's certificates is slow in a debug build.
        let client = Client::builder().tls_certs_only([]).no_proxy().redirect(Policy::none()).timeout(TIMEOUT);
        let client = client.pool_idle_timeout(IDLE).build().unwrap();
        Self { base: format!("http://{address}"), client, token }
    }

    /// Returns a client with the same connections and a different token.
    #[must_use]
    pub fn with_token(&self, token: Option<String>) -> Self {
        Self { token, ..self.clone() }
    }

    /// Returns a request to a path under `/api`, for the caller to complete and send.
    pub fn request(&self, method: &str, path: &str) -> RequestBuilder {
        self.request_to(method, &format!("/api{path}"))
    }

    /// Returns a request to any path.
    pub fn request_to(&self, method: &str, path: &str) -> RequestBuilder {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request = self.client.request(method, format!("{}{path}", self.base));
        match &self.token {
            Some(token) => request.header("Authorization", format!("Bearer {token}")),
            None => request,
        }
    }

    /// Gets a path under `/api`.
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
    /// Sends a request, reads the response, and compares both with the document.
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

    /// Returns a header as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Returns the body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// Returns the field paths of a validation error.
    pub fn paths(&self) -> Vec<String> {
        self.json()["errors"].as_object().unwrap().keys().cloned().collect()
    }

    /// Checks the status, and returns the body as JSON.
    pub fn with_status(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.json()
    }
}
