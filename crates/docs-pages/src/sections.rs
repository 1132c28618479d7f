//! Splits Markdown pages into sections, and computes heading anchors.

use std::mem;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// A heading and the content below it.
#[derive(Debug, Default)]
pub(crate) struct Section {
    /// Empty for the content before the first heading.
    pub(crate) heading: String,
    /// The heading's first code span, or an empty string if it has none.
    pub(crate) heading_code: String,
    /// The text, without code blocks.
    pub(crate) text: String,
    /// The code blocks: info string and text.
    pub(crate) blocks: Vec<(String, String)>,
}

/// Returns a page's sections.
pub(crate) fn sections(page: &str) -> Vec<Section> {
    let (mut sections, mut current) = (Vec::new(), Section::default());
    let (mut is_heading, mut is_block) = (false, false);
    for event in Parser::new_ext(page, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => {
                sections.push(mem::take(&mut current));
                is_heading = true;
            }
            Event::End(TagEnd::Heading(_)) => is_heading = false,
            Event::Start(Tag::CodeBlock(kind)) => {
                let info = if let CodeBlockKind::Fenced(info) = kind { info.to_string() } else { String::new() };
                current.blocks.push((info, String::new()));
                is_block = true;
            }
            Event::End(TagEnd::CodeBlock) => is_block = false,
            Event::Text(part) if is_block => {
                if let Some((_, text)) = current.blocks.last_mut() {
                    *text += &part;
                }
            }
            Event::Text(part) if is_heading => current.heading += &part,
            Event::Code(part) if is_heading => {
                current.heading += &part;
                if current.heading_code.is_empty() {
                    current.heading_code = part.to_string();
                }
            }
            Event::Text(part) | Event::Code(part) => current.text.extend([&*part, " "]),
            _ => {}
        }
    }
    sections.push(current);
    sections
}

/// Returns the anchor that GitHub generates for a heading.
pub(crate) fn anchor(text: &str) -> String {
    let is_allowed = |character: &char| character.is_alphanumeric() || matches!(character, '-' | '_' | ' ');
    text.to_lowercase().chars().filter(is_allowed).collect::<String>().replace(' ', "-")
}
