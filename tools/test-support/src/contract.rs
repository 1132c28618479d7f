//! Compares every exchange with the OpenAPI document: the status, headers and body of each response, and each
//! accepted request.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, LazyLock, Mutex},
};

use jsonschema::{Draft, Validator};
use reqwest::{Url, header::HeaderMap};
use serde_json::{Value, json};

/// The document that the service serves as `/openapi.json`. A gateway test compares them.
const DOCUMENT: &str = include_str!("../../../docs/openapi.json");

/// Maximum size of a body to check, in bytes. Checking several MiB would take a second.
const LONGEST: usize = 4 << 20;

static CONTRACT: LazyLock<Contract> = LazyLock::new(Contract::new);

/// A response's status, headers and text.
pub(crate) type Response<'a> = (u16, &'a HeaderMap, &'a str);

/// Panics unless an exchange matches the document.
pub(crate) fn check(method: &str, url: &Url, body: Option<&[u8]>, response: Response<'_>) {
    let exchange = Exchange { method: &method.to_lowercase(), url, body, response };
    let problems = CONTRACT.problems(&exchange);
    let (status, headers, text) = response;
    let shown: String = text.chars().take(2000).collect();
    assert!(problems.is_empty(), "{method} {url} is undocumented: {problems:#?}\n{status} {headers:?}\n{shown}");
}

/// Returns the routes that need a token, such as `GET /api/urls/{id}`.
pub fn documented_routes_with_token() -> BTreeSet<String> {
    let operations = CONTRACT.operations();
    let is_open = |operation: &Value| operation.get("security").is_some_and(|security| *security == json!([]));
    operations.filter(|(.., operation)| !is_open(operation)).map(|(route, ..)| route).collect()
}

/// A documented operation that matches a request.
#[derive(Debug)]
pub struct DocumentedRoute {
    /// `GET /api/urls/{id}`
    pub route: String,
    /// The operation ID.
    pub operation: String,
    /// The required scope, if any.
    pub scope: Option<String>,
    /// The parameters in the path.
    pub values: Vec<(&'static str, String)>,
}

/// Returns the operation for a method and a path below `/api`, without a query.
pub fn documented_route(method: &str, path: &str) -> Option<DocumentedRoute> {
    let paths = CONTRACT.document["paths"].as_object()?.iter();
    let routes = paths.filter_map(|(template, methods)| {
        let documented = &methods[method.to_lowercase()];
        let operation = documented["operationId"].as_str()?.to_owned();
        let scope = documented["security"][0]["bearer"][0].as_str().map(str::to_owned);
        let (parts, path): (Vec<_>, Vec<_>) =
            (template.strip_prefix("/api")?.split('/').collect(), path.split('/').collect());
        let mut values = Vec::new();
        for (part, value) in parts.iter().zip(&path) {
            match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
                Some(name) => values.push((name, (*value).to_owned())),
                None if part == value => {}
                None => return None,
            }
        }
        let route = format!("{method} {template}");
        (parts.len() == path.len()).then_some(DocumentedRoute { route, operation, scope, values })
    });
    // Literal text has priority over a parameter.
    routes.min_by_key(|route| route.values.len())
}

struct Exchange<'a> {
    /// In lower case.
    method: &'a str,
    url: &'a Url,
    body: Option<&'a [u8]>,
    response: Response<'a>,
}

struct Contract {
    document: Value,
    /// The document's schemas, without additional properties.
    closed: Value,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

impl Contract {
    fn new() -> Self {
        let document: Value = serde_json::from_str(DOCUMENT).unwrap();
        let mut closed = document["components"]["schemas"].clone();
        close(&mut closed);
        Self { document, closed, validators: Mutex::default() }
    }

    /// Returns the name, path, method and definition of every operation.
    fn operations(&self) -> impl Iterator<Item = (String, &str, &str, &Value)> {
        let paths = self.document["paths"].as_object().unwrap().iter();
        paths.flat_map(|(path, operations)| {
            let operations = operations.as_object().unwrap().iter();
            operations.map(move |(method, operation)| {
                (format!("{} {path}", method.to_uppercase()), path.as_str(), method.as_str(), operation)
            })
        })
    }

