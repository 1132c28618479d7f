//! Prepares an OpenAPI document's operations for the templates.

use crate::{
    json::Json,
    samples::{Shown, content_examples, example_path},
};

/// Returns the operations in document order. `shown` contains the samples from the guide.
pub(crate) fn operations(document: &Json, shown: &[Shown]) -> Vec<Json> {
    let mut operations = Vec::new();
    for (path, methods) in document.entries_of("paths") {
        for (method, json) in methods.entries() {
            operations.push(operation(document, method, path, json, shown));
        }
    }
    operations
}

fn operation(document: &Json, method: &str, path: &str, json: &Json, shown: &[Shown]) -> Json {
    let parameters = json.list("parameters").iter().map(|parameter| document.resolve(parameter));
    let (headers, parameters): (Vec<_>, Vec<_>) = parameters.partition(|parameter| parameter.text("in") == "header");
    let responses = json.entries_of("responses").iter().map(|(status, response)| {
        // Shared responses have a name.
        let name = response.text("$ref").rsplit('/').next();
        object! { "status": status, "json": document.resolve(response), "name": name }
    });
    let (errors, responses): (Vec<_>, Vec<_>) =
        responses.partition(|response| response.text("status").starts_with(['4', '5']));
    let in_guide = format!("{} {path}", method.to_uppercase());
    let shown = shown.iter().find(|shown| shown.operation == in_guide);
    let bodies = json.get("requestBody").map(content_examples).unwrap_or_default();
    object! {
        "method": method,
        "path": path,
        "id": json.text("operationId"),
        "tag": json.list("tags").first().and_then(Json::as_text).unwrap_or_default(),
        "json": json,
        "example_path": example_path(path, &parameters),
        "parameters": parameters,
        "headers": headers,
        "response": response_sample(shown, &responses),
        "responses": responses,
        "errors": errors,
        "needs_token": !matches!(json.get("security"), Some(Json::List(schemes)) if schemes.is_empty()),
        "bodies": bodies.iter().map(|(name, body)| (name, body.pretty())).collect::<Vec<_>>(),
        "first_body": bodies.first().map(|(_, body)| body),
        "sh": shown.and_then(|shown| shown.sh.as_deref()),
        "python": shown.and_then(|shown| shown.python.as_deref()),
        "guide": shown.map(|shown| &shown.address),
    }
}

/// Returns the status and body of the guide's response, or of the first example of a successful response.
fn response_sample(shown: Option<&Shown>, responses: &[Json]) -> Option<(String, String)> {
    if let Some((status, text)) = shown.and_then(|shown| shown.response.clone()) {
        // Reformat the response for a narrow column.
        let json = serde_json::from_str::<Json>(&text).map(|json| json.pretty());
        return Some((status, json.unwrap_or(text)));
    }
    let mut successes = responses.iter().filter(|response| response.text("status").starts_with('2'));
    successes.find_map(|response| {
        let (_, example) = *content_examples(response.get("json")?).first()?;
        Some((response.text("status").to_owned(), example.pretty()))
    })
}
