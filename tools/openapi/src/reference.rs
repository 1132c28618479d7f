//! Generates the tables between markers in `docs/reference/`.

use std::fmt::Write as _;

use compliance_api::{
    catalogue::Vocabulary,
    description::{self, Kind},
    error::{Reason, meaning},
    v1::Format,
};
use heck::ToShoutySnakeCase as _;

use crate::{
    errors::reasons,
    input::is_required,
    parameter::choices,
    record::column,
    schema::{message, range},
};

/// Returns the page with all generated parts updated.
///
/// A part begins with `<!-- generated: NAME -->` and ends with `<!-- end -->`.
///
/// # Panics
///
/// Panics if a part has an unknown name or no end marker.
pub fn with_generated_parts(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<!-- generated: ") {
        let (name, after) = after.split_once(" -->").expect("a marker is not closed");
        let (_, after) = after.split_once("<!-- end -->").expect("a generated part has no end marker");
        let _ = write!(result, "{before}<!-- generated: {name} -->\n{}<!-- end -->", part(name));
        rest = after;
    }
    result + rest
}

fn part(name: &str) -> String {
    match name.split_once(' ') {
        Some(("input", message)) => input(message),
        Some(("record", message)) => record(message),
        Some(("query", message)) => query(message),
        Some(("vocabulary", name)) => vocabulary(name),
        None if name == "reasons" => errors(),
        _ => panic!("unknown part {name}"),
    }
}

fn input(name: &str) -> String {
    let mut table = "| Field | Required | Characters | What it holds |\n|---|---|---|---|\n".to_owned();
    // The path contains the ID, and a header contains the etag.
    for rules in message(name).fields.iter().filter(|field| !["id", "etag"].contains(&field.name)) {
        let doc = rules.doc;
        let required = if is_required(rules) || rules.entry { "yes" } else { "" };
        let characters = match (rules.exact_chars, rules.max_chars) {
            (Some(exact), _) => format!("exactly {exact}"),
            (None, Some(most)) if rules.is_list => format!("at most {most} each"),
            (None, Some(most)) => format!("at most {most}"),
            (None, None) => String::new(),
        };
        let values = match (rules.kind, rules.format) {
            (Kind::Integer(bits), _) => {
                let (least, most) = range(bits, rules);
                format!(" An integer from {least} to {most}.")
            }
            (Kind::Flag, _) => " `true`, `false`, `\"yes\"` or `\"no\"`.".to_owned(),
            (Kind::Message(inner), _) if inner.name == "Timestamp" => " `YYYY-MM-DD HH:MM:SS`, UTC.".to_owned(),
            _ if !rules.one_of.is_empty() => format!(" One of `{}`.", rules.one_of.join("`, `")),
            (_, Format::Email) if !doc.contains("ddress") => " A valid e-mail address.".to_owned(),
            (_, Format::Url) => " It begins with `http://` or `https://`.".to_owned(),
            _ => String::new(),
        };
        let _ = writeln!(table, "| `{}` | {required} | {characters} | {doc}{values} |", rules.name);
    }
    table
}

fn record(name: &str) -> String {
    let mut table = "| Field | Type | Null | What it holds |\n|---|---|---|---|\n".to_owned();
    for field in message(name).fields.iter().filter(|field| field.form != "omitted") {
        let kind = match (field.form, field.kind) {
            ("datetime", _) => "timestamp",
            ("yes_no", _) => "`yes` or `no`",
            (_, Kind::Integer(_)) => "integer",
            (_, Kind::Message(inner)) if inner.name == "Infraction" => "list of infractions",
            (_, Kind::Message(inner)) if inner.name == "Incident" => "list of incidents",
            (_, Kind::Text) if field.is_list => "list of texts",
            (_, Kind::Text) if field.doc.ends_with("YYYY-MM-DD.") => "day",
            (_, Kind::Text | Kind::Choice(_)) => "text",
            (form, kind) => panic!("{name}.{} has an unknown type: {form} {kind:?}", field.name),
        };
        let null = if field.may_be_absent && !field.is_list { "possible" } else { "" };
        let written = column(name, field.name)
            .filter(|column| name == "Affiliate" && column.name != field.name && column.name != "company_id");
        let written = written.map(|column| format!(" In requests: `{}`.", column.name)).unwrap_or_default();
        let _ = writeln!(table, "| `{}` | {kind} | {null} | {}{written} |", field.name, field.doc);
    }
    table
}

fn query(name: &str) -> String {
    let mut table = "| Parameter | Values | Meaning |\n|---|---|---|\n".to_owned();
    for field in message(name).fields {
        let values = match (choices(field), field.at_least, field.at_most) {
            (Some(choices), ..) => format!("`{}`", choices.join("`, `")),
            (None, Some(least), Some(most)) if most < 1000 => format!("{least} to {most}"),
            (None, Some(0), _) => "0 or a positive integer".to_owned(),
            (None, Some(_), _) => "positive integer".to_owned(),
            _ if field.format == Format::Date => "day, `YYYY-MM-DD`".to_owned(),
            _ if field.format == Format::Timestamp => "time, `YYYY-MM-DD HH:MM:SS`".to_owned(),
            _ => {
                let most = field.max_chars.map_or_else(String::new, |most| format!(" to {most}"));
                let least = field.exact_chars.or(field.min_chars).unwrap_or(1);
                let required = if field.required { "; required" } else { "" };
                format!("{least}{most} characters{required}")
            }
        };
        let _ = writeln!(table, "| `{}` | {values} | {} |", field.name, field.doc);
    }
    table
}

fn vocabulary(name: &str) -> String {
    let vocabulary = Vocabulary::all().find(|vocabulary| format!("{vocabulary:?}") == name);
    let vocabulary = vocabulary.unwrap_or_else(|| panic!("unknown vocabulary {name}"));
    let names = vocabulary.defaults().iter().enumerate().map(|(index, name)| format!("{} {name}", index + 1));
    names.collect::<Vec<_>>().join(" · ") + "\n"
}

/// Returns the table of error reasons that partners can receive.
fn errors() -> String {
    let mut reasons: Vec<Reason> = reasons().collect();
    // Only gRPC returns this reason.
    reasons.retain(|reason| *reason != Reason::CompressionUnsupported);
    reasons.sort_by_key(|reason| meaning(*reason).http);
    let mut table = "| Status | `code` | Why | Over gRPC |\n|---|---|---|---|\n".to_owned();
    for reason in reasons {
        let meaning = meaning(reason);
        let code = i32::from(meaning.result);
        let code = if code == 0 { "none".to_owned() } else { format!("`{code}`") };
        let grpc = format!("{:?}", meaning.grpc).to_shouty_snake_case();
        let name = reason.as_str_name().trim_start_matches("REASON_");
        let why = description::reason(reason);
        let _ = writeln!(table, "| {} | {code} | {why} | `{grpc}`, `{name}` |", meaning.http.as_u16());
    }
    table
}

#[cfg(test)]
mod tests {
    #[test]
    fn input_table_shows_integer_ranges() {
        let table = super::input("ListComplianceUrlsRequest");
        assert!(table.contains(" An integer from 1 to 200. |"), "{table}");
    }
}
