//! One route in the document: what its operation takes, and every response that it can give.
//!
//! These facts of a handler's comment are known:
//!
//! - ``Operation: `id` ``; generated clients name their functions after it. The contract's operation of this name says which scope it needs.
//! - ``Path: of the affiliate``: what the ID at the end of the path is of.
//! - ``Path: `Message` ``: the fields of a request, which are texts, as parameters of the path.
//! - ``Query: `Message` ``: the fields of a request, as parameters.
//! - ``Header: `If-Match` ``: a header of the request, or another parameter that no message has.
//! - ``Body: `Schema | Schema` ``: one of these schemas.
//! - ``200: `Schema`, `Header`. Text``: a response with JSON and headers of its own. `[Schema]` is a list; `text/html` is
//!   content of that type, and with a schema, what the response holds if `Accept` asks for that type.
//! - ``Refused: `Reason` ``: reasons for which it is refused, besides those that the rest implies.
//! - ``Content: `Schema` ``: a response that may be cached.
//! - ``Files: `page` ``: the files of a page.
//!
//! `examples.json` has the examples of records, of the schemas that hold one, and of operations, by the status of the response.
//! An operation that returns such a schema needs no example of its own.

use std::collections::BTreeSet;

use compliance_api::{
    error::{Reason, meaning},
    wire::{Authorization, Operation},
};
use docs_pages::{Json, object};
use http::StatusCode;
use rest_gateway::Route;

use crate::{
    base::inline,
    comment::{Comment, Fact},
    examples, parameter,
    refusal::{self, ETAG, Group, IGNORED_FIELDS, IGNORED_PARAMETERS, RATE_LIMIT, REQUEST_ID, header_references},
    schema::{list_of, reference},
};

/// What a response holds instead of JSON if the request asks for it, by its media type.
const OTHER_CONTENT: &str = "x-other-content";

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

/// A route with what the comment above its handler says: an operation of OpenAPI, and the reasons for which it is refused.
pub(crate) struct DocumentedRoute {
    pub(crate) id: String,
    tag: &'static str,
    comment: Comment,
    needs_token: bool,
    /// The scope that the token needs, if it needs one.
    scope: Option<&'static str>,
    parameters: Vec<Json>,
    body: Option<Json>,
    responses: Vec<(StatusCode, Json)>,
    reasons: Vec<Reason>,
}

