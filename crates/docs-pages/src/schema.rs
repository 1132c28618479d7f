//! Schemas for people: the type of a value, its rules, and the fields of an object.

use std::fmt::Write as _;

use indexmap::map::Slice;

use crate::{
    code::{concat, details, escape},
    json::Json,
    markdown,
    site::Links,
};

/// The document, with what its parts are shown with.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    pub(crate) json: &'a Json,
    pub(crate) links: &'a Links,
}

/// More optional fields than these can be opened.
const FIELDS: usize = 6;
/// A longer pattern says nothing to people.
const PATTERN: usize = 40;

impl<'a> Document<'a> {
    /// What a reference refers to, and any other value itself.
    pub(crate) fn resolve(&self, json: &'a Json) -> &'a Json {
        json.get("$ref").and_then(Json::as_text).and_then(|reference| self.json.pointer(reference)).unwrap_or(json)
    }

    /// What the document names, of a kind such as `schemas`.
    pub(crate) fn components(&self, kind: &str) -> &'a Slice<String, Json> {
        self.json.get("components").unwrap_or(&Json::Null).entries_of(kind)
    }

    /// A description, as HTML.
    pub(crate) fn text(&self, markdown: &str) -> String {
        markdown::inline(markdown, self.links)
    }

    /// One field, parameter or header.
    pub(crate) fn field(&self, name: &str, of: &str, is_required: bool, schema: &'a Json, description: &str) -> String {
        let mut html = format!(
            "<li class=\"field\"><p class=\"field-head\"><code class=\"name\">{}</code> <span class=\"kind\">{}</span>",
            escape(name),
            kind(schema)
        );
        if !of.is_empty() {
            let _ = write!(html, " <span class=\"of\">{of}</span>");
        }
        if is_required {
            html.push_str(" <span class=\"required\">required</span>");
        }
        html.push_str("</p>");
        // Rules of a short list of values are worth repeating where it is used.
        let named = self.resolve(schema);
        let rules = rules(if named.list("enum").is_empty() { schema } else { named });
        if !description.is_empty() {
            let _ = write!(html, "<p>{}</p>", self.text(description));
        }
        if !rules.is_empty() {
            let _ = write!(html, "<p class=\"rules\">{}</p>", rules.join(" · "));
        }
        let inner = if schema.text("type") == "array" { schema.get("items").unwrap_or(schema) } else { schema };
        if !inner.entries_of("properties").is_empty() {
            html.push_str(&self.fields(inner));
        }
        html + "</li>"
    }

    /// The fields of an object. Of many optional ones, those that are required are shown first.
    pub(crate) fn fields(&self, schema: &'a Json) -> String {
        let required: Vec<&str> = schema.list("required").iter().filter_map(Json::as_text).collect();
        let entries = schema.entries_of("properties");
        let (first, others): (Vec<_>, Vec<_>) = entries.iter().partition(|(name, _)| required.contains(&name.as_str()));
        let field = |(name, schema): &(&'a String, &'a Json)| {
            self.field(name, "", required.contains(&name.as_str()), schema, schema.text("description"))
        };
        let list = |fields: &[_]| format!("<ul class=\"fields\">{}</ul>", concat(fields.iter().map(field)));
        if others.len() <= FIELDS {
            return list(&entries.iter().collect::<Vec<_>>());
        }
        let first = if first.is_empty() { String::new() } else { list(&first) };
        first + &details("more", &format!("{} optional fields", others.len()), &list(&others))
    }

    /// A schema in full: its fields, or its type and rules.
    pub(crate) fn whole(&self, schema: &'a Json) -> String {
        let mut html = String::new();
        let description = schema.text("description");
        if !description.is_empty() {
            let _ = write!(html, "<p>{}</p>", self.text(description));
        }
        let parts = schema.list("allOf");
        html.extend(parts.iter().map(|part| self.whole(self.resolve(part))));
        if schema.get("properties").is_some() {
            html.push_str(&self.fields(schema));
        } else if parts.is_empty() {
            let rules = rules(schema);
            let rules = if rules.is_empty() { String::new() } else { format!(" · {}", rules.join(" · ")) };
            let _ = write!(html, "<p class=\"rules\">{}{rules}</p>", kind(schema));
        }
        html
    }
}

