//! Sends JSON and query strings through the gateway's router.

use std::{cell::RefCell, sync::Arc};

use axum::{Router, body::Body};
use compliance_api::{
    record::Record as _,
    token::{Claims, KeySource, Secret, Verifier, issue},
    v1::{AffiliateInput, CreateAffiliateRequest},
};
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use prost::Message as _;
use serde_json::{Map, Value};
use tokio::runtime::Runtime;
use tower::ServiceExt as _;

use crate::core::{Core, Seen, Violations, violations_of};

/// A gateway in front of a core that only checks requests.
struct Gateway {
    runtime: Runtime,
    router: Router,
    core: Core,
    bearer: String,
}

/// The response to the partner, and what the core saw.
struct Outcome {
    status: StatusCode,
    json: Value,
    seen: Seen,
}

thread_local! {
    static GATEWAY: RefCell<Option<Gateway>> = const { RefCell::new(None) };
}

impl Gateway {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let secret = Secret::new([1; 32]).unwrap();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() as i64;
        let bearer = format!("Bearer {}", issue(&secret, &Claims::new(7, now, 30 * 86_400)).unwrap());
        let source = KeySource { secret: Some(secret), ..KeySource::default() };
        let verifier = Arc::new(runtime.block_on(Verifier::new(source, None)).unwrap());
        let (core, settings) = (Core::default(), rest_gateway::Settings::default());
        let router = runtime.block_on(async { rest_gateway::router(core.clients(), None, verifier, &settings) });
        Self { runtime, router, core, bearer }
    }

    fn call(&self, method: &str, path: &str, body: Vec<u8>) -> Option<Outcome> {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("host", "compliance.example").header("authorization", &self.bearer);
        let request = request.body(Body::from(body)).ok()?;
        self.core.take();
        let (status, body) = self.runtime.block_on(async {
            let (parts, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
            (parts.status, body.collect().await.unwrap().to_bytes())
        });
        let json = serde_json::from_slice(&body).expect("the response is not JSON");
        Some(Outcome { status, json, seen: self.core.take() })
    }
}

fn call(method: &str, path: &str, body: Vec<u8>) -> Option<Outcome> {
    GATEWAY.with_borrow_mut(|gateway| gateway.get_or_insert_with(Gateway::new).call(method, path, body))
}

/// Returns the violations in a 422 response, sorted.
fn shown(json: &Value) -> Violations {
    let errors = json["errors"].as_object().expect("the 422 response contains no errors");
    let each = errors.iter().flat_map(|(path, messages)| {
        let messages = messages.as_array().expect("the messages are not a list");
        assert!(!messages.is_empty(), "{path} contains no message");
        messages.iter().map(move |message| (path.clone(), message.as_str().unwrap().to_owned()))
    });
    let mut violations: Violations = each.collect();
    violations.sort();
    violations
}

/// Checks that the gateway rejects exactly what the core rejects, if it called the core.
fn agree(outcome: &Outcome) {
    let Outcome { status, json, seen } = outcome;
    match (status.as_u16(), seen) {
        (422, Seen::Called(found)) => {
            let mut found = found.clone();
            assert!(!found.is_empty(), "the gateway rejected a valid message: {json}");
            found.sort();
            found.dedup();
            let mut shown = shown(json);
            shown.dedup();
            assert_eq!(shown, found);
        }
        // The gateway rejects JSON that no message can express.
        (422, Seen::Nothing) => assert!(!shown(json).is_empty()),
        (200 | 201 | 207, Seen::Called(found)) => assert!(found.is_empty(), "the gateway accepted {found:?}"),
        // The gateway answers unknown paths and impossible IDs itself.
        (404, _) | (200, Seen::Nothing) => {}
        other => panic!("{other:?}: {json}"),
    }
}

/// Sends JSON. The first byte selects the route. If it is at least 128, the rest is an encoded affiliate to send as JSON.
pub fn json(data: &[u8]) {
    let Some((choice, body)) = data.split_first() else { return };
    if *choice >= 128 {
        return encoded(body);
    }
    let (method, path) =
        [("POST", "/api/affiliates"), ("PUT", "/api/affiliates/7"), ("POST", "/api/urls")][usize::from(*choice) % 3];
    if let Some(outcome) = call(method, path, body.to_vec()) {
        agree(&outcome);
    }
}

/// Sends an affiliate as JSON, and checks that the gateway reports exactly the core's violations.
fn encoded(body: &[u8]) {
    let Ok(affiliate) = AffiliateInput::decode(body) else { return };
    let mut object = Map::new();
    for field in AffiliateInput::FIELDS {
        if let Some(value) = field.written(&affiliate) {
            object.insert(field.name.to_owned(), value.into());
        }
    }
    let mut expected = violations_of(&CreateAffiliateRequest { affiliate: Some(affiliate) });
    expected.sort();
    let Some(outcome) = call("POST", "/api/affiliates", Value::Object(object).to_string().into_bytes()) else { return };
    agree(&outcome);
    let refused = if outcome.status == 422 { shown(&outcome.json) } else { Violations::new() };
    assert_eq!(refused, expected);
}

/// Sends a query string. The first byte selects the list, and the rest is the query string.
pub fn query(data: &[u8]) {
    let Some((choice, query)) = data.split_first() else { return };
    let Ok(query) = std::str::from_utf8(query) else { return };
    let paths = ["/api/urls", "/api/cases", "/api/affiliates:search", "/api/urls:search"];
    let path = paths[usize::from(*choice) % paths.len()];
    if let Some(outcome) = call("GET", &format!("{path}?{query}"), Vec::new()) {
        agree(&outcome);
    }
}
