//! The reference: every operation of the document, grouped by its tag, and every schema.

use std::fmt::Write as _;

use crate::{
    code::{concat, details, escape, heading},
    layout::Contents,
    operation::{Operation, headers, status_badge},
    samples::{Shown, content_examples},
    schema::Document,
    site::Kind,
};

/// The content of the reference, and its contents for the navigation.
pub(crate) fn reference(document: &Document, shown: &[Shown]) -> (String, Contents) {
    let operations = Operation::all(document.json);
    let mut html = format!(
        "<h1>Reference</h1><p class=\"lead\">Every operation, with a form to try it. Set a token in the header of this page \
         first. Clients can be generated from the <a href=\"{}openapi.json\">OpenAPI document</a>.</p>",
        Kind::Reference.root()
    );
    let mut contents = Contents { groups: Vec::new(), has_filter: true };
    let mut tags: Vec<(&str, &str)> =
        document.json.list("tags").iter().map(|tag| (tag.text("name"), tag.text("description"))).collect();
    // Operations without a described tag are the last ones.
    for operation in &operations {
        if !tags.iter().any(|(name, _)| *name == operation.tag()) {
            tags.push((operation.tag(), ""));
        }
    }
    for (tag, description) in tags {
        let of_tag: Vec<&Operation> = operations.iter().filter(|operation| operation.tag() == tag).collect();
        if of_tag.is_empty() {
            continue;
        }
        let title = title(tag);
        let anchor = format!("tag-{}", crate::markdown::anchor(tag));
        let _ = write!(html, "{}<p>{}</p>", heading(2, &anchor, &escape(&title)), document.text(description));
        let mut links = Vec::new();
        for operation in of_tag {
            html.push_str(&operation.html(document, shown));
            let method = operation.method;
            let label = format!(
                "<span class=\"method {method}\">{}</span> <span>{}</span><span class=\"search\" hidden>{} {}</span>",
                method.to_uppercase(),
                escape(operation.json.text("summary")),
                escape(operation.path),
                operation.id()
            );
            links.push((operation.id(), label));
        }
        contents.groups.push((title, links));
    }
    let schemas = document.components("schemas");
    html += &heading(2, "schemas", "Schemas");
    for (name, schema) in schemas {
        let name = escape(name);
        let _ = write!(
            html,
            "<details class=\"schema\" id=\"schema-{name}\"><summary><h3>{name}</h3></summary>{}</details>",
            document.whole(schema)
        );
    }
    contents.groups.push((String::new(), vec![("schemas".to_owned(), format!("Schemas ({})", schemas.len()))]));
    (html, contents)
}

/// The title of a tag.
fn title(tag: &str) -> String {
    match tag {
        "urls" => return "URLs".to_owned(),
        "" => return "Others".to_owned(),
        _ => {}
    }
    let mut characters = tag.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

/// Every error that operations share, with its example and the operations that return it.
pub(crate) fn errors(document: &Document) -> (String, Vec<(String, String)>) {
    let operations = Operation::all(document.json);
    let mut html = String::new();
    let mut links = Vec::new();
    let mut entries = Vec::new();
    for (name, response) in document.components("responses") {
        let mut returned_by = Vec::new();
        let mut statuses = Vec::new();
        for operation in &operations {
            for (status, _, _) in
                operation.responses(document).into_iter().filter(|(_, _, of)| *of == Some(name.as_str()))
            {
                returned_by.push((operation.id(), operation.json.text("summary")));
                statuses.push(status);
            }
        }
        entries.push((statuses.first().copied().unwrap_or_default(), name, response, returned_by));
    }
    entries.sort_by_key(|(status, ..)| *status);
    for (status, name, response, returned_by) in entries {
        let name = escape(name);
        let _ = write!(
            html,
            "<section class=\"error\" id=\"{name}\" aria-labelledby=\"{name}-title\"><div class=\"text\">\
             <h3 id=\"{name}-title\"><a class=\"anchor\" href=\"#{name}\">{}{name}</a></h3><p>{}</p>{}",
            status_badge(status),
            document.text(response.text("description")),
            headers(document, response)
        );
        let items = concat(
            returned_by
                .iter()
                .map(|(id, summary)| format!("<li><a href=\"reference#{id}\">{}</a></li>", escape(summary))),
        );
        html += &details("more", &format!("Operations ({})", returned_by.len()), &format!("<ul>{items}</ul>"));
        html += "</div><div class=\"code\">";
        for (summary, example) in content_examples(response) {
            let _ = write!(
                html,
                "<div class=\"samples\"><div class=\"sample\"><p class=\"sample-name\">{}</p>{}</div></div>",
                escape(summary),
                crate::code::block("json", &example.pretty())
            );
        }
        html.push_str("</div></section>");
        links.push((name.clone(), format!("{} {name}", escape(status))));
    }
    (html, links)
}
