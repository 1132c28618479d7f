//! Renders the repository's Markdown as HTML: headings with anchors, code samples and tables.

use std::fmt::Write as _;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd, html::push_html};

use crate::{code, sections::anchor, site::Page};

/// Maximum number of rows in an expanded field table.
const ROWS: usize = 12;

/// A heading that the table of contents can link to.
#[derive(Debug)]
pub(crate) struct Heading {
    pub(crate) level: usize,
    pub(crate) anchor: String,
    /// The heading text as HTML.
    pub(crate) html: String,
}

/// Renders a short text, such as a description, without `<p>` around it.
pub(crate) fn inline(text: &str, page: &Page) -> String {
    let html = render(text, page).0;
    match html.trim().strip_prefix("<p>").and_then(|html| html.strip_suffix("</p>")) {
        Some(html) if !html.contains("<p>") => html.to_owned(),
        _ => html,
    }
}

/// Renders Markdown as HTML, and returns it with its headings.
pub(crate) fn render(text: &str, page: &Page) -> (String, Vec<Heading>) {
    let source: Vec<Event> = Parser::new_ext(text, Options::ENABLE_TABLES).collect();
    let mut events: Vec<Event> = Vec::new();
    let mut headings = Vec::new();
    // Whether each open link has a target. Links to files that the service does not serve become plain text.
    let mut linked = Vec::new();
    let mut after_table = "";
    let mut rest = source.as_slice();
    while let Some((event, after)) = rest.split_first() {
        rest = after;
        match event {
            // Skip comments and raw HTML.
            Event::Html(_) | Event::InlineHtml(_) | Event::Start(Tag::HtmlBlock) | Event::End(TagEnd::HtmlBlock) => {}
            Event::Start(Tag::Image { .. }) => rest = skip(rest, TagEnd::Image).1,
            Event::Start(Tag::Paragraph) if is_pictures(rest) => rest = skip(rest, TagEnd::Paragraph).1,
            Event::Start(Tag::Heading { level, .. }) => {
                let (inner, after) = skip(rest, TagEnd::Heading(*level));
                rest = after;
                // A heading is at most one level below the previous one, even if the source skips a level.
                let above = headings.last().map_or(1, |heading: &Heading| heading.level);
                let heading = heading((*level as usize).min(above + 1), inner);
                let Heading { level, anchor, html } = &heading;
                events.push(Event::Html((code::heading(*level, anchor, html) + "\n").into()));
                headings.push(heading);
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                let (samples, after) = samples(kind, rest);
                rest = after;
                events.push(Event::Html(samples.into()));
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let target = page.target(dest_url);
                linked.push(target.is_some());
                if let Some(target) = target {
                    events.push(Event::Start(Tag::Link {
                        link_type: *link_type,
                        dest_url: target.into(),
                        title: title.clone(),
                        id: id.clone(),
                    }));
                }
            }
            Event::End(TagEnd::Link) if linked.pop() == Some(false) => {}
            Event::Start(Tag::Table(_)) => {
                let (before, after) = around_table(rest);
                after_table = after;
                events.push(Event::Html(before.into()));
                events.push(event.clone());
            }
            Event::End(TagEnd::Table) => {
                events.push(event.clone());
                events.push(Event::Html(after_table.into()));
            }
            event => events.push(event.clone()),
        }
    }
    let mut html = String::new();
    push_html(&mut html, events.into_iter());
    (html, headings)
}

/// Splits events before and after the next `end`.
fn skip<'a, 'e>(events: &'a [Event<'e>], end: TagEnd) -> (&'a [Event<'e>], &'a [Event<'e>]) {
    let length = events.iter().position(|event| *event == Event::End(end)).unwrap_or(events.len());
    (&events[..length], events.get(length + 1..).unwrap_or_default())
}

/// Returns whether a paragraph contains only images, which the rendered pages omit.
fn is_pictures(paragraph: &[Event]) -> bool {
    let mut rest = skip(paragraph, TagEnd::Paragraph).0;
    while let Some((event, after)) = rest.split_first() {
        rest = match event {
            Event::Start(Tag::Image { .. }) => skip(after, TagEnd::Image).1,
            Event::SoftBreak => after,
            _ => return false,
        };
    }
    true
}

