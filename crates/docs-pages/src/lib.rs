//! Makes the pages at `/docs`: start, guide, reference, errors, clients, changelog and compatibility. They are made when the
//! service is built, from `docs/openapi.json`, `docs/partners.md`, `docs/clients.md` and `CHANGELOG.md`, so that the service
//! itself sends only what is there. No page holds a script; what they load is in `crates/pages/src/docs`. The tool that makes the
//! OpenAPI document has its JSON from here.

mod code;
mod json;
mod layout;
mod markdown;
mod operation;
mod reference;
mod samples;
mod schema;
mod sections;
mod site;
mod templates;

use std::{error::Error, fmt::Write as _, sync::Arc};

use minijinja::{context, value::Serde};

pub use json::Json;
use layout::{Contents, Group, Link};
use markdown::render;
use operation::Operation;
use sections::{Section, sections};
use site::{Kind, Links};

/// What the pages are made from.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// `docs/openapi.json`
    pub document: &'a str,
    /// `docs/partners.md`
    pub guide: &'a str,
    /// `docs/clients.md`
    pub clients: &'a str,
    /// `CHANGELOG.md`
    pub changelog: &'a str,
}

/// The name of the first page in [`pages`]; the others are below it.
pub const START: &str = "";

const START_CLASS: &str = "start";

/// What the first page leads to.
const CARDS: [(Kind, &str); 6] = [
    (Kind::Guide, "What to send and what comes back, step by step, with commands to copy."),
    (Kind::Reference, "Every operation and field, with a form to try it."),
    (Kind::Errors, "What each result code and status means, and what to do about it."),
    (Kind::Clients, "Clients in Python, TypeScript and Rust, and a nightly job."),
    (Kind::Changelog, "What is new for partners."),
    (Kind::Policy, "What may change, what never does, and how long something deprecated works."),
];

/// The section of a version in the changelog that is for partners.
const FOR_PARTNERS: &str = "### For partners";

/// The pages, with their names.
pub fn pages(sources: &Sources) -> Result<Vec<(&'static str, String)>, Box<dyn Error>> {
    let document: Arc<Json> = Arc::new(serde_json::from_str(sources.document)?);
    let guide = sections(sources.guide);
    let shown = samples::shown(&guide);
    let operations = Operation::all(&document, &shown);
    let page = |kind: Kind| Ok((kind.name(), page(kind, &document, &operations, &guide, sources)?));
    Kind::ALL.into_iter().map(page).collect()
}

