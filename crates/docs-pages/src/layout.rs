//! The navigation of a page.

use serde::Serialize;

use crate::{markdown::Heading, operation::Operation};

/// The table of contents of a page.
#[derive(Debug, Default)]
pub(crate) struct Contents<'a> {
    pub(crate) groups: Vec<Group<'a>>,
    /// Whether readers can filter the links.
    pub(crate) has_filter: bool,
}

/// Links under a title.
#[derive(Debug, Serialize)]
pub(crate) struct Group<'a> {
    pub(crate) title: String,
    pub(crate) links: Vec<Link<'a>>,
}

/// A link to a part of the page, with its text or its operation.
#[derive(Debug, Serialize)]
pub(crate) struct Link<'a> {
    pub(crate) anchor: String,
    pub(crate) html: String,
    pub(crate) operation: Option<&'a Operation<'a>>,
}

impl Link<'_> {
    pub(crate) fn to(anchor: impl Into<String>, html: impl Into<String>) -> Self {
        Self { anchor: anchor.into(), html: html.into(), operation: None }
    }
}

impl Contents<'_> {
    /// Links to the headings of the second level.
    pub(crate) fn of(headings: &[Heading]) -> Self {
        let links = headings.iter().filter(|heading| heading.level == 2);
        let links = links.map(|heading| Link::to(&heading.anchor, &heading.html)).collect();
        Self { groups: vec![Group { title: String::new(), links }], has_filter: false }
    }
}
