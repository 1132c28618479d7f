//! Samples of requests: those of the guide where it has them, and otherwise ones that are made from the document.

use std::fmt::Write as _;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::{
    json::Json,
    sections::{Section, anchor},
};

/// Everything that a path must not hold as it is.
const ESCAPED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What the guide shows for one operation.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    /// Method and path.
    operation: String,
    /// The anchor of its heading.
    pub(crate) anchor: String,
    sh: Option<String>,
    python: Option<String>,
    /// The status of the first response, and its body.
    pub(crate) response: Option<(String, String)>,
}

impl Shown {
    /// Whether it is of an operation, such as `GET /api/urls`.
    pub(crate) fn is_of(&self, operation: &str) -> bool {
        self.operation == operation
    }
}

/// The operations that headings of the guide name, such as `GET /api/urls`.
pub(crate) fn shown(guide: &[Section]) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    for section in guide {
        let mut current = Shown::default();
        let mut block: Option<(String, String)> = None;
        for line in section.text.lines().chain(["### "]) {
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
            } else if let Some(heading) = line.strip_prefix("### ") {
                let operation = heading.split('`').nth(1).unwrap_or_default().to_owned();
                let next = Shown { operation, anchor: anchor(heading), ..Shown::default() };
                let done = std::mem::replace(&mut current, next);
                if done.operation.contains(" /") {
                    all.push(done);
                }
            }
        }
    }
    all
}

/// An operation, as samples need it.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    /// With examples instead of parameters.
    pub(crate) path: String,
    pub(crate) needs_token: bool,
    pub(crate) body: Option<&'a Json>,
}

impl<'a> Request<'a> {
    pub(crate) fn new(document: &'a Json, method: &'a str, path: &str, operation: &'a Json) -> Self {
        let mut path = path.to_owned();
        for parameter in operation.list("parameters").iter().map(|parameter| document.resolve(parameter)) {
            if parameter.text("in") == "path" {
                path = path.replace(
                    &format!("{{{}}}", parameter.text("name")),
                    &utf8_percent_encode(&example(parameter), &ESCAPED).to_string(),
                );
            }
        }
        let needs_token = !matches!(operation.get("security"), Some(Json::List(schemes)) if schemes.is_empty());
        let body = bodies(operation).first().map(|(_, body)| *body);
        Self { method, path, needs_token, body }
    }

    /// The samples by language: the guide's own, if it has them.
    pub(crate) fn samples(&self, shown: Option<&Shown>) -> [(&'static str, String); 3] {
        let sh = shown.and_then(|shown| shown.sh.clone()).unwrap_or_else(|| self.sh());
        let python = shown.and_then(|shown| shown.python.clone()).unwrap_or_else(|| self.python());
        [("sh", sh), ("python", python), ("ts", self.typescript())]
    }

    fn sh(&self) -> String {
        let mut text = "curl -s".to_owned();
        if self.method != "get" && !(self.method == "post" && self.body.is_some()) {
            let _ = write!(text, " -X {}", self.method.to_uppercase());
        }
        let _ = write!(text, " \"$BASE{}\"", self.path);
        if self.needs_token {
            text.push_str(" -H \"Authorization: Bearer $TOKEN\"");
        }
        if let Some(body) = self.body {
            let body = body.pretty().replace('\'', "'\\''");
            let _ = write!(text, " -H 'Content-Type: application/json' \\\n  -d '{body}'");
        }
        text
    }

    fn python(&self) -> String {
        let body = self.body.map(|body| format!(", {}", python(body))).unwrap_or_default();
        format!("call(\"{}\", \"{}\"{body})", self.method.to_uppercase(), self.path)
    }

    fn typescript(&self) -> String {
        let mut options = String::new();
        if self.method != "get" {
            let _ = writeln!(options, "  method: \"{}\",", self.method.to_uppercase());
        }
        let mut headers = Vec::new();
        if self.needs_token {
            headers.push("Authorization: `Bearer ${process.env.TOKEN}`");
        }
        if self.body.is_some() {
            headers.push("\"Content-Type\": \"application/json\"");
        }
        if !headers.is_empty() {
            let _ = writeln!(options, "  headers: {{ {} }},", headers.join(", "));
        }
        if let Some(body) = self.body {
            let _ = writeln!(options, "  body: JSON.stringify({}),", body.pretty().replace('\n', "\n  "));
        }
        let options = if options.is_empty() { String::new() } else { format!(", {{\n{options}}}") };
        format!(
            "const response = await fetch(`${{process.env.BASE}}{}`{options});\n\
             console.log(response.status, await response.text());",
            self.path
        )
    }
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
fn python(value: &Json) -> String {
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
