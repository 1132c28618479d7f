//! Generates a route's entry in the document: the operation's parameters, body and responses.
//!
//! A handler's comment can state these facts:
//!
//! - ``Operation: `id` ``: the name of the operation, and of functions in generated clients. The contract's operation with this name
//!   determines the scope.
//! - ``Path: of the affiliate``: what the ID at the end of the path identifies.
//! - ``Query: `Message` ``: a request's fields, as query parameters.
//! - ``Header: `If-Match` ``: a request header, or another parameter without a message field.
//! - ``Body: `Schema | Schema` ``: one of these schemas.
//! - ``File: `Message` ``: the body can also be a file. The request's fields except its list are query parameters.
//! - ``200: `Schema`, `Header`. Text``: a response with JSON and headers. `[Schema]` is a list. `text/html` is content of that
//!   type, or with a schema, the content if `Accept` asks for that type.
//! - ``Refused: `Reason` ``: error reasons that other facts do not imply.
//! - ``Content: `Schema` ``: a response that clients can cache.
//! - ``Files: `page` ``: the files of a page.
//!
//! `examples.json` contains examples of records, schemas and operations. It lists an operation's examples by response status. An operation without
//! its own examples uses its schema's examples.

use std::collections::BTreeSet;

use compliance_api::{
    error::{Reason, meaning},
    wire::Operation,
};
use docs_pages::{Json, object};
use http::StatusCode;
use rest_gateway::{FILE_OPTIONS, FILES, Route};

use crate::{
    base::inline,
    comment::{Comment, Fact},
    errors::{self, ETAG, IGNORED_FIELDS, IGNORED_PARAMETERS, RATE_LIMIT, REQUEST_ID, header_references},
    examples, parameter,
    schema::{list_of, reference},
};

/// Key for non-JSON content of bodies and responses, by media type.
const OTHER_CONTENT: &str = "x-other-content";
/// Key for the query parameters of file bodies. They do not affect JSON bodies.
const FILE_PARAMETERS: &str = "x-file-parameters";

const OF_EVERYBODY: [Reason; 3] = [Reason::HostInvalid, Reason::ExpectationFailed, Reason::Overloaded];
const OF_PARTNERS: [Reason; 8] = [
    Reason::TokenMissing,
    Reason::TokenInvalid,
    Reason::TokenExpired,
    Reason::RateLimited,
    Reason::Internal,
    Reason::DatabaseUnavailable,
    Reason::CoreUnavailable,
    Reason::DeadlineExceeded,
];

/// A route with the facts in its handler's comment: an OpenAPI operation, and its error reasons.
pub(crate) struct DocumentedRoute {
    pub(crate) id: String,
    tag: &'static str,
    comment: Comment,
    needs_token: bool,
    /// The scopes that permit the operation; the token needs one of them.
    scopes: &'static [&'static str],
    parameters: Vec<Json>,
    body: Option<Json>,
    file_parameters: Option<Vec<Json>>,
    responses: Vec<(StatusCode, Json)>,
    /// The error reasons.
    pub(crate) reasons: Vec<Reason>,
}

impl DocumentedRoute {
    /// Reads the comment above a route's handler.
    pub(crate) fn of(route: &Route) -> Self {
        let mut comment = Comment::of(route.handler);
        let facts = std::mem::take(&mut comment.facts);
        let module = route.handler.split("::").next().unwrap_or_default();
        let needs_token = route.path.starts_with("/api/");
        let mut documented = Self {
            id: String::new(),
            tag: if needs_token { module } else { "service" },
            comment,
            needs_token,
            scopes: &[],
            parameters: vec![object! { "$ref": "#/components/parameters/RequestId" }],
            body: None,
            file_parameters: None,
            responses: Vec::new(),
            reasons: OF_EVERYBODY.to_vec(),
        };
        if needs_token {
            documented.reasons.extend(OF_PARTNERS);
            if route.method != "get" {
                // An unsupported condition is a violation.
                documented.reasons.push(Reason::InvalidFields);
            }
        }
        for fact in facts {
            documented.add(fact);
        }
        assert!(!documented.id.is_empty(), "the comment above {} lacks the fact `Operation`", route.handler);
        documented
    }

