//! The sections of a page of Markdown, and the anchors of its headings.

/// A part of a page of Markdown: a heading of the second level, with what follows.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) text: String,
}

/// The sections of a page. The first one, with the title of the page, has what comes before the others.
pub(crate) fn sections(page: &str) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut is_code = false;
    for line in page.lines() {
        is_code ^= line.starts_with("```");
        let level = if sections.is_empty() { "# " } else { "## " };
        match line.strip_prefix(level).filter(|_| !is_code) {
            Some(title) => sections.push(Section { title: title.to_owned(), text: String::new() }),
            None => {
                if let Some(section) = sections.last_mut() {
                    section.text.push_str(line);
                    section.text.push('\n');
                }
            }
        }
    }
    sections
}

/// The anchor of a heading, as the web makes it from its text.
pub(crate) fn anchor(text: &str) -> String {
    let kept = |character: &char| character.is_alphanumeric() || matches!(character, '-' | '_' | ' ');
    text.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
}
