//! Lists the pages, and resolves links between their source files.

/// The content of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// An introduction to the service, with links to other pages.
    Start,
    /// The Markdown file.
    Text,
    /// Every operation in the OpenAPI document.
    Reference,
    /// The Markdown file, and every shared error in the OpenAPI document.
    Errors,
    /// The partner sections of the Markdown file.
    Changelog,
}

/// A documentation page.
#[derive(Debug)]
pub(crate) struct Page {
    /// Last segment of the path, empty for the start page.
    pub(crate) name: &'static str,
    /// Title in the navigation.
    pub(crate) title: &'static str,
    /// Path of the source file, relative to the repository.
    pub(crate) file: &'static str,
    pub(crate) content: Content,
}

const fn page(name: &'static str, title: &'static str, file: &'static str, content: Content) -> Page {
    Page { name, title, file, content }
}

const fn text(name: &'static str, title: &'static str, file: &'static str) -> Page {
    page(name, title, file, Content::Text)
}

/// The pages, in navigation order.
pub(crate) static PAGES: &[Page] = &[
    page("", "Start", "docs/partners/quick-start.md", Content::Start),
    text("guide", "Guide", "docs/partners/README.md"),
    text("authentication", "Authentication", "docs/authentication.md"),
    text("sandbox", "Sandbox", "docs/partners/sandbox.md"),
    text("affiliates", "Affiliates", "docs/partners/affiliates.md"),
    text("batches", "Batches", "docs/partners/batches.md"),
    text("syncs", "Syncs", "docs/partners/syncs.md"),
    text("nightly-job", "Nightly job", "docs/partners/nightly-job.md"),
    text("files", "Files", "docs/partners/files.md"),
    text("urls", "URLs", "docs/partners/urls.md"),
    text("cases", "Cases", "docs/partners/cases.md"),
    text("overview", "Overview", "docs/partners/overview.md"),
    text("lists", "Whole lists", "docs/partners/lists.md"),
    text("changes", "Changes", "docs/partners/changes.md"),
    text("webhooks", "Webhooks", "docs/partners/webhooks.md"),
    text("history", "History", "docs/partners/history.md"),
    text("repeating-safely", "Repeating safely", "docs/partners/repeating-safely.md"),
    text("erasure", "Erasure", "docs/partners/erasure.md"),
    page("errors", "Errors", "docs/partners/errors.md", Content::Errors),
    text("policy", "Policy", "docs/partners/policy.md"),
    text("using-the-console", "Using the console", "docs/partners/console.md"),
    page("reference", "Reference", "docs/openapi.json", Content::Reference),
    text("fields", "Fields and parameters", "docs/reference/fields.md"),
    text("values", "Values and vocabularies", "docs/reference/values.md"),
    text("headers", "Headers", "docs/reference/headers.md"),
    text("reasons", "Error reasons", "docs/reference/reasons.md"),
    text("clients", "Clients and examples", "docs/clients.md"),
    page("changelog", "Changelog", "CHANGELOG.md", Content::Changelog),
];

impl Page {
    /// Returns the page with this name, or the start page.
    pub(crate) fn named(name: &str) -> &'static Self {
        PAGES.iter().find(|page| page.name == name).unwrap_or(&PAGES[0])
    }

    pub(crate) fn is_start(&self) -> bool {
        self.content == Content::Start
    }

    /// Returns a link to a page, relative to this page.
    pub(crate) fn link(&self, other: &Self) -> String {
        match (self.is_start(), other.is_start()) {
            (true, true) => "docs".to_owned(),
            (false, true) => "../docs".to_owned(),
            (true, false) => format!("docs/{}", other.name),
            (false, false) => other.name.to_owned(),
        }
    }

    /// Returns the relative path from this page to `/`.
    pub(crate) fn root(&self) -> &'static str {
        if self.is_start() { "" } else { "../" }
    }

    /// Returns the relative path from this page to the scripts and style sheets.
    pub(crate) fn files(&self) -> &'static str {
        if self.is_start() { "docs/" } else { "" }
    }

    /// Resolves a link in this page's source file.
    ///
    /// Returns `None` if the service does not serve the target.
    pub(crate) fn target(&self, link: &str) -> Option<String> {
        if link.starts_with("https://") || link.starts_with("http://") {
            return Some(link.to_owned());
        }
        let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
        let file = if file.is_empty() { self.file.to_owned() } else { resolve(self.file, file)? };
        if file == "docs/openapi.json" {
            return Some(format!("{}openapi.json", self.root()));
        }
        let page = PAGES.iter().find(|page| page.file == file)?;
        Some(match (anchor, page.name == self.name) {
            ("", _) => self.link(page),
            (anchor, true) => format!("#{anchor}"),
            (anchor, false) => format!("{}#{anchor}", self.link(page)),
        })
    }
}

/// Resolves a relative link in the file `from`. Returns `None` if the link points outside the repository.
fn resolve(from: &str, link: &str) -> Option<String> {
    let mut path: Vec<&str> = from.split('/').collect();
    path.pop();
    for part in link.split('/') {
        match part {
            ".." => {
                path.pop()?;
            }
            "." => {}
            part => path.push(part),
        }
    }
    Some(path.join("/"))
}

#[cfg(test)]
mod tests {
    use super::Page;

    #[test]
    fn file_links_resolve_to_pages() {
        let page = Page::named("affiliates");
        for (link, target) in [
            ("#edge-cases", Some("#edge-cases")),
            ("errors.md#ignored-names", Some("errors#ignored-names")),
            ("README.md", Some("guide")),
            ("quick-start.md", Some("../docs")),
            ("../reference/headers.md", Some("headers")),
            ("../clients.md", Some("clients")),
            ("../../CHANGELOG.md", Some("changelog")),
            ("../openapi.json", Some("../openapi.json")),
            ("https://example.org/", Some("https://example.org/")),
            ("../../client/python", None),
            ("../../../../etc", None),
            ("javascript:alert(1)", None),
        ] {
            assert_eq!(page.target(link).as_deref(), target, "{link}");
        }
        assert_eq!(Page::named("").target("errors.md#ignored-names").as_deref(), Some("docs/errors#ignored-names"));
    }
}
