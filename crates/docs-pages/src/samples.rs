//! Finds request samples in the guide, or generates them from the OpenAPI document.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::{
    json::Json,
    sections::{Section, anchor, sections},
};

/// Characters that are percent-encoded in a path.
const ESCAPED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The samples that the guide shows for one operation.
#[derive(Debug)]
pub(crate) struct Shown {
    /// Method and path.
    pub(crate) operation: String,
    /// Link to the heading, relative to other pages.
    pub(crate) address: String,
    pub(crate) sh: Option<String>,
    pub(crate) python: Option<String>,
    /// Status and body of the first response.
    pub(crate) response: Option<(String, String)>,
}

/// Returns the samples below a page's headings that name an operation, such as `GET /api/urls`.
pub(crate) fn shown(page: &str, text: &str) -> Vec<Shown> {
    let of_operations = sections(text).into_iter().filter(|section| section.heading_code.contains(" /"));
    let shown = |Section { heading, heading_code, blocks, .. }: Section| {
        let block = |language: &str| blocks.iter().find(|(info, _)| info == language).map(|(_, text)| text.clone());
        let mut responses = blocks.iter().filter_map(|(info, text)| Some((info.strip_prefix("json ")?, text)));
        Shown {
            operation: heading_code,
            address: format!("{page}#{}", anchor(&heading)),
            sh: block("sh"),
            python: block("python"),
            response: responses.next().map(|(status, text)| (status.to_owned(), text.clone())),
        }
    };
    of_operations.map(shown).collect()
}

/// Fills the parameters in an operation's path with example values.
pub(crate) fn example_path(path: &str, parameters: &[&Json]) -> String {
    let in_path = parameters.iter().filter(|parameter| parameter.text("in") == "path");
    in_path.fold(path.to_owned(), |path, parameter| {
        let value = utf8_percent_encode(&example(parameter), &ESCAPED).to_string();
        path.replace(&format!("{{{}}}", parameter.text("name")), &value)
    })
}

/// Returns the JSON examples in a body or response, by name.
pub(crate) fn content_examples(of: &Json) -> Vec<(&str, &Json)> {
    let Some((_, content)) = of.entries_of("content").iter().find(|(kind, _)| kind.contains("json")) else {
        return Vec::new();
    };
    let examples = content.entries_of("examples").iter();
    let named = examples.filter_map(|(name, example)| {
        let summary = example.text("summary");
        Some((if summary.is_empty() { name } else { summary }, example.get("value")?))
    });
    named.collect()
}

/// Returns an example value for a parameter.
pub(crate) fn example(parameter: &Json) -> String {
    let schema = parameter.get("schema").unwrap_or(&Json::Null);
    let value = parameter.get("example").or_else(|| schema.get("default"));
    value.or_else(|| schema.list("enum").first()).map_or_else(|| "1".to_owned(), Json::plain)
}

/// Formats a value as Python code.
pub(crate) fn python(value: &Json) -> String {
    match value {
        Json::Null => "None".to_owned(),
        Json::Flag(true) => "True".to_owned(),
        Json::Flag(false) => "False".to_owned(),
        Json::List(items) => format!("[{}]", items.iter().map(python).collect::<Vec<_>>().join(", ")),
        Json::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{}: {}", Json::Text(key.clone()), python(value)));
            format!("{{\n    {}}}", entries.collect::<Vec<_>>().join(",\n    "))
        }
        value => value.to_string(),
    }
}