    fn add(&mut self, Fact { key, values, text }: Fact) {
        let value = || values.first().unwrap_or_else(|| panic!("{key} has no value"));
        match &*key {
            "Operation" => {
                self.id.clone_from(value());
                self.scopes = scopes_of(value());
                self.reasons.extend(self.scopes.first().map(|_| Reason::ScopeMissing));
            }
            "Path" => self.parameters.push(parameter::path_id(&text)),
            "Query" => {
                self.parameters.extend(values.iter().flat_map(|query| parameter::of_query(query)));
                self.reasons.push(Reason::InvalidFields);
            }
            "Header" => {
                let header = inline(value()).unwrap_or_else(|| panic!("unknown header {}", value()));
                self.parameters.push(header);
                if value() == "If-Match" {
                    self.reasons.push(Reason::InvalidFields);
                }
            }
            "Body" => {
                let content = object! { "application/json": self.json("body", value()) };
                self.body = Some(object! { "required": true, "content": content });
                self.reasons.extend([Reason::InvalidFields, Reason::BodyTooLarge, Reason::EncodingUnsupported]);
            }
            "File" => {
                let file = |format: &str| object! { "schema": object! { "type": "string", "format": format } };
                let files = FILES.map(|kind| (kind, file(if kind.starts_with("text/") { "text" } else { "binary" })));
                self.body = self.body.take().map(|body| body.with(OTHER_CONTENT, Json::object(files)));
                let of_reader = FILE_OPTIONS.iter().filter_map(|name| inline(name));
                self.file_parameters = Some(of_reader.chain(parameter::of_query(value())).collect());
                self.reasons.push(Reason::ContentTypeInvalid);
            }
            "Refused" => self.reasons.extend(values.iter().map(|name| errors::reason(name))),
            "Content" => self.cached(&values),
            "Files" => {
                let console = pages::console(b"{}".to_vec(), &[]);
                let page = if value() == "docs" { &pages::DOCS } else { &console };
                // JSON files have a separate operation.
                let texts = || page.files().filter(|(_, kind)| *kind != "application/json");
                let names: Vec<&str> = texts().map(|(name, _)| name).collect();
                let mut file = inline("File").expect("base.json lacks the parameter File");
                file.at("schema").entries_mut().insert("enum".to_owned(), Json::of(&names));
                self.parameters.push(file);
                let types: BTreeSet<String> = texts().map(|(_, kind)| kind.to_owned()).collect();
                self.cached(&types.into_iter().collect::<Vec<_>>());
                self.reasons.push(Reason::UnknownPath);
            }
            status => {
                let status = status.parse().unwrap_or_else(|_| panic!("unknown fact {status}"));
                self.respond(status, &values, &text);
            }
        }
    }

    /// Adds a response, which replaces the response for reasons with the same status.
    fn respond(&mut self, status: StatusCode, values: &[String], text: &str) {
        let (headers, contents): (Vec<&String>, Vec<_>) =
            values.iter().partition(|value| *value == "Location" || value.starts_with(ETAG));
        let mut response = object! { "description": text };
        // The service rejects excess connections before it reads a request.
        if status != StatusCode::SERVICE_UNAVAILABLE {
            let limited = RATE_LIMIT.iter().filter(|_| self.needs_token).copied();
            let ignored = self.needs_token.then_some(IGNORED_PARAMETERS);
            let of_body = self.body.as_ref().map(|_| IGNORED_FIELDS);
            let headers = headers.into_iter().map(String::as_str);
            let headers = [REQUEST_ID].into_iter().chain(ignored).chain(of_body).chain(headers).chain(limited);
            response = response.with("headers", header_references(headers));
        }
        let is_json = |value: &&String| !value.contains('/');
        let has_json = contents.iter().any(is_json);
        let (json, texts): (Vec<_>, Vec<_>) = contents.into_iter().partition(is_json);
        if has_json {
            let content = json.into_iter().map(|value| ("application/json", self.json(status.as_str(), value)));
            response = response.with("content", Json::object(content));
        }
        if !texts.is_empty() {
            // Generators create one type for all contents. With text in `content`, generated clients would lose the JSON's type.
            let key = if has_json { OTHER_CONTENT } else { "content" };
            let text = |value: &String| (value.clone(), object! { "schema": object! { "type": "string" } });
            response = response.with(key, Json::object(texts.into_iter().map(text)));
        }
        self.reasons.retain(|reason| meaning(*reason).http != status);
        self.responses.push((status, response));
    }

