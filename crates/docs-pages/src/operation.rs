//! The operations of a document, prepared for the templates.

use serde::Serialize;

use crate::{
    json::Json,
    samples::{Shown, bodies, content_examples, example_path},
    sections::anchor,
};

/// An operation of the document.
#[derive(Debug, Serialize)]
pub(crate) struct Operation<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    /// Name in addresses and generated clients.
    pub(crate) id: String,
    pub(crate) json: &'a Json,
    /// Path and query parameters.
    parameters: Vec<&'a Json>,
    headers: Vec<&'a Json>,
    responses: Vec<Response<'a>>,
    pub(crate) errors: Vec<Response<'a>>,
    needs_token: bool,
    /// Examples of the body, with names.
    bodies: Vec<(&'a str, String)>,
    first_body: Option<&'a Json>,
    /// The path with example values.
    example_path: String,
    /// Samples from the guide.
    sh: Option<&'a str>,
    python: Option<&'a str>,
    /// Status and body of a successful response.
    response: Option<(String, String)>,
    /// Address of the operation in the guide.
    guide: Option<&'a str>,
}

/// A response of an operation.
#[derive(Debug, Serialize)]
pub(crate) struct Response<'a> {
    pub(crate) status: &'a str,
    json: &'a Json,
    /// Name of a response that several operations use.
    pub(crate) name: Option<&'a str>,
}

impl<'a> Operation<'a> {
    /// Returns the operations of a document, in its order. `shown` has the samples of the guide.
    pub(crate) fn all(document: &'a Json, shown: &'a [Shown]) -> Vec<Self> {
        let of_path = |(path, methods): (&'a String, &'a Json)| {
            // A path can also have parameters for all its operations.
            let operations = methods.entries().iter().filter(|(_, json)| json.get("responses").is_some());
            operations.map(move |(method, json)| Self::new(document, method, path, json, shown))
        };
        document.entries_of("paths").iter().flat_map(of_path).collect()
    }

    fn new(document: &'a Json, method: &'a str, path: &'a str, json: &'a Json, shown: &'a [Shown]) -> Self {
        let id = match json.text("operationId") {
            "" => anchor(&format!("{method} {path}")),
            id => id.to_owned(),
        };
        let parameters = json.list("parameters").iter().map(|parameter| document.resolve(parameter));
        let (headers, parameters): (Vec<_>, Vec<_>) =
            parameters.partition(|parameter| parameter.text("in") == "header");
        let response = |(status, response): (&'a String, &'a Json)| {
            let name = response.text("$ref").rsplit('/').next().filter(|name| !name.is_empty());
            Response { status, json: document.resolve(response), name }
        };
        let responses = json.entries_of("responses").iter().map(response);
        let (errors, responses): (Vec<_>, Vec<_>) =
            responses.partition(|response| response.status.starts_with(['4', '5']));
        let operation = format!("{} {path}", method.to_uppercase());
        let shown = shown.iter().find(|shown| shown.operation == operation);
        let bodies = bodies(json);
        Self {
            needs_token: !matches!(json.get("security"), Some(Json::List(schemes)) if schemes.is_empty()),
            first_body: bodies.first().map(|(_, body)| *body),
            bodies: bodies.into_iter().map(|(name, body)| (name, body.pretty())).collect(),
            example_path: example_path(path, &parameters),
            sh: shown.and_then(|shown| shown.sh.as_deref()),
            python: shown.and_then(|shown| shown.python.as_deref()),
            response: response_sample(shown, &responses),
            guide: shown.map(|shown| &*shown.address),
            method,
            path,
            id,
            json,
            parameters,
            headers,
            responses,
            errors,
        }
    }

    pub(crate) fn tag(&self) -> &str {
        self.json.list("tags").first().and_then(Json::as_text).unwrap_or_default()
    }
}

/// Returns the response in the guide, or the first example of a successful response.
fn response_sample(shown: Option<&Shown>, responses: &[Response]) -> Option<(String, String)> {
    if let Some((status, text)) = shown.and_then(|shown| shown.response.clone()) {
        // Format it for a narrow column.
        let json = serde_json::from_str::<Json>(&text).map(|json| json.pretty());
        return Some((status, json.unwrap_or(text)));
    }
    let mut successes = responses.iter().filter(|response| response.status.starts_with('2'));
    successes.find_map(|response| {
        let (_, example) = *content_examples(response.json).first()?;
        Some((response.status.to_owned(), example.pretty()))
    })
}