    /// Resolves a reference, or returns the value.
    fn resolve<'v>(&'v self, value: &'v Value) -> &'v Value {
        match value.get("$ref").and_then(Value::as_str) {
            Some(name) => self.document.pointer(name.trim_start_matches('#')).unwrap(),
            None => value,
        }
    }

    fn problems(&self, exchange: &Exchange<'_>) -> Vec<String> {
        let path = exchange.url.path();
        let of_path: Vec<_> = self.operations().filter(|(_, known, ..)| matches(known, path)).collect();
        let method = if exchange.method == "head" { "get" } else { exchange.method };
        let (status, headers, _) = exchange.response;
        match of_path.iter().find(|(_, _, known, _)| *known == method) {
            Some((route, _, _, operation)) => {
                let Some(response) = operation["responses"].get(status.to_string()) else {
                    return vec![format!("{route} does not document the status {status}")];
                };
                let mut problems =
                    self.problems_of_response(&format!("{route} {status}"), self.resolve(response), exchange);
                if (200..300).contains(&status) {
                    problems.extend(self.problems_of_request(route, operation, exchange));
                }
                problems
            }
            // The service checks the request's headers before its path.
            None if [400, 417, 503].contains(&status) => self.problems_of_error(status, exchange),
            None if of_path.is_empty() => self.expect(404, exchange),
            None => {
                let allow = headers.get("allow").and_then(|allow| allow.to_str().ok()).unwrap_or_default();
                let allowed: BTreeSet<String> = allow.split(',').map(|method| method.trim().to_lowercase()).collect();
                let mut documented: BTreeSet<String> =
                    of_path.iter().map(|(_, _, method, _)| (*method).to_owned()).collect();
                documented.insert("head".to_owned());
                let mut problems = self.expect(405, exchange);
                if allowed != documented {
                    problems.push(format!("`Allow` contains {allowed:?}, but the document contains {documented:?}"));
                }
                problems
            }
        }
    }

    fn expect(&self, status: u16, exchange: &Exchange<'_>) -> Vec<String> {
        match exchange.response.0 {
            same if same == status => self.problems_of_error(status, exchange),
            other => vec![format!("the document lacks this route, so expected {status} instead of {other}")],
        }
    }

    /// Checks a response without an operation, which is an envelope with the status as its code.
    fn problems_of_error(&self, status: u16, exchange: &Exchange<'_>) -> Vec<String> {
        let schema =
            json!({"$ref": "#/components/schemas/Error", "properties": {"code": {"const": status.to_string()}}});
        let mut problems = self.problems_of_body(&format!("error {status}"), &schema, exchange);
        if !exchange.response.1.contains_key("x-request-id") {
            problems.push("the response contains no request ID".to_owned());
        }
        problems
    }

    fn problems_of_response(&self, name: &str, response: &Value, exchange: &Exchange<'_>) -> Vec<String> {
        let mut problems = Vec::new();
        let (_, headers, text) = exchange.response;
        for (header, documented) in response["headers"].as_object().into_iter().flatten() {
            let documented = self.resolve(documented);
            match headers.get(header).map(|value| value.to_str().unwrap_or_default()) {
                Some(value) => {
                    let validator = self.validator(&format!("header {header}"), || documented["schema"].clone());
                    problems.extend(violations(&validator, &typed(&documented["schema"], value), header));
                }
                None if documented["required"] == true => problems.push(format!("the header {header} is missing")),
                None => {}
            }
        }
        if exchange.method == "head" {
            return problems;
        }
        let Some(content) = response["content"].as_object() else {
            if !text.is_empty() {
                problems.push("the response contains a body, but the document defines no content".to_owned());
            }
            return problems;
        };
        let media_type = headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let kind = media_type.split(';').next().unwrap_or_default();
        // The request can ask for a different documented format.
        match content.get(kind).or_else(|| response.get("x-other-content")?.get(kind)) {
            Some(media) if media_type == "application/json" => {
                problems.extend(self.problems_of_body(name, &media["schema"], exchange));
            }
            Some(_) => {}
            None => problems.push(format!("the content type {media_type:?} is not documented")),
        }
        problems
    }

