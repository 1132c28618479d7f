//! Describes schema types and rules in words.

use crate::{code::escape, json::Json};

/// Maximum length of a displayed pattern. Longer patterns are hard to read.
const PATTERN: usize = 40;

/// Returns a value's type as HTML. Named types are links.
pub(crate) fn kind(schema: &Json) -> String {
    if let Some(reference) = schema.get("$ref").and_then(Json::as_text) {
        let name = escape(reference.rsplit('/').next().unwrap_or_default());
        return format!("<a href=\"#schema-{name}\">{name}</a>");
    }
    let several = ["oneOf", "anyOf"].map(|key| schema.list(key)).concat();
    if !several.is_empty() {
        let mut kinds: Vec<String> = Vec::new();
        for kind in several.iter().map(kind) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        return kinds.join(" or ");
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
            (name, _) => escape(name),
        })
        .collect();
    names.join(" or ")
}

/// Returns a value's rules, other than its type, as HTML.
pub(crate) fn rules(schema: &Json) -> Vec<String> {
    let mut list = Vec::new();
    for schema in ["oneOf", "anyOf"].iter().flat_map(|key| schema.list(key)) {
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
    fn schemas_are_described_in_words() {
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