/// The type of a value, as HTML: a named one is a link to it.
pub(crate) fn kind(schema: &Json) -> String {
    if let Some(reference) = schema.get("$ref").and_then(Json::as_text) {
        let name = escape(reference.rsplit('/').next().unwrap_or_default());
        return format!("<a href=\"#schema-{name}\">{name}</a>");
    }
    let several = ["oneOf", "anyOf", "allOf"].map(|key| schema.list(key)).concat();
    if !several.is_empty() {
        let mut kinds: Vec<String> = Vec::new();
        for kind in several.iter().map(kind) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        return kinds.join(if schema.get("allOf").is_some() { " and " } else { " or " });
    }
    let names: Vec<&str> = match schema.get("type") {
        Some(Json::Text(name)) => vec![name],
        Some(Json::List(names)) => names.iter().filter_map(Json::as_text).collect(),
        _ if schema.get("properties").is_some() => vec!["object"],
        _ => vec!["any value"],
    };
    let names: Vec<String> = names
        .into_iter()
        .map(|name| match (name, schema.get("items")) {
            ("array", Some(items)) => format!("list of {}", kind(items)),
            ("array", None) => "list".to_owned(),
            (name, _) => escape(name),
        })
        .collect();
    names.join(" or ")
}

/// The rules of a value besides its type, as HTML.
pub(crate) fn rules(schema: &Json) -> Vec<String> {
    let mut list = Vec::new();
    for schema in ["oneOf", "anyOf", "allOf"].iter().flat_map(|key| schema.list(key)) {
        for rule in rules(schema) {
            if !list.contains(&rule) && rule != "at most 0 characters" {
                list.push(rule);
            }
        }
    }
    let number = |key: &str| schema.get(key).map(Json::plain);
    let code = |value: &Json| format!("<code>{}</code>", escape(&value.plain()));
    if let Some(value) = schema.get("const") {
        list.push(format!("always {}", code(value)));
    }
    let values = schema.list("enum").iter().filter(|value| **value != Json::Null).map(code).collect::<Vec<_>>();
    if !values.is_empty() {
        list.push(format!("one of {}", values.join(", ")));
    }
    for (least, most, unit) in [("minLength", "maxLength", "character"), ("minItems", "maxItems", "item")] {
        let plural = |count: &str| if count == "1" { unit.to_owned() } else { format!("{unit}s") };
        match (number(least), number(most)) {
            (Some(least), Some(most)) if least == most => list.push(format!("exactly {least} {}", plural(&least))),
            (Some(least), Some(most)) => list.push(format!("{least} to {most} {}", plural(&most))),
            (None, Some(most)) => list.push(format!("at most {most} {}", plural(&most))),
            (Some(least), None) if least != "0" => list.push(format!("at least {least} {}", plural(&least))),
            _ => {}
        }
    }
    match (number("minimum"), number("maximum")) {
        (Some(least), Some(most)) if most.len() > 12 => list.push(format!("at least {least}")),
        (Some(least), Some(most)) => list.push(format!("{least} to {most}")),
        (Some(least), None) => list.push(format!("at least {least}")),
        (None, Some(most)) => list.push(format!("at most {most}")),
        (None, None) => {}
    }
    let format = schema.text("format");
    if !matches!(format, "" | "int32" | "int64") {
        list.push(format!("format <code>{}</code>", escape(format)));
    }
    let pattern = schema.text("pattern");
    if !pattern.is_empty() && pattern.len() <= PATTERN && !pattern.contains("\\x00") {
        list.push(format!("pattern <code>{}</code>", escape(pattern)));
    }
    if let Some(value) = schema.get("default") {
        list.push(format!("default {}", code(value)));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::{kind, rules};
    use crate::json::Json;

    #[test]
    fn types_and_rules_are_words() {
        for (schema, expected, of) in [
            (r#"{"type":["string","null"],"maxLength":30}"#, "string or null", "at most 30 characters"),
            (
                r#"{"type":"integer","minimum":1,"maximum":200,"default":100}"#,
                "integer",
                "1 to 200 · default <code>100</code>",
            ),
            (
                r##"{"type":"array","items":{"$ref":"#/x/A<b>"},"minItems":1}"##,
                "list of <a href=\"#schema-A&lt;b&gt;\">A&lt;b&gt;</a>",
                "at least 1 item",
            ),
            (
                r#"{"anyOf":[{"type":"string","format":"email"},{"type":"string","maxLength":0},{"type":"null"}]}"#,
                "string or null",
                "format <code>email</code>",
            ),
            (r#"{"enum":["a",null],"type":"string"}"#, "string", "one of <code>a</code>"),
        ] {
            let schema: Json = serde_json::from_str(schema).unwrap();
            assert_eq!(kind(&schema), expected);
            assert_eq!(rules(&schema).join(" · "), of);
        }
    }
}
