//! Collects the reference's tags, and the error responses that operations share.

use crate::{json::Json, samples::content_examples};

/// Returns the tags in document order.
pub(crate) fn tags(document: &Json) -> Vec<Json> {
    let tag = |tag: &Json| {
        let [name, description] = ["name", "description"].map(|key| tag.text(key));
        object! { "name": name, "anchor": format!("tag-{name}"), "title": title(name), "description": description }
    };
    document.list("tags").iter().map(tag).collect()
}

/// Returns a tag's display title.
fn title(tag: &str) -> String {
    if tag == "urls" {
        return "URLs".to_owned();
    }
    let mut characters = tag.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

/// Returns the shared error responses, sorted by status.
pub(crate) fn errors(document: &Json, operations: &[Json]) -> Vec<Json> {
    let error = |(name, json): (&String, &Json)| {
        let named =
            |operation: &&Json| operation.list("errors").iter().find(|error| error.text("name") == name).cloned();
        let returned_by: Vec<&Json> = operations.iter().filter(|operation| named(operation).is_some()).collect();
        let status = returned_by.first().and_then(named);
        let summaries = returned_by.iter().map(|operation| {
            let summary = operation.get("json").map(|json| json.text("summary"));
            object! { "id": operation.text("id"), "summary": summary }
        });
        let examples = content_examples(json).into_iter().map(|(name, example)| (name, example.pretty()));
        object! {
            "status": status.as_ref().map_or("", |error| error.text("status")),
            "name": name,
            "json": json,
            "examples": examples.collect::<Vec<_>>(),
            "returned_by": summaries.collect::<Vec<_>>(),
        }
    };
    let mut errors: Vec<Json> = document.components("responses").iter().map(error).collect();
    errors.sort_by(|one, other| one.text("status").cmp(other.text("status")));
    errors
}