/// A page: its content, and around it what every page has.
fn page(
    kind: Kind,
    document: &Arc<Json>,
    operations: &[Operation],
    guide: &[Section],
    sources: &Sources,
) -> Result<String, minijinja::Error> {
    let links = Arc::new(Links::new(kind, sources.guide));
    let templates = templates::environment(Arc::clone(document), Arc::clone(&links))?;
    let of_kind = || guide.iter().skip(1).filter(|section| Kind::of_section(&section.title) == kind);
    let texts = || of_kind().map(|section| section.text.as_str()).collect::<String>();
    let (content, contents) = match kind {
        Kind::Start => {
            let about = document.get("info").map(|info| info.text("description")).unwrap_or_default();
            let (lead, others) = about.split_once("\n\n").unwrap_or((about, ""));
            let first_steps = guide.iter().find(|section| section.title == "First steps").map(whole);
            let text = format!("{}\n\n## In short\n\n{others}", first_steps.unwrap_or_default());
            let (content, headings) = render(&text, &links);
            let card =
                |(kind, text): (Kind, &'static str)| context! { href => links.page(kind), title => kind.title(), text };
            let cards: Vec<_> = CARDS.map(card).into();
            let html = templates.get_template("start.html")?.render(context! { lead, cards, content })?;
            (html, Contents::of(&headings))
        }
        Kind::Reference => {
            let tags = reference::tags(document, operations);
            let html = templates.get_template("reference.html")?.render(context! {
                document => Serde(&**document), tags => Serde(&tags), root => kind.root(),
                guide_page => links.page(Kind::Guide), errors_page => links.page(Kind::Errors),
            })?;
            (html, reference::contents(&tags, document.components("schemas").len()))
        }
        Kind::Errors => {
            let errors = reference::errors(document, operations);
            let each = templates.get_template("errors.html")?.render(context! { errors => Serde(&errors) })?;
            let links_of = errors.iter().map(|error| Link::to(error.name, format!("{} {}", error.status, error.name)));
            let groups = vec![Group { title: "Each error".to_owned(), links: links_of.collect() }];
            let lead =
                "What each result code and status means, what to do about it, and every error with its response.";
            let (html, _) = text(kind, " id=\"results-and-errors\"", lead, &texts(), &links);
            (html + &each, Contents { groups, has_filter: false })
        }
        Kind::Guide => {
            let lead = "Every operation with its fields, parameters, commands and responses.";
            text(kind, "", lead, &of_kind().map(whole).collect::<String>(), &links)
        }
        Kind::Policy => text(kind, " id=\"compatibility\"", "", &texts(), &links),
        Kind::Clients => {
            let sections = sections(sources.clients);
            let (first, others) = sections.split_first().map_or(("", &[][..]), |(first, rest)| (&*first.text, rest));
            text(kind, "", "", &(first.to_owned() + &others.iter().map(whole).collect::<String>()), &links)
        }
        Kind::Changelog => {
            let lead = "What changed for programs and people that use this interface, newest first.";
            text(kind, "", lead, &for_partners(sources.changelog), &links)
        }
    };
    let pages =
        Kind::ALL.map(|other| context! { href => kind.link(other), title => other.title(), is_here => other == kind });
    templates.get_template("page.html")?.render(context! {
        title => kind.title(), is_start => kind == Kind::Start, class => if kind == Kind::Start { START_CLASS } else { kind.name() },
        root => kind.root(), files => kind.files(), start => kind.link(Kind::Start),
        version => document.get("info").map(|info| info.text("version")),
        pages => Vec::from(pages), has_filter => contents.has_filter, contents => Serde(&contents.groups), content,
    })
}

/// The content of a page of Markdown.
fn text(kind: Kind, id: &str, lead: &str, text: &str, links: &Links) -> (String, Contents<'static>) {
    let (html, headings) = render(text, links);
    let lead = if lead.is_empty() { String::new() } else { format!("<p class=\"lead\">{lead}</p>") };
    (format!("<h1{id}>{}</h1>{lead}{html}", kind.title()), Contents::of(&headings))
}

/// A section with its heading.
fn whole(section: &Section) -> String {
    format!("## {}\n{}", section.title, section.text)
}

/// What the changelog says to partners, by version. Versions that say nothing to them are left out.
fn for_partners(changelog: &str) -> String {
    let mut text = String::new();
    for section in sections(changelog).iter().skip(1) {
        let Some((_, after)) = section.text.split_once(FOR_PARTNERS) else { continue };
        let part = after.split_once("\n### ").map_or(after, |(part, _)| part);
        let title = section.title.replace(['[', ']'], "");
        let _ = write!(text, "## {title}\n{part}\n\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Sources, for_partners, pages};

    const SOURCES: Sources = Sources {
        document: include_str!("../../../docs/openapi.json"),
        guide: include_str!("../../../docs/partners.md"),
        clients: include_str!("../../../docs/clients.md"),
        changelog: include_str!("../../../CHANGELOG.md"),
    };

    fn page(name: &str) -> String {
        pages(&SOURCES).unwrap().into_iter().find(|(known, _)| *known == name).unwrap().1
    }

    #[test]
    fn every_operation_and_schema_is_documented() {
        let html = page("reference");
        let document: serde_json::Value = serde_json::from_str(SOURCES.document).unwrap();
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

    /// Samples of the guide are tested; the reference shows them.
    #[test]
    fn the_reference_shows_the_samples_of_the_guide() {
        let html = page("reference");
        for anchor in ["create-one-post-apiaffiliates", "read-all-get-apiaffiliates", "list-get-apicases"] {
            assert!(html.contains(&format!("guide#{anchor}")), "{anchor}");
        }
        assert!(html.contains("?case_status_id=2&amp;created_after=2026-01-01&amp;per_page=50"));
    }

    #[test]
    fn every_section_of_the_guide_is_on_one_page() {
        let all: Vec<String> = pages(&SOURCES).unwrap().into_iter().map(|(_, html)| html).collect();
        for section in super::sections(SOURCES.guide).iter().skip(1) {
            let id = format!(" id=\"{}\"", super::sections::anchor(&section.title));
            assert!(all.iter().any(|html| html.contains(&id)), "{id}");
        }
    }

    #[test]
    fn partners_see_their_part_of_the_changelog_alone() {
        let changelog = "# Changelog\n\n## [2.0.0]\n\n### For partners\n\n- New field.\n\n### Added\n\n- A metric.\n\n\
                         ## [1.0.0]\n\n### Added\n\n- Another.\n";
        assert_eq!(for_partners(changelog).trim(), "## 2.0.0\n\n\n- New field.");
    }

    /// Whatever a document may hold is shown, and its texts are no markup.
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
        let html =
            pages(&Sources { document, ..SOURCES }).unwrap().into_iter().map(|(_, html)| html).collect::<String>();
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
