//! Request samples from the guide, and the parts of all other samples.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::{json::Json, sections::anchor};

/// Everything that a path must not hold as it is.
const ESCAPED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What the guide shows for one operation.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    /// Method and path.
    operation: String,
    /// The address of its heading, from another page.
    pub(crate) address: String,
    pub(crate) sh: Option<String>,
    pub(crate) python: Option<String>,
    /// The status of the first response, and its body.
    pub(crate) response: Option<(String, String)>,
}

impl Shown {
    /// Whether it is of an operation, such as `GET /api/urls`.
    pub(crate) fn is_of(&self, operation: &str) -> bool {
        self.operation == operation
    }
}

/// The operations that headings of a page name, such as `GET /api/urls`.
pub(crate) fn shown(page: &str, text: &str) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    let mut current = Shown::default();
    let mut block: Option<(String, String)> = None;
    for line in text.lines().chain(["## "]) {
        if line == "```"
            && let Some((info, text)) = block.take()
        {
            match info.as_str() {
                "sh" if current.sh.is_none() => current.sh = Some(text),
                "python" if current.python.is_none() => current.python = Some(text),
                _ => {
                    if let (Some(status), None) = (info.strip_prefix("json "), &current.response) {
                        current.response = Some((status.to_owned(), text));
                    }
                }
            }
        } else if let Some((_, text)) = &mut block {
            text.push_str(line);
            text.push('\n');
        } else if let Some(info) = line.strip_prefix("```") {
            block = Some((info.to_owned(), String::new()));
        } else if line.starts_with("##") {
            let heading = line.trim_start_matches('#').trim_start();
            let operation = heading.split('`').nth(1).unwrap_or_default().to_owned();
            let next = Shown { operation, address: format!("{page}#{}", anchor(heading)), ..Shown::default() };
            let done = std::mem::replace(&mut current, next);
            if done.operation.contains(" /") {
                all.push(done);
            }
        }
    }
    all
}

/// The path of an operation with examples instead of these parameters.
pub(crate) fn example_path(path: &str, parameters: &[&Json]) -> String {
    let in_path = parameters.iter().filter(|parameter| parameter.text("in") == "path");
    in_path.fold(path.to_owned(), |path, parameter| {
        let value = utf8_percent_encode(&example(parameter), &ESCAPED).to_string();
        path.replace(&format!("{{{}}}", parameter.text("name")), &value)
    })
}

/// The examples of an operation's body, with their names.
pub(crate) fn bodies(operation: &Json) -> Vec<(&str, &Json)> {
    operation.get("requestBody").map(content_examples).unwrap_or_default()
}

/// The examples of the content of a body or of a response.
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

/// The example of a parameter.
pub(crate) fn example(parameter: &Json) -> String {
    let schema = parameter.get("schema").unwrap_or(&Json::Null);
    let value = parameter.get("example").or_else(|| schema.get("example")).or_else(|| schema.get("default"));
    value.or_else(|| schema.list("enum").first()).map_or_else(|| "1".to_owned(), Json::plain)
}

/// A value as Python writes it.
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