    /// Adds the responses for content that clients can cache.
    fn cached(&mut self, contents: &[String]) {
        self.parameters.extend(inline("If-None-Match"));
        self.respond(StatusCode::OK, &[&["ETag".to_owned()], contents].concat(), "The content.");
        self.respond(StatusCode::NOT_MODIFIED, &["ETag".to_owned()], "The content is unchanged.");
    }

    /// Returns a body with a schema and its examples.
    fn json(&self, of: &str, schema: &str) -> Json {
        let content = object! { "schema": named(schema) };
        content.with_some("examples", examples::of(&self.id, of, schema))
    }

    /// Returns the operation in the document.
    pub(crate) fn into_json(self) -> Json {
        let mut responses = self.responses;
        responses.extend(errors::responses(&self.reasons).into_iter().map(|(status, reasons)| {
            let name = errors::name(status, &reasons);
            (status, object! { "$ref": format!("#/components/responses/{name}") })
        }));
        responses.sort_by_key(|(status, _)| *status);
        let scope = match self.scopes {
            [] => String::new(),
            scopes => format!(" The token needs the scope `{}`.", scopes.join("` or `")),
        };
        let security = match self.scopes {
            _ if !self.needs_token => Some(Json::of(&[(); 0])),
            [] => None,
            // Each entry is an alternative.
            scopes => Some(Json::of(&scopes.iter().map(|scope| object! { "bearer": [*scope] }).collect::<Vec<_>>())),
        };
        let responses = responses.into_iter().map(|(status, response)| (status.as_str().to_owned(), response));
        let json = object! {
            "operationId": self.id,
            "tags": [self.tag],
            "summary": self.comment.summary,
            "description": self.comment.description + &scope,
        };
        json.with_some("security", security)
            .with("parameters", self.parameters)
            .with_some("requestBody", self.body)
            .with_some(FILE_PARAMETERS, self.file_parameters)
            .with("responses", Json::object(responses))
    }
}

/// Returns the scopes that permit an operation, by the operation's name in the document.
fn scopes_of(id: &str) -> &'static [&'static str] {
    let is_named = |operation: &&Operation| {
        let name = operation.path.rsplit('/').next().unwrap_or_default();
        name.eq_ignore_ascii_case(id)
    };
    Operation::ALL.iter().find(is_named).map_or(&[], |operation| operation.authorization.for_partners())
}

/// Returns the schema for a `Name`, a `[List]`, or `One | Other`.
pub(crate) fn named(text: &str) -> Json {
    if let Some(items) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        return list_of(named(items));
    }
    // Does not split lists.
    let mut parts: Vec<String> = Vec::new();
    for part in text.split(" | ") {
        match parts.last_mut() {
            Some(list) if list.starts_with('[') && !list.ends_with(']') => *list = format!("{list} | {part}"),
            _ => parts.push(part.to_owned()),
        }
    }
    match &parts[..] {
        [name] => inline(name).unwrap_or_else(|| reference(name)),
        several => {
            let schemas: Vec<Json> = several.iter().map(|name| named(name)).collect();
            // Dry runs return the same codes as real runs.
            let overlap = several.iter().any(|name| name.ends_with("Valid"));
            Json::object([(if overlap { "anyOf" } else { "oneOf" }, schemas)])
        }
    }
}
