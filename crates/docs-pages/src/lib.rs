//! Builds the pages at `/docs`: start, guide, reference, clients and changelog.
//!
//! A build script renders them from [`files`], so the service only sends finished pages. Pages contain no inline scripts; they load the
//! files in `crates/pages/src/docs`. `tools/openapi` uses [`Json`] to write the OpenAPI document.

mod code;
#[macro_use]
mod json;
mod markdown;
mod operation;
mod reference;
mod samples;
mod schema;
mod search;
mod sections;
mod site;
mod templates;

use std::{collections::BTreeMap, error::Error, fmt::Write as _, sync::Arc};

use minijinja::{context, value::Serde};

pub use json::Json;
use markdown::{Heading, render};
use operation::operations;
use site::{Content, PAGES, Page};

/// The contents of [`files`], by path.
pub type Texts = BTreeMap<&'static str, String>;

/// The name of the start page in [`Site`]. The paths of all other pages are below its path.
pub const START: &str = "";

const START_CLASS: &str = "start";

/// The links on the start page.
const CARDS: [(&str, &str); 6] = [
    ("guide", "How to do each task, with commands to copy and their responses."),
    ("reference", "Every operation and field, with forms to try them."),
    ("errors", "The meaning of each result code and status, and what to do."),
    ("clients", "Clients in Python and TypeScript, with examples."),
    ("changelog", "What's new for partners."),
    ("policy", "What can change, what never changes, and how long deprecated features work."),
];

/// The start of the module that exports the search index.
const MODULE: &str = "export default ";

/// A title in a page's table of contents, and the links below it: anchors, and link texts as HTML.
type Group = (&'static str, Vec<(String, String)>);

/// The heading of the partner section in each changelog version.
const FOR_PARTNERS: &str = "### For partners";

/// Returns the source files of the pages, as paths relative to the repository.
pub fn files() -> impl Iterator<Item = &'static str> {
    PAGES.iter().map(|page| page.file)
}

/// The rendered pages and the search index.
#[derive(Debug)]
pub struct Site {
    /// The pages in navigation order: names and HTML.
    pub pages: Vec<(&'static str, String)>,
    /// A JavaScript module that exports the search index, for `search.js`.
    pub index: String,
}

/// Builds the pages from the contents of [`files`].
pub fn site(texts: &Texts) -> Result<Site, Box<dyn Error>> {
    let text_of =
        |page: &Page| texts.get(page.file).map(String::as_str).ok_or_else(|| format!("missing text of {}", page.file));
    let document: Arc<Json> = Arc::new(serde_json::from_str(text_of(Page::named("reference"))?)?);
    let mut shown = Vec::new();
    for page in PAGES.iter().filter(|page| page.content == Content::Text) {
        shown.extend(samples::shown(page.name, text_of(page)?));
    }
    let operations = operations(&document, &shown);
    let mut site = Site { pages: Vec::new(), index: String::new() };
    let mut entries = Vec::new();
    for of in PAGES {
        let text = text_of(of)?;
        site.pages.push((of.name, page(of, &document, &operations, text)?));
        entries.extend(match of.content {
            Content::Reference => search::operations(of, &operations),
            Content::Changelog => search::sections(of, &for_partners(text)),
            _ => search::sections(of, titled(text).1),
        });
    }
    site.index = format!("{MODULE}{};\n", serde_json::to_string(&entries)?);
    Ok(site)
}

/// Renders a page: its content inside the layout that all pages share.
fn page(
    page: &'static Page,
    document: &Arc<Json>,
    operations: &[Json],
    source: &str,
) -> Result<String, minijinja::Error> {
    let templates = templates::environment(Arc::clone(document), page)?;
    let (title, text) = match page.content {
        Content::Reference => (page.title, ""),
        _ => titled(source),
    };
    let tags = if page.content == Content::Reference { reference::tags(document) } else { Vec::new() };
    // Only the reference lists operations.
    let operations_of_tags = if tags.is_empty() { &[][..] } else { operations };
    let (content, contents) = match page.content {
        Content::Start => {
            let about = document.get("info").map(|info| info.text("description")).unwrap_or_default();
            let (lead, others) = about.split_once("\n\n").unwrap_or((about, ""));
            let text = format!("## {title}\n\n{text}\n\n## In short\n\n{others}");
            let (content, headings) = render(&text, page);
            let card = |(name, text): (&str, &'static str)| {
                let other = Page::named(name);
                context! { href => page.link(other), title => other.title, text }
            };
            let cards: Vec<_> = CARDS.map(card).into();
            let html = templates.get_template("start.html")?.render(context! { lead, cards, content })?;
            (html, vec![contents(&headings)])
        }
        Content::Reference => {
            let html = templates.get_template("reference.html")?.render(context! {
                document => Serde(&**document), tags => Serde(&tags), operations => Serde(operations), root => page.root(),
                errors_page => page.link(Page::named("errors")),
            })?;
            let schemas = format!("Schemas ({})", document.components("schemas").len());
            (html, vec![("", vec![("schemas".to_owned(), schemas)])])
        }
        Content::Errors => {
            let errors = reference::errors(document, operations);
            let each = templates.get_template("errors.html")?.render(context! { errors => Serde(&errors) })?;
            let link = |error: &Json| {
                let [name, status] = ["name", "status"].map(|key| error.text(key));
                (name.to_owned(), format!("{status} {name}"))
            };
            let (html, mut contents) = titled_html(title, text, page);
            contents.push(("All errors", errors.iter().map(link).collect()));
            (html + &each, contents)
        }
        Content::Text => titled_html(title, text, page),
        Content::Changelog => {
            titled_html(title, &format!("API changes, newest first.\n\n{}", for_partners(source)), page)
        }
    };
    let pages = PAGES.iter().map(|other| {
        context! { href => page.link(other), title => other.title, is_here => other.name == page.name }
    });
    templates.get_template("page.html")?.render(context! {
        title, is_start => page.is_start(), class => if page.is_start() { START_CLASS } else { page.name },
        root => page.root(), files => page.files(), start => page.link(Page::named(START)),
        version => document.get("info").map(|info| info.text("version")),
        pages => pages.collect::<Vec<_>>(), tags => Serde(&tags), operations => Serde(operations_of_tags),
        contents => Serde(&contents), content,
    })
}

/// Splits a Markdown page into its title and the text below.
fn titled(source: &str) -> (&str, &str) {
    let (title, text) = source.split_once('\n').unwrap_or((source, ""));
    (title.trim_start_matches("# "), text)
}

/// Renders the content of a Markdown page, and its table of contents.
fn titled_html(title: &str, text: &str, page: &Page) -> (String, Vec<Group>) {
    let (html, headings) = render(text, page);
    (format!("<h1>{}</h1>{html}", code::escape(title)), vec![contents(&headings)])
}

/// Returns links to the second-level headings.
fn contents(headings: &[Heading]) -> Group {
    let second = headings.iter().filter(|heading| heading.level == 2);
    ("", second.map(|heading| (heading.anchor.clone(), heading.html.clone())).collect())
}

/// Returns the partner sections of the changelog, by version.
fn for_partners(changelog: &str) -> String {
    let mut text = String::new();
    for version in changelog.split("\n## ").skip(1) {
        let (title, changes) = version.split_once('\n').unwrap_or((version, ""));
        let Some((_, after)) = changes.split_once(FOR_PARTNERS) else { continue };
        let part = after.split_once("\n### ").map_or(after, |(part, _)| part);
        let _ = write!(text, "## {}\n{part}\n\n", title.replace(['[', ']'], ""));
    }
    text
}

#[cfg(test)]
mod tests;
