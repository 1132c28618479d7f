//! Makes the pages at `/docs`: start, guide, reference, clients and changelog.
//!
//! The build makes them from [`files`], so the service only sends finished pages. Pages contain no scripts; they load the files in
//! `crates/pages/src/docs`. `tools/openapi` uses [`Json`] to make the OpenAPI document.

mod code;
mod json;
mod layout;
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
use layout::{Contents, Group, Link};
use markdown::render;
use operation::Operation;
use site::{Content, PAGES, Page};

/// The texts of [`files`], by path.
pub type Texts = BTreeMap<&'static str, String>;

/// The name of the first page in [`Site`]. The other pages are below it.
pub const START: &str = "";

const START_CLASS: &str = "start";

/// The links on the first page.
const CARDS: [(&str, &str); 6] = [
    ("guide", "How to do each task, with commands to copy and their responses."),
    ("reference", "Every operation and field, with a form to try it."),
    ("errors", "The meaning of each result code and status, and what to do."),
    ("clients", "Clients in Python and TypeScript, with examples."),
    ("changelog", "What is new for partners."),
    ("policy", "What can change, what never changes, and how long deprecated features work."),
];

/// The beginning of the index module.
const MODULE: &str = "export default ";

/// The section for partners in each version of the changelog.
const FOR_PARTNERS: &str = "### For partners";

/// Returns the source files of the pages, as paths in the repository.
pub fn files() -> impl Iterator<Item = &'static str> {
    PAGES.iter().map(|page| page.file)
}

/// The pages with their names, and the search index.
#[derive(Debug)]
pub struct Site {
    /// HTML by name, in navigation order.
    pub pages: Vec<(&'static str, String)>,
    /// A module that exports the index, for `search.js`.
    pub index: String,
}

/// Makes the pages from the texts of [`files`].
pub fn site(texts: &Texts) -> Result<Site, Box<dyn Error>> {
    let text_of =
        |page: &Page| texts.get(page.file).map(String::as_str).ok_or_else(|| format!("no text of {}", page.file));
    let document: Arc<Json> = Arc::new(serde_json::from_str(text_of(Page::named("reference"))?)?);
    let mut shown = Vec::new();
    for page in PAGES.iter().filter(|page| page.content == Content::Text) {
        shown.extend(samples::shown(page.name, text_of(page)?));
    }
    let operations = Operation::all(&document, &shown);
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

/// Makes a page: its content within the frame of all pages.
fn page(
    page: &'static Page,
    document: &Arc<Json>,
    operations: &[Operation],
    source: &str,
) -> Result<String, minijinja::Error> {
    let templates = templates::environment(Arc::clone(document), page)?;
    let (title, text) = match page.content {
        Content::Reference => (page.title, ""),
        _ => titled(source),
    };
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
            (html, Contents::of(&headings))
        }
        Content::Reference => {
            let tags = reference::tags(document, operations);
            let html = templates.get_template("reference.html")?.render(context! {
                document => Serde(&**document), tags => Serde(&tags), root => page.root(),
                errors_page => page.link(Page::named("errors")),
            })?;
            (html, reference::contents(&tags, document.components("schemas").len()))
        }
        Content::Errors => {
            let errors = reference::errors(document, operations);
            let each = templates.get_template("errors.html")?.render(context! { errors => Serde(&errors) })?;
            let links_of = errors.iter().map(|error| Link::to(error.name, format!("{} {}", error.status, error.name)));
            let mut contents = Contents::of(&render(text, page).1);
            contents.groups.push(Group { title: "Each error".to_owned(), links: links_of.collect() });
            (titled_html(title, text, page).0 + &each, contents)
        }
        Content::Text => titled_html(title, text, page),
        Content::Changelog => {
            titled_html(title, &format!("Changes of this interface, newest first.\n\n{}", for_partners(source)), page)
        }
    };
    let pages = PAGES.iter().map(|other| {
        context! { href => page.link(other), title => other.title, is_here => other.name == page.name }
    });
    templates.get_template("page.html")?.render(context! {
        title, is_start => page.is_start(), class => if page.is_start() { START_CLASS } else { page.name },
        root => page.root(), files => page.files(), start => page.link(Page::named(START)),
        version => document.get("info").map(|info| info.text("version")),
        pages => pages.collect::<Vec<_>>(), has_filter => contents.has_filter, contents => Serde(&contents.groups), content,
    })
}

/// Splits a Markdown page into its title and the text below.
fn titled(source: &str) -> (&str, &str) {
    let (title, text) = source.split_once('\n').unwrap_or((source, ""));
    (title.trim_start_matches("# "), text)
}

/// Makes the content of a Markdown page.
fn titled_html(title: &str, text: &str, page: &Page) -> (String, Contents<'static>) {
    let (html, headings) = render(text, page);
    (format!("<h1>{}</h1>{html}", code::escape(title)), Contents::of(&headings))
}

/// Returns the part of the changelog that is for partners, by version.
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
mod tests {
    use std::{fs, path::Path};

    use super::{
        Texts, files, for_partners,
        sections::{anchor, sections},
        site,
        site::PAGES,
    };

    const DOCUMENT: &str = "docs/openapi.json";

