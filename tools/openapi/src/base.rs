//! Reads the parts of the document that are not specific to a route.

use docs_pages::Json;

use crate::pattern;

/// Returns these parts. `inline` contains schemas and parameters without a name in the document.
pub(crate) fn base() -> Json {
    let text = include_str!("base.json").replace("VERSION", env!("CARGO_PKG_VERSION"));
    let mut base = Json::parse(&text);
    *base.at("inline").at("If-Match").at("schema").at("pattern") = Json::of(&pattern::if_match());
    base
}

/// Returns a schema or parameter to write out in place.
pub(crate) fn inline(name: &str) -> Option<Json> {
    base().at("inline").get(name).cloned()
}