impl DocumentedRoute {
    /// Reads the comment above the handler of a route.
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
            scope: None,
            parameters: vec![object! { "$ref": "#/components/parameters/RequestId" }],
            body: None,
            responses: Vec::new(),
            reasons: OF_EVERYBODY.to_vec(),
        };
        if needs_token {
            documented.reasons.extend(OF_PARTNERS);
            if route.method != "get" {
                // A condition that the operation does not take is a violation.
                documented.reasons.push(Reason::InvalidFields);
            }
        }
        for fact in facts {
            documented.add(fact);
        }
        assert!(!documented.id.is_empty(), "{} has no operation", route.handler);
        documented
    }

    fn add(&mut self, Fact { key, values, text }: Fact) {
        let value = || values.first().unwrap_or_else(|| panic!("{key} has no value"));
        match &*key {
            "Operation" => {
                self.id.clone_from(value());
                self.scope = scope_of(value());
                self.reasons.extend(self.scope.map(|_| Reason::ScopeMissing));
            }
            "Path" if values.is_empty() => self.parameters.push(parameter::path_id(&text)),
            "Path" => {
                self.parameters.extend(parameter::of_path(value()));
                self.reasons.push(Reason::InvalidFields);
            }
            "Query" => {
                self.parameters.extend(values.iter().flat_map(|query| parameter::of_query(query)));
                self.reasons.push(Reason::InvalidFields);
            }
            "Header" => {
                let header = inline(value()).unwrap_or_else(|| panic!("no header {}", value()));
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
            "Refused" => self.reasons.extend(values.iter().map(|name| refusal::reason(name))),
            "Content" => self.cached(&values),
            "Files" => {
                let console = pages::console(b"{}".to_vec(), &[]);
                let page = if value() == "docs" { &pages::DOCS } else { &console };
                // JSON has an operation of its own.
                let texts = || page.files().filter(|(_, kind)| *kind != "application/json");
                let names: Vec<&str> = texts().map(|(name, _)| name).collect();
                let mut file = inline("File").expect("it is there");
                file.at("schema").entries_mut().insert("enum".to_owned(), Json::of(&names));
                self.parameters.push(file);
                let types: BTreeSet<String> = texts().map(|(_, kind)| kind.to_owned()).collect();
                self.cached(&types.into_iter().collect::<Vec<_>>());
                self.reasons.push(Reason::UnknownPath);
            }
            status => {
                let status = status.parse().unwrap_or_else(|_| panic!("no fact is known by the name {status}"));
                self.respond(status, &values, &text);
            }
        }
    }

    /// A response, and none with its status for another reason.
    fn respond(&mut self, status: StatusCode, values: &[String], text: &str) {
        let (headers, contents): (Vec<&String>, Vec<_>) =
            values.iter().partition(|value| *value == "Location" || value.starts_with(ETAG));
        let mut response = object! { "description": text };
        // A connection too many is refused before anything is read from it.
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
            // Generators make one type of all contents: with texts beside JSON, generated clients would lose the type of the JSON.
            let key = if has_json { OTHER_CONTENT } else { "content" };
            let text = |value: &String| (value.clone(), object! { "schema": object! { "type": "string" } });
            response = response.with(key, Json::object(texts.into_iter().map(text)));
        }
        self.reasons.retain(|reason| meaning(*reason).http != status);
        self.responses.push((status, response));
    }

    /// Content that a client keeps until it has changed.
    fn cached(&mut self, contents: &[String]) {
        self.parameters.extend(inline("If-None-Match"));
        self.respond(StatusCode::OK, &[&["ETag".to_owned()], contents].concat(), "The content.");
        self.respond(StatusCode::NOT_MODIFIED, &["ETag".to_owned()], "It has not changed.");
    }

    /// A body of a schema, with its examples.
    fn json(&self, of: &str, schema: &str) -> Json {
        let content = object! { "schema": named(schema) };
        match examples::of(&self.id, of, schema) {
            Some(examples) => content.with("examples", examples),
            None => content,
        }
    }

    /// The responses of refusals.
    pub(crate) fn refusals(&self) -> Vec<Group> {
        refusal::groups(&self.reasons)
    }

    /// The operation as the document has it.
    pub(crate) fn into_json(self) -> Json {
        let refusals = self.refusals();
        let mut responses = self.responses;
        responses.extend(refusals.iter().map(|group| (group.status, group.reference())));
        responses.sort_by_key(|(status, _)| *status);
        let scope = self.scope.map(|scope| format!(" The token needs the scope `{scope}`."));
        let mut json = object! {
            "operationId": self.id,
            "tags": [self.tag],
            "summary": self.comment.summary,
            "description": self.comment.description + &scope.unwrap_or_default(),
        };
        if !self.needs_token {
            json = json.with("security", [(); 0]);
        } else if let Some(scope) = self.scope {
            json = json.with("security", [object! { "bearer": [scope] }]);
        }
        json = json.with("parameters", self.parameters);
        if let Some(body) = self.body {
            json = json.with("requestBody", body);
        }
        json.with(
            "responses",
            Json::object(responses.into_iter().map(|(status, response)| (status.as_str().to_owned(), response))),
        )
    }
}

/// The scope that an operation needs, by its name in the document.
fn scope_of(id: &str) -> Option<&'static str> {
    let is_named = |operation: &&Operation| {
        let name = operation.path.rsplit('/').next().unwrap_or_default();
        name.eq_ignore_ascii_case(id)
    };
    match Operation::ALL.iter().find(is_named)?.authorization {
        // Partners need the scope that is for one operation, if there is one.
        Authorization::Scope(scopes) => scopes.last().copied(),
        Authorization::Open | Authorization::Token => None,
    }
}

/// The schema of a name, of `[a list]`, or of one `of | several`.
fn named(text: &str) -> Json {
    if let Some(items) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        return list_of(named(items));
    }
    // What is in a list is not split.
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
            // What would be written has the code of what was.
            let overlap = several.iter().any(|name| name.ends_with("Valid"));
            if overlap {
                object! { "anyOf": schemas }
            } else {
                object! { "oneOf": schemas }
            }
        }
    }
}
