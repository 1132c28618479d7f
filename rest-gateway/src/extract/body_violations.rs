//! The violations that the reading of a body finds, merged with those of the rules.

use compliance_api::{
    error::{Error, Reason},
    rules::{self, Check, Rule, Violations, label},
};

/// What a body holds that no message can: values of the wrong type.
#[derive(Debug, Default)]
pub(super) struct BodyViolations {
    violations: Violations,
    /// The rules are not to be run: there is no value to check, or they were run.
    is_final: bool,
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
        if self.violations.is_full() {
            return self.violations.count_one();
        }
        let path = at.path(field);
        let message = format!("The {} field {must}.", label(&path));
        self.violations.push(path, message, at.item(), number);
    }

    /// Makes a violation of a field, or of the object itself if `field` is empty, the only one of the object.
    pub(super) fn push_only(&mut self, at: At, field: &str, number: u32, must: &str) {
        self.is_final = true;
        self.push(at, field, number, must);
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.violations.is_empty()
    }

    /// Adds the violations of an element: of its types and, unless there is no value to check, of the rules.
    pub(super) fn add_element(&mut self, list: &str, index: usize, mut of_element: Self, element: &impl Check) {
        if !of_element.is_final {
            of_element.violations.merge(rules::check_element(list, index, element));
        }
        if !of_element.is_empty() {
            self.violations.append(of_element.violations);
        }
    }

    /// The rules need not be run: the elements of the list are added with what violates the rules.
    pub(super) fn set_final(&mut self) {
        self.is_final = true;
    }

    /// The message if there are no violations, otherwise all of them, those of the rules included.
    pub(super) fn or<M: Check>(self, message: M) -> Result<M, Error> {
        if self.is_empty() {
            return Ok(message);
        }
        let Self { mut violations, is_final } = self;
        if !is_final {
            violations.merge(rules::check(&message));
        }
        Err(Error::invalid(violations))
    }
}

/// The list has more elements than a list may have.
pub(super) fn too_many_items(list: &str, most: usize) -> Error {
    let mut violations = Violations::new();
    violations.add(list, Rule::MaxItems(most));
    Error::invalid(violations)
}

/// The body is not JSON.
pub(super) fn not_json() -> Error {
    Error::invalid(Violations::one("body", "The body must be valid JSON."))
}

/// The body ends too early, or is not what its encoding says.
pub(super) fn not_readable() -> Error {
    Error::invalid(Violations::one("body", "The body must be complete and match its Content-Encoding."))
}

/// The body is JSON, but not an object.
pub(super) fn not_an_object() -> Error {
    Error::invalid(Violations::one("body", "The body must be a JSON object."))
}

/// The body is larger than the service accepts.
pub(crate) fn too_large() -> Error {
    Error::new(Reason::BodyTooLarge, "The request body is too large.")
}
