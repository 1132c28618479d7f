//! The pages, and where a link of the documents leads in them.

use crate::sections::{anchor, sections};

/// A page of the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Start,
    Guide,
    Reference,
    Errors,
    Clients,
    Changelog,
    Policy,
}

impl Kind {
    pub(crate) const ALL: [Self; 7] =
        [Self::Start, Self::Guide, Self::Reference, Self::Errors, Self::Clients, Self::Changelog, Self::Policy];

    /// Its name in the address; the start is the folder.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Start => "",
            Self::Guide => "guide",
            Self::Reference => "reference",
            Self::Errors => "errors",
            Self::Clients => "clients",
            Self::Changelog => "changelog",
            Self::Policy => "policy",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Start => "Start",
            Self::Guide => "Guide",
            Self::Reference => "Reference",
            Self::Errors => "Results and errors",
            Self::Clients => "Clients and examples",
            Self::Changelog => "Changelog",
            Self::Policy => "Compatibility and deprecation",
        }
    }

    /// The address of another page, from this one.
    pub(crate) fn link(self, other: Self) -> String {
        match (self, other) {
            (Self::Start, Self::Start) => "docs".to_owned(),
            (_, Self::Start) => "../docs".to_owned(),
            (Self::Start, other) => format!("docs/{}", other.name()),
            (_, other) => other.name().to_owned(),
        }
    }

    /// From this page to `/`.
    pub(crate) fn root(self) -> &'static str {
        if self == Self::Start { "" } else { "../" }
    }

    /// From this page to the files of the pages.
    pub(crate) fn files(self) -> &'static str {
        if self == Self::Start { "docs/" } else { "" }
    }

    /// The page with a section of the guide.
    pub(crate) fn of_section(title: &str) -> Self {
        match title {
            "Results and errors" => Self::Errors,
            "Compatibility" => Self::Policy,
            _ => Self::Guide,
        }
    }
}

/// Where the links of the documents lead, from one page.
#[derive(Debug)]
pub(crate) struct Links {
    from: Kind,
    /// The anchors of the guide, with their pages.
    anchors: Vec<(String, Kind)>,
}

impl Links {
    pub(crate) fn new(from: Kind, guide: &str) -> Self {
        let mut anchors = Vec::new();
        for section in sections(guide).into_iter().skip(1) {
            let kind = Kind::of_section(&section.title);
            anchors.push((anchor(&section.title), kind));
            let headings = section.text.lines().filter_map(|line| line.strip_prefix("### "));
            anchors.extend(headings.map(|heading| (anchor(heading), kind)));
        }
        Self { from, anchors }
    }

    #[cfg(test)]
    pub(crate) fn of_nothing() -> Self {
        Self { from: Kind::Guide, anchors: Vec::new() }
    }

    /// The address of the page that links are from, to another page.
    pub(crate) fn page(&self, kind: Kind) -> String {
        self.from.link(kind)
    }

    /// The address for a link of a document. `None` if what it names is not served.
    pub(crate) fn target(&self, link: &str) -> Option<String> {
        if link.starts_with("https://") || link.starts_with("http://") {
            return Some(link.to_owned());
        }
        let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
        let page = match file.rsplit('/').next()? {
            "" | "partners.md" => {
                let of_anchor = self.anchors.iter().find(|(known, _)| known == anchor).map(|(_, kind)| *kind);
                let own =
                    (file.is_empty() && self.from != Kind::Errors && self.from != Kind::Policy).then_some(self.from);
                of_anchor.or(own).unwrap_or(Kind::Guide)
            }
            "clients.md" => Kind::Clients,
            "CHANGELOG.md" => Kind::Changelog,
            "openapi.json" => return Some(format!("{}openapi.json", self.from.root())),
            _ => return None,
        };
        match (anchor, page == self.from) {
            ("", _) => Some(self.page(page)),
            (anchor, true) => Some(format!("#{anchor}")),
            (anchor, false) => Some(format!("{}#{anchor}", self.page(page))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Links};

    #[test]
    fn links_lead_to_the_page_that_has_the_section() {
        let guide = "# Reference\n\n## Results and errors\n\n## Headers\n\n### Own `A b`\n";
        let links = Links::new(Kind::Guide, guide);
        for (link, target) in [
            ("#headers", Some("#headers")),
            ("#own-a-b", Some("#own-a-b")),
            ("#results-and-errors", Some("errors#results-and-errors")),
            ("clients.md", Some("clients")),
            ("../CHANGELOG.md", Some("changelog")),
            ("openapi.json", Some("../openapi.json")),
            ("https://example.org/", Some("https://example.org/")),
            ("../client/python", None),
            ("javascript:alert(1)", None),
        ] {
            assert_eq!(links.target(link).as_deref(), target, "{link}");
        }
        let start = Links::new(Kind::Start, guide);
        assert_eq!(start.target("partners.md#headers").as_deref(), Some("docs/guide#headers"));
    }
}
