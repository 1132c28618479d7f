//! What belongs to no route.

use docs_pages::Json;

use crate::pattern;

/// What belongs to no route, and, as `inline`, what has no name in the document.
pub(crate) fn base() -> Json {
    let text = include_str!("base.json").replace("VERSION", env!("CARGO_PKG_VERSION"));
    let mut base = Json::parse(&text);
    *base.at("inline").at("If-Match").at("schema").at("pattern") = Json::of(&pattern::if_match());
    base
}

/// What has no name in the document, and is written out where it is used.
pub(crate) fn inline(name: &str) -> Option<Json> {
    base().at("inline").get(name).cloned()
}
