//! Builds the search index from every section on every page.

use crate::{
    json::Json,
    sections::{self, Section, anchor},
    site::Page,
};

/// Creates an index entry. The entry for the top of a page has an empty anchor.
fn entry(page: &Page, anchor: &str, heading: &str, text: &str) -> Json {
    object! { "page": page.name, "title": page.title, "anchor": anchor, "heading": heading, "text": text }
}

/// Returns an entry for each section of a Markdown page, without code blocks.
pub(crate) fn sections(page: &Page, text: &str) -> Vec<Json> {
    let section = |Section { heading, text, .. }: Section| {
        let shown = if heading.is_empty() { page.title } else { &heading };
        entry(page, &anchor(&heading), shown, &text)
    };
    sections::sections(text).into_iter().map(section).collect()
}

/// Returns an entry for each operation in the reference.
pub(crate) fn operations(page: &Page, operations: &[Json]) -> Vec<Json> {
    let operation = |operation: &Json| {
        let heading = format!("{} {}", operation.text("method").to_uppercase(), operation.text("path"));
        let text = |key| operation.get("json").map_or("", |json| json.text(key));
        entry(page, operation.text("id"), &heading, &format!("{} {}", text("summary"), text("description")))
    };
    operations.iter().map(operation).collect()
}

#[cfg(test)]
mod tests {
    use super::sections;
    use crate::site::Page;

    #[test]
    fn index_entries_omit_code_blocks() {
        let entries =
            sections(Page::named("errors"), "Lead.\n\n## Read `GET /a`\n\n| B |\n|---|\n| `c` |\n\n```\nd\n```\n");
        let found: Vec<_> = entries
            .iter()
            .map(|entry| (entry.text("anchor"), entry.text("heading"), entry.text("text").trim()))
            .collect();
        assert_eq!(found, [("", "Errors", "Lead."), ("read-get-a", "Read GET /a", "B c")]);
    }
}
