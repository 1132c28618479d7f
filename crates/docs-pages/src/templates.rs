//! Creates the page templates and their filters.

use std::sync::Arc;

use minijinja::{
    AutoEscape, Environment, Error, UndefinedBehavior,
    syntax::SyntaxConfig,
    value::{Serde, Value},
};

use crate::{
    code,
    json::Json,
    markdown,
    samples::{example, python},
    schema::{kind, rules},
    site::Page,
};

const TEMPLATES: [(&str, &str); 9] = [
    ("page.html", include_str!("templates/page.html")),
    ("parts.html", include_str!("templates/parts.html")),
    ("start.html", include_str!("templates/start.html")),
    ("reference.html", include_str!("templates/reference.html")),
    ("operation.html", include_str!("templates/operation.html")),
    ("errors.html", include_str!("templates/errors.html")),
    ("curl.txt", include_str!("templates/curl.txt")),
    ("call.txt", include_str!("templates/call.txt")),
    ("fetch.txt", include_str!("templates/fetch.txt")),
];

/// Creates the template environment for one page.
///
/// Links are relative to `page`, and `$ref`s resolve in `document`.
pub(crate) fn environment(document: Arc<Json>, page: &'static Page) -> Result<Environment<'static>, Error> {
    let mut templates = Environment::new();
    templates.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    // Templates can refer to fields that are missing from the document.
    templates.set_undefined_behavior(UndefinedBehavior::Chainable);
    templates.set_formatter(|output, state, value| {
        if value.is_undefined() || value.is_none() {
            return Ok(());
        }
        // Text templates render code samples, which are escaped later as a whole.
        let is_html = value.is_safe() || *state.auto_escape() == AutoEscape::None;
        let text = value.to_string();
        output.write_str(&if is_html { text } else { code::escape(&text) }).map_err(Error::from)
    });
    let html = Value::from_safe_string;
    templates
        .add_filter("markdown", move |text: &Value| html(markdown::inline(text.as_str().unwrap_or_default(), page)));
    templates.add_filter("resolve", move |value: Serde<Json>| Value::from(Serde(document.resolve(&value.0))));
    templates.add_filter("kind", move |schema: Serde<Json>| html(kind(&schema.0)));
    templates.add_filter("rules", move |schema: Serde<Json>| html(rules(&schema.0).join(" · ")));
    templates.add_filter("example", |parameter: Serde<Json>| example(&parameter.0));
    templates.add_filter("plain", |value: Serde<Json>| value.0.plain());
    templates.add_filter("code", move |text: &str, language: &str| html(code::block(language, text)));
    templates.add_filter("samples", move |blocks: Serde<Vec<(String, String)>>| {
        html(markdown::code_samples(blocks.0.iter().map(|(language, text)| (language.as_str(), text.as_str()))))
    });
    templates.add_filter("python", |value: Serde<Json>| python(&value.0));
    // Allow line breaks before the slashes of long paths.
    templates.add_filter("breakable", move |path: &str| html(code::escape(path).replace('/', "<wbr>/")));
    for (name, source) in TEMPLATES {
        templates.add_template(name, source)?;
    }
    Ok(templates)
}
