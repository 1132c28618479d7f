//! The search index: the text of each section of each page.

use serde::Serialize;

use crate::{
    operation::Operation,
    sections::{self, Section, anchor},
    site::Page,
};

/// A section that a search can find.
#[derive(Debug, Serialize)]
pub(crate) struct Entry {
    page: &'static str,
    /// Title of the page.
    title: &'static str,
    /// Empty for the top of a page.
    anchor: String,
    heading: String,
    text: String,
}

impl Entry {
    fn new(page: &'static Page, anchor: String, heading: String) -> Self {
        Self { page: page.name, title: page.title, anchor, heading, text: String::new() }
    }
}

/// Returns the sections of a Markdown page, without code blocks.
pub(crate) fn sections(page: &'static Page, text: &str) -> Vec<Entry> {
    let entry = |Section { heading, text, .. }: Section| {
        let shown = if heading.is_empty() { page.title.to_owned() } else { heading.clone() };
        Entry { text, ..Entry::new(page, anchor(&heading), shown) }
    };
    sections::sections(text).into_iter().map(entry).collect()
}

/// Returns the operations of the reference.
pub(crate) fn operations(page: &'static Page, operations: &[Operation]) -> Vec<Entry> {
    let entry = |operation: &Operation| {
        let heading = format!("{} {}", operation.method.to_uppercase(), operation.path);
        let text = format!("{} {}", operation.json.text("summary"), operation.json.text("description"));
        Entry { text, ..Entry::new(page, operation.id.clone(), heading) }
    };
    operations.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::sections;
    use crate::site::Page;

    #[test]
    fn a_section_has_its_text_without_code() {
        let entries =
            sections(Page::named("errors"), "Lead.\n\n## Read `GET /a`\n\n| B |\n|---|\n| `c` |\n\n```\nd\n```\n");
        let found: Vec<_> = entries.iter().map(|entry| (&*entry.anchor, &*entry.heading, entry.text.trim())).collect();
        assert_eq!(found, [("", "Errors", "Lead."), ("read-get-a", "Read GET /a", "B c")]);
    }
}
