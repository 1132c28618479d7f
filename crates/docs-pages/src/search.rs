//! The index of the search: what each section of each page says.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use serde::Serialize;

use crate::{operation::Operation, sections::anchor, site::Page};

/// A section that a search can find.
#[derive(Debug, Serialize)]
pub(crate) struct Entry {
    page: &'static str,
    /// Title of the page.
    title: &'static str,
    /// Empty for the beginning of a page.
    anchor: String,
    heading: String,
    text: String,
}

impl Entry {
    fn new(page: &'static Page, anchor: String, heading: String) -> Self {
        Self { page: page.name, title: page.title, anchor, heading, text: String::new() }
    }
}

/// Returns the sections of a page of Markdown, without blocks of code.
pub(crate) fn sections(page: &'static Page, text: &str) -> Vec<Entry> {
    let mut entries = vec![Entry::new(page, String::new(), page.title.to_owned())];
    let mut heading: Option<String> = None;
    let mut is_code = false;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                if let Some(heading) = heading.take() {
                    entries.push(Entry::new(page, anchor(&heading), heading));
                }
            }
            Event::Start(Tag::CodeBlock(_)) => is_code = true,
            Event::End(TagEnd::CodeBlock) => is_code = false,
            Event::Text(part) | Event::Code(part) if !is_code => match (&mut heading, entries.last_mut()) {
                (Some(heading), _) => heading.push_str(&part),
                (None, Some(entry)) => {
                    entry.text.push_str(&part);
                    entry.text.push(' ');
                }
                (None, None) => {}
            },
            _ => {}
        }
    }
    entries
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
