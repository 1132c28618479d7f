//! The violations that the reading of a body finds, merged with those of the rules.

use std::collections::HashSet;

use compliance_api::{
    error::{Error, Reason},
    rules::{self, Check, Violations, label},
};

/// The most violations that are kept of one request. All are reported at once, but a hostile body could have millions.
const MAX_VIOLATIONS: usize = 500_000;

/// What a body holds that no message can: values of the wrong type.
#[derive(Debug, Default)]
pub(super) struct BodyViolations {
    violations: Violations,
    /// Items of the list (from 1) that the rules do not apply to, because there is no value to check.
    unchecked_items: HashSet<u32>,
}

/// The object that a violation is in.
#[derive(Clone, Copy, Debug)]
pub(super) enum At {
    /// The body itself.
    Body,
    /// The element of the body's list with this index.
    Element(&'static str, usize),
}

impl At {
    /// The path of a field of the object, or of the object itself if `field` is empty.
    fn path(self, field: &str) -> String {
        match self {
            Self::Body => field.to_owned(),
            Self::Element(list, index) if field.is_empty() => format!("{list}.{index}"),
            Self::Element(list, index) => format!("{list}.{index}.{field}"),
        }
    }

    /// The number of the element, from 1; 0 for the body.
    fn item(self) -> u32 {
        match self {
            Self::Body => 0,
            Self::Element(_, index) => index as u32 + 1,
        }
    }
}

impl BodyViolations {
    /// Adds a violation of a field, of which `number` is the number in its message: what the field must do.
    pub(super) fn push(&mut self, at: At, field: &str, number: u32, must: &str) {
        if self.violations.len() < MAX_VIOLATIONS {
            let path = at.path(field);
            let message = format!("The {} field {must}.", label(&path));
            self.violations.push(path, message, at.item(), number);
        }
    }

    /// Makes a violation of a field, or of the object itself if `field` is empty, the only one of the object.
    pub(super) fn push_only(&mut self, at: At, field: &str, number: u32, must: &str) {
        self.unchecked_items.insert(at.item());
        self.push(at, field, number, must);
    }

    /// The message if there are no violations, otherwise all of them, those of the rules included.
    pub(super) fn or<M: Check>(self, message: M) -> Result<M, Error> {
        if self.violations.is_empty() {
            return Ok(message);
        }
        let Self { mut violations, unchecked_items } = self;
        let mut of_rules = rules::check(&message);
        of_rules.retain(|violation| !unchecked_items.contains(&violation.item()));
        violations.merge(of_rules);
        Err(Error::invalid(violations))
    }
}

/// The body is not JSON.
pub(super) fn not_json() -> Error {
    Error::invalid(Violations::one("body", "The body must be valid JSON."))
}

/// The body is JSON, but not an object.
pub(super) fn not_an_object() -> Error {
    Error::invalid(Violations::one("body", "The body must be a JSON object."))
}

/// The body is larger than the service accepts.
pub(super) fn too_large() -> Error {
    Error::new(Reason::BodyTooLarge, "The request body is too large.")
}
