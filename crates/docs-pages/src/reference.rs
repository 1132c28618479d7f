//! The reference with every operation by tag, and the errors that several operations use.

use serde::Serialize;

use crate::{
    json::Json,
    layout::{Contents, Group, Link},
    operation::Operation,
    samples::content_examples,
    sections::anchor,
};

/// The operations of a tag.
#[derive(Serialize)]
pub(crate) struct Tag<'a> {
    anchor: String,
    title: String,
    description: &'a str,
    operations: Vec<&'a Operation<'a>>,
}

/// Returns the tags in the document's order. Operations without a described tag come last.
pub(crate) fn tags<'a>(document: &'a Json, operations: &'a [Operation<'a>]) -> Vec<Tag<'a>> {
    let mut tags: Vec<(&str, &str)> =
        document.list("tags").iter().map(|tag| (tag.text("name"), tag.text("description"))).collect();
    for operation in operations {
        if !tags.iter().any(|(name, _)| *name == operation.tag()) {
            tags.push((operation.tag(), ""));
        }
    }
    let tags = tags.into_iter().map(|(name, description)| Tag {
        anchor: format!("tag-{}", anchor(name)),
        title: title(name),
        description,
        operations: operations.iter().filter(|operation| operation.tag() == name).collect(),
    });
    tags.filter(|tag| !tag.operations.is_empty()).collect()
}

/// Returns the title of a tag.
fn title(tag: &str) -> String {
    match tag {
        "urls" => return "URLs".to_owned(),
        "" => return "Others".to_owned(),
        _ => {}
    }
    let mut characters = tag.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

/// Returns the table of contents of the reference.
pub(crate) fn contents<'a>(tags: &[Tag<'a>], schemas: usize) -> Contents<'a> {
    let link = |operation: &&'a Operation<'a>| Link {
        anchor: operation.id.clone(),
        html: String::new(),
        operation: Some(*operation),
    };
    let group = |tag: &Tag<'a>| Group { title: tag.title.clone(), links: tag.operations.iter().map(link).collect() };
    let mut groups: Vec<Group> = tags.iter().map(group).collect();
    groups.push(Group { title: String::new(), links: vec![Link::to("schemas", format!("Schemas ({schemas})"))] });
    Contents { groups, has_filter: true }
}

/// An error that several operations use.
#[derive(Serialize)]
pub(crate) struct SharedError<'a> {
    pub(crate) status: &'a str,
    pub(crate) name: &'a str,
    json: &'a Json,
    examples: Vec<(&'a str, String)>,
    returned_by: Vec<&'a Operation<'a>>,
}

/// Returns the errors by status.
pub(crate) fn errors<'a>(document: &'a Json, operations: &'a [Operation<'a>]) -> Vec<SharedError<'a>> {
    let error = |(name, json): (&'a String, &'a Json)| {
        let named = |operation: &'a Operation<'a>| operation.errors.iter().filter(|error| error.name == Some(name));
        SharedError {
            status: operations.iter().flat_map(named).next().map(|error| error.status).unwrap_or_default(),
            name,
            json,
            examples: content_examples(json).into_iter().map(|(name, example)| (name, example.pretty())).collect(),
            returned_by: operations.iter().filter(|operation| named(operation).next().is_some()).collect(),
        }
    };
    let mut errors: Vec<_> = document.components("responses").iter().map(error).collect();
    errors.sort_by_key(|error| error.status);
    errors
}
