//! A REST client that tells everything of an answer: status, headers, and the body as it came.

use std::{net::SocketAddr, time::Duration};

use reqwest::{Client, Method, RequestBuilder, header::HeaderMap, redirect::Policy};
use serde_json::Value;

/// No answer takes longer, on however busy a machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// A client with a token, or without one.
#[derive(Clone)]
pub(crate) struct Rest {
    base: String,
    client: Client,
    token: Option<String>,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Rest {
    pub(crate) fn new(address: SocketAddr, token: Option<String>) -> Self {
        let client = Client::builder().no_proxy().redirect(Policy::none()).timeout(PATIENCE).build().unwrap();
        Self { base: format!("http://{address}"), client, token }
    }

    /// A request to a path under `/api`, to be added to and sent by the caller.
    pub(crate) fn request(&self, method: &str, path: &str) -> RequestBuilder {
        self.request_to(method, &format!("/api{path}"))
    }

    /// A request to any path.
    pub(crate) fn request_to(&self, method: &str, path: &str) -> RequestBuilder {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request = self.client.request(method, format!("{}{path}", self.base));
        match &self.token {
            Some(token) => request.header("Authorization", format!("Bearer {token}")),
            None => request,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        Answer::of(self.request("GET", path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: impl Into<reqwest::Body>) -> Answer {
        Answer::of(self.request("POST", path).header("Content-Type", "application/json").body(body)).await
    }

    pub(crate) async fn put(&self, path: &str, body: impl Into<reqwest::Body>) -> Answer {
        Answer::of(self.request("PUT", path).header("Content-Type", "application/json").body(body)).await
    }
}

impl Answer {
    /// Sends a request and reads its answer.
    pub(crate) async fn of(request: RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Self { status, headers, text: response.text().await.unwrap() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The JSON of an answer that must have this status.
    pub(crate) fn with_status(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.json()
    }
}