fn heading(level: usize, inner: &[Event]) -> Heading {
    let (mut text, mut html) = (String::new(), String::new());
    for event in inner {
        match event {
            Event::Text(part) => {
                text.push_str(part);
                html.push_str(&code::escape(part));
            }
            Event::Code(part) => {
                text.push_str(part);
                let _ = write!(html, "<code>{}</code>", code::escape(part));
            }
            _ => {}
        }
    }
    Heading { level, anchor: anchor(&text), html }
}

/// Renders a code block together with the blocks in other languages that directly follow it.
///
/// The page shows one language at a time. A block with the info string `json 201` is a response with this status.
fn samples<'a, 'e>(first: &CodeBlockKind, mut rest: &'a [Event<'e>]) -> (String, &'a [Event<'e>]) {
    let mut kind = first;
    let mut blocks: Vec<(String, String)> = Vec::new();
    loop {
        let info = if let CodeBlockKind::Fenced(info) = kind { &**info } else { "" };
        let (inner, after) = skip(rest, TagEnd::CodeBlock);
        rest = after;
        let text: String = inner.iter().map(|event| if let Event::Text(text) = event { &**text } else { "" }).collect();
        blocks.push((info.to_owned(), text));
        match rest.first() {
            Some(Event::Start(Tag::CodeBlock(next @ CodeBlockKind::Fenced(info)))) if !info.starts_with("json ") => {
                kind = next;
                rest = &rest[1..];
            }
            _ => break,
        }
    }
    let blocks = blocks.iter().map(|(info, text)| (info.as_str(), text.as_str()));
    (code_samples(blocks), rest)
}

/// Renders a group of code samples, each with its language's name.
pub(crate) fn code_samples<'a>(blocks: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut html = "<div class=\"samples\">".to_owned();
    for (info, text) in blocks {
        let (language, status) = info.split_once(' ').unwrap_or((info, ""));
        let is_response = language == "json" && !status.is_empty();
        let name = if is_response { format!("Response {status}") } else { code::language(language, text).to_owned() };
        let name = code::escape(&name);
        let title = if info.is_empty() { String::new() } else { format!("<p class=\"sample-name\">{name}</p>") };
        let block = code::block(language, text);
        let _ = write!(html, "<div class=\"sample\" data-name=\"{name}\">{title}{block}</div>");
    }
    html + "</div>\n"
}

/// Returns the HTML around a table, which makes the table scrollable and collapses long field tables.
fn around_table(table: &[Event]) -> (String, &'static str) {
    let rows = skip(table, TagEnd::Table).0;
    let count = rows.iter().filter(|event| **event == Event::Start(Tag::TableRow)).count();
    let first = rows.iter().find_map(|event| if let Event::Text(text) = event { Some(text) } else { None });
    let scroll = "<div class=\"scroll\" role=\"group\" aria-label=\"Table\" tabindex=\"0\">";
    if count > ROWS && first.is_some_and(|first| &**first == "Field") {
        (format!("<details><summary>{count} fields</summary>{scroll}"), "</div></details>\n")
    } else {
        (scroll.to_owned(), "</div>\n")
    }
}

#[cfg(test)]
mod tests {
    use super::render;
    use crate::{
        sections::{anchor, sections},
        site::Page,
    };

    #[test]
    fn raw_html_and_unsafe_links_are_removed() {
        let html =
            render("a <script>x</script> <!-- b --> `<i>` [c](javascript:d) &amp; ![e](f.png)\n", Page::named("guide"))
                .0;
        assert_eq!(html, "<p>a x  <code>&lt;i&gt;</code> c &amp; </p>\n");
    }

    #[test]
    fn heading_anchors_match_github() {
        let page = "# A\n\nb\n\n## Read one: `GET /api/x/{id}`\n\n```\n## no heading\n```\n";
        let sections = sections(page);
        assert_eq!(
            sections.iter().map(|section| section.heading.as_str()).collect::<Vec<_>>(),
            ["", "A", "Read one: GET /api/x/{id}"]
        );
        assert_eq!(sections[2].heading_code, "GET /api/x/{id}");
        assert_eq!(anchor(&sections[2].heading), "read-one-get-apixid");
        let (html, headings) = render(page, Page::named("guide"));
        assert_eq!(headings[1].anchor, "read-one-get-apixid");
        assert!(html.contains("<h2 id=\"read-one-get-apixid\">"), "{html}");
    }
}