    fn texts() -> Texts {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        files().map(|file| (file, fs::read_to_string(root.join(file)).unwrap())).collect()
    }

    fn page(name: &str) -> String {
        site(&texts()).unwrap().pages.into_iter().find(|(known, _)| *known == name).unwrap().1
    }

    #[test]
    fn every_operation_and_schema_is_documented() {
        let html = page("reference");
        let document: serde_json::Value = serde_json::from_str(&texts()[DOCUMENT]).unwrap();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let id = operation["operationId"].as_str().unwrap();
                assert!(html.contains(&format!(r#"<section class="operation" id="{id}""#)), "{id}");
                let form = format!(r#"data-method="{}" data-path="{path}""#, method.to_uppercase());
                assert!(html.contains(&form), "{form}");
            }
        }
        for name in document["components"]["schemas"].as_object().unwrap().keys() {
            assert!(html.contains(&format!(r#" id="schema-{name}""#)), "{name}");
        }
    }

    /// The reference shows the samples of the guide, which are tested.
    #[test]
    fn the_reference_shows_the_samples_of_the_guide() {
        let html = page("reference");
        for anchor in [
            "affiliates#create-one-post-apiaffiliates",
            "affiliates#read-all-get-apiaffiliates",
            "cases#list-get-apicases",
            "values#read-get-apivocabularies",
        ] {
            assert!(html.contains(anchor), "{anchor}");
        }
        assert!(html.contains("?case_status_id=2&amp;created_after=2026-01-01&amp;per_page=50"));
    }

    #[test]
    fn every_page_has_the_sections_of_its_file() {
        let texts = texts();
        for ((name, html), page) in site(&texts).unwrap().pages.iter().zip(PAGES) {
            assert_eq!(*name, page.name);
            if page.file.starts_with("docs/partners") || page.file.starts_with("docs/reference") {
                for section in sections(&texts[page.file]).iter().skip(2) {
                    let id = format!(" id=\"{}\"", anchor(&section.heading));
                    assert!(html.contains(&id), "{name}: {id}");
                }
            }
        }
    }

    #[test]
    fn the_index_leads_to_sections() {
        let site = site(&texts()).unwrap();
        let json = site.index.strip_prefix(super::MODULE).and_then(|json| json.strip_suffix(";\n")).unwrap();
        let entries: serde_json::Value = serde_json::from_str(json).unwrap();
        let entries = entries.as_array().unwrap();
        assert!(entries.len() > 150, "{}", entries.len());
        for entry in entries {
            let [page, anchor] = ["page", "anchor"].map(|key| entry[key].as_str().unwrap());
            let html = &site.pages.iter().find(|(name, _)| *name == page).unwrap().1;
            assert!(anchor.is_empty() || html.contains(&format!(" id=\"{anchor}\"")), "{page}#{anchor}");
        }
    }

    /// Finds a chapter without a page.
    #[test]
    fn every_chapter_is_a_page() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        for folder in ["partners", "reference"] {
            for file in fs::read_dir(docs.join(folder)).unwrap() {
                let path = format!("docs/{folder}/{}", file.unwrap().file_name().to_str().unwrap());
                assert!(files().any(|known| known == path), "{path} is missing in PAGES");
            }
        }
    }

    #[test]
    fn partners_see_only_their_part_of_the_changelog() {
        let changelog = "# Changelog\n\n## [2.0.0]\n\n### For partners\n\n- New field.\n\n### Added\n\n- A metric.\n\n\
                         ## [1.0.0]\n\n### Added\n\n- Another.\n";
        assert_eq!(for_partners(changelog).trim(), "## 2.0.0\n\n\n- New field.");
    }

    /// Shows any document, and escapes its texts.
    #[test]
    fn other_documents_are_shown_as_well() {
        let document = r##"{
            "paths": {
                "/a/{b}": {
                    "parameters": [],
                    "delete": {"summary": "<i>x</i>", "responses": {"204": {"description": "Gone."}}},
                    "patch": {
                        "operationId": "patchA",
                        "tags": ["<b>"],
                        "parameters": [{"name": "b", "in": "path", "required": true, "schema": {"type": "string"}, "example": "c d/<e>"}],
                        "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}},
                        "responses": {"default": {"$ref": "#/components/responses/None"}, "200": {"description": "", "content": {"text/plain": {}}}}
                    }
                }
            },
            "components": {"schemas": {
                "A": {"allOf": [{"$ref": "#/components/schemas/B"}, {"properties": {"own": true}}]},
                "B": {"properties": {"of_b": {"$ref": "#/components/schemas/A"}, "n": {"maximum": 1.5}}}
            }}
        }"##;
        let mut texts = texts();
        texts.insert(DOCUMENT, document.to_owned());
        let html = site(&texts).unwrap().pages.into_iter().map(|(_, html)| html).collect::<String>();
        for expected in [
            "id=\"patchA\"",
            "id=\"delete-ab\"",
            "&lt;i&gt;x&lt;/i&gt;",
            "$BASE/a/c%20d%2F%3Ce%3E",
            "<code class=\"name\">own</code>",
            "<code class=\"name\">of_b</code>",
            "at most 1.5",
        ] {
            assert!(html.contains(expected), "{expected}");
        }
        assert!(!html.contains("<i>") && !html.contains("<b>"));
    }
}
