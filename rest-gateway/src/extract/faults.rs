//! The faults that a reading gathers, put together with what the rules find.

use std::collections::HashSet;

use compliance_api::{
    error::{Error, Reason},
    rules::{self, Check, Violations, label},
};

/// Faults that are kept of one request. They are told all at once, but a hostile body could have millions.
const MOST_FAULTS: usize = 500_000;

/// What the reading of a body finds that no message can say.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    violations: Violations,
    /// Elements of the list (from 1) of which the rules have nothing to say: they are not there to be checked.
    hidden: HashSet<u32>,
}

impl Faults {
    /// Notes a fault of the field `number` of the list's `item` (from 1; 0 outside lists).
    pub(crate) fn push(&mut self, path: String, item: u32, number: u32, message: impl FnOnce(&str) -> String) {
        if self.violations.len() < MOST_FAULTS {
            let message = message(&label(&path));
            self.violations.push(path, message, item, number);
        }
    }

    /// Notes that an element of a list is no object.
    pub(crate) fn not_an_object(&mut self, list: &str, index: usize) {
        let item = index as u32 + 1;
        self.hidden.insert(item);
        self.push(format!("{list}.{index}"), item, 0, |label| format!("The {label} field must be an object."));
    }

    /// The rules have nothing to say of an element: the fault that is known is all there is.
    pub(crate) fn hide(&mut self, item: u32) {
        self.hidden.insert(item);
    }

    /// The message, unless there are faults: then all of them, those that the rules find included.
    pub(crate) fn or<M: Check>(self, message: M) -> Result<M, Error> {
        if self.violations.is_empty() { Ok(message) } else { Err(self.with_rules(&message)) }
    }

    /// All faults, those that the rules find included.
    pub(crate) fn with_rules(self, message: &impl Check) -> Error {
        let Self { mut violations, hidden } = self;
        let mut found = rules::check(message);
        found.retain(|violation| item(&violation.path).is_none_or(|item| !hidden.contains(&item)));
        violations.merge(found);
        Error::invalid(violations)
    }
}

/// The list's item (from 1) that a path such as `urls.3.url` is in.
fn item(path: &str) -> Option<u32> {
    path.split('.').nth(1)?.parse().ok().map(|index: u32| index.saturating_add(1))
}

/// Why a body could not be read at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    NotJson,
    NotAnObject,
    TooMuch,
}

impl From<Unreadable> for Error {
    fn from(why: Unreadable) -> Self {
        match why {
            Unreadable::NotJson => Self::invalid(Violations::one("body", "The body must be valid JSON.")),
            Unreadable::NotAnObject => Self::invalid(Violations::one("body", "The body must be a JSON object.")),
            Unreadable::TooMuch => too_large(),
        }
    }
}

/// The body is larger than the service takes.
pub(crate) fn too_large() -> Error {
    Error::new(Reason::BodyTooLarge, "The request body is too large.")
}