    fn problems_of_body(&self, name: &str, schema: &Value, exchange: &Exchange<'_>) -> Vec<String> {
        let text = exchange.response.2;
        if text.len() > LONGEST || exchange.method == "head" {
            return Vec::new();
        }
        let validator = self.validator(name, || {
            let mut schema = schema.clone();
            close(&mut schema);
            with_schemas(schema, &self.closed)
        });
        match serde_json::from_str(text) {
            Ok(body) => violations(&validator, &body, "body"),
            Err(error) => vec![format!("the body is not JSON: {error}")],
        }
    }

    /// Returns the parts of an accepted request that violate the document.
    fn problems_of_request(&self, route: &str, operation: &Value, exchange: &Exchange<'_>) -> Vec<String> {
        let mut found = Vec::new();
        let media = &operation["requestBody"]["content"]["application/json"];
        let body = exchange.body.filter(|body| body.len() <= LONGEST);
        // Skips bodies that this parser rejects but the service accepts, such as 1e400 under an unknown key.
        if let Some(body) = body.and_then(|body| serde_json::from_slice::<Value>(body).ok())
            && let Some(schema) = media.get("schema")
        {
            let body = without_empty_texts(body);
            let all = || with_schemas(schema.clone(), &self.document["components"]["schemas"]);
            found.extend(violations(&self.validator(&format!("{route} request"), all), &body, "request"));
        }
        let sent: HashMap<_, _> = exchange.url.query_pairs().collect();
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let parameter = self.resolve(parameter);
            let (name, schema) = (parameter["name"].as_str().unwrap(), self.resolve(&parameter["schema"]));
            if let Some(value) = sent.get(name).filter(|value| parameter["in"] == "query" && !value.is_empty()) {
                let validator = self.validator(&format!("{route} {name}"), || schema.clone());
                found.extend(violations(&validator, &typed(schema, value), name));
            }
        }
        found
    }

    fn validator(&self, name: &str, schema: impl FnOnce() -> Value) -> Arc<Validator> {
        if let Some(validator) = self.validators.lock().unwrap().get(name) {
            return Arc::clone(validator);
        }
        let options = jsonschema::options().with_draft(Draft::Draft202012).should_validate_formats(true);
        let validator = Arc::new(options.build(&schema()).unwrap_or_else(|error| panic!("{name}: {error}")));
        self.validators.lock().unwrap().insert(name.to_owned(), Arc::clone(&validator));
        validator
    }
}

/// Replaces empty strings with null, because formats reject empty strings. Optional fields treat both alike, and required
/// fields accept neither.
fn without_empty_texts(body: Value) -> Value {
    match body {
        Value::String(text) if text.is_empty() => Value::Null,
        Value::Array(items) => items.into_iter().map(without_empty_texts).collect(),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(name, value)| (name, without_empty_texts(value))).collect())
        }
        other => other,
    }
}

/// Returns whether a path matches a documented path.
fn matches(documented: &str, path: &str) -> bool {
    let (mut documented, mut path) = (documented.split('/'), path.split('/'));
    loop {
        match (documented.next(), path.next()) {
            (None, None) => return true,
            (Some(part), Some(segment)) if part == segment || part.starts_with('{') && !segment.is_empty() => {}
            _ => return false,
        }
    }
}

/// Converts a header or query value to its schema's type.
fn typed(schema: &Value, value: &str) -> Value {
    match value.parse::<i64>() {
        Ok(number) if schema["type"] == "integer" => number.into(),
        _ => value.into(),
    }
}

fn with_schemas(schema: Value, schemas: &Value) -> Value {
    let Value::Object(mut schema) = schema else { return schema };
    schema.insert("components".to_owned(), json!({"schemas": schemas}));
    Value::Object(schema)
}

/// Forbids additional properties in a schema, because the service sends only documented keys.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(keywords) => {
            keywords.values_mut().for_each(close);
            if keywords.get("type") == Some(&json!("object")) && keywords.contains_key("properties") {
                keywords.insert("additionalProperties".to_owned(), false.into());
            }
        }
        Value::Array(values) => values.iter_mut().for_each(close),
        _ => {}
    }
}

fn violations(validator: &Validator, value: &Value, what: &str) -> Vec<String> {
    if validator.is_valid(value) {
        return Vec::new();
    }
    let errors = validator.iter_errors(value).take(5);
    errors.map(|error| format!("{what} at {:?}: {:.500}", error.instance_path().as_str(), error.to_string())).collect()
}
