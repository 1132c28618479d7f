//! Collects the reference's tags, and the error responses that operations share.

use crate::{json::Json, samples::content_examples, sections::anchor};

/// Returns the tags in document order, followed by tags that the document does not describe.
pub(crate) fn tags(document: &Json, operations: &[Json]) -> Vec<Json> {
    let described = document.list("tags").iter().map(|tag| (tag.text("name"), tag.text("description")));
    let mut tags: Vec<(&str, &str)> = described.collect();
    for name in operations.iter().map(|operation| operation.text("tag")) {
        if !tags.iter().any(|(known, _)| *known == name) {
            tags.push((name, ""));
        }
    }
    tags.retain(|(name, _)| operations.iter().any(|operation| operation.text("tag") == *name));
    let tag = |(name, description): (&str, &str)| {
        object! { "name": name, "anchor": format!("tag-{}", anchor(name)), "title": title(name), "description": description }
    };
    tags.into_iter().map(tag).collect()
}

/// Returns a tag's display title.
fn title(tag: &str) -> String {
    match tag {
        "urls" => return "URLs".to_owned(),
        "" => return "Others".to_owned(),
        _ => {}
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
