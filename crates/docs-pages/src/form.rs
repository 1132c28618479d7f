//! The form to send the request of an operation.

use std::fmt::Write as _;

use crate::{
    code::{concat, escape},
    json::Json,
    operation::Operation,
    samples::{bodies, example},
    schema::Document,
};

/// The form to send a request; the page's script shows it.
pub(crate) fn form(operation: &Operation, document: &Document, needs_token: bool) -> String {
    let id = operation.id();
    let mut html = format!(
        "<details class=\"try\" hidden data-method=\"{}\" data-path=\"{}\" data-token=\"{}\"><summary>Try it</summary>\
         <form aria-label=\"Try {}\" novalidate>",
        operation.method.to_uppercase(),
        escape(operation.path),
        if needs_token { "yes" } else { "no" },
        escape(operation.json.text("summary")),
    );
    let parameters = operation.json.list("parameters").iter().map(|parameter| document.resolve(parameter));
    let (headers, others): (Vec<_>, Vec<_>) = parameters.partition(|parameter| parameter.text("in") == "header");
    for parameter in others.into_iter().chain(headers) {
        let (name, of) = (escape(parameter.text("name")), escape(parameter.text("in")));
        let schema = document.resolve(parameter.get("schema").unwrap_or(&Json::Null));
        let field = format!("id=\"try-{id}-{name}\" name=\"{name}\" data-in=\"{of}\"");
        let _ = write!(
            html,
            "<div class=\"input\"><label for=\"try-{id}-{name}\"><code>{name}</code> <span class=\"of\">{of}</span></label>{}</div>",
            input(&field, &format!("try-{id}-{name}-list"), parameter, schema)
        );
    }
    if operation.json.get("requestBody").is_some() {
        let bodies = bodies(operation.json);
        if bodies.len() > 1 {
            let options =
                concat(bodies.iter().map(|(name, body)| {
                    format!("<option value=\"{}\">{}</option>", escape(&body.pretty()), escape(name))
                }));
            let _ = write!(
                html,
                "<div class=\"input\"><label for=\"try-{id}-example\">Example</label>\
                 <select id=\"try-{id}-example\" class=\"example\">{options}</select></div>"
            );
        }
        let first = bodies.first().map(|(_, body)| body.pretty()).unwrap_or_default();
        let _ = write!(
            html,
            "<div class=\"input\"><label for=\"try-{id}-body\">Body <span class=\"of\">JSON</span></label>\
             <textarea id=\"try-{id}-body\" class=\"body\" rows=\"{}\" spellcheck=\"false\">\n{}</textarea></div>",
            first.lines().count().clamp(4, 14),
            escape(&first)
        );
    }
    html + "<p class=\"actions\"><button class=\"primary\">Send</button><span class=\"hint\"></span></p></form>\
            <div class=\"result\" role=\"status\"></div></details>"
}

/// A field of the form for a parameter.
fn input(field: &str, list: &str, parameter: &Json, schema: &Json) -> String {
    let values = schema.list("enum");
    let is_required = parameter.get("required") == Some(&Json::Flag(true));
    if !values.is_empty() {
        let none = if is_required { "" } else { "<option></option>" };
        let options = concat(values.iter().map(|value| format!("<option>{}</option>", escape(&value.plain()))));
        return format!("<select {field}>{none}{options}</select>");
    }
    let value = if is_required { escape(&example(parameter)) } else { String::new() };
    let names = schema.entries_of("x-vocabulary");
    if names.is_empty() {
        return format!("<input {field} value=\"{value}\" autocomplete=\"off\">");
    }
    let options = concat(
        names.iter().map(|(id, name)| format!("<option value=\"{}\">{}</option>", escape(id), escape(&name.plain()))),
    );
    format!(
        "<input {field} value=\"{value}\" autocomplete=\"off\" list=\"{list}\"><datalist id=\"{list}\">{options}</datalist>"
    )
}
