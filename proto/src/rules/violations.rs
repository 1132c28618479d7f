//! Collects request violations, at the paths that the caller used.

use std::{collections::HashSet, ops::Deref};

/// One violation of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Path of the field: `city`, `affiliates.3.email_one`, `urls.0`, `body`.
    pub path: String,
    /// Human-readable message.
    pub message: String,
    /// Sort key: list item (from 1; 0 outside lists) and field number.
    order: (u32, u32),
}

/// Maximum number of reported violations per request. Any others are only counted.
pub const MAX_VIOLATIONS: usize = 10_000;

/// The first [`MAX_VIOLATIONS`] violations of a request, and the total count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Violations {
    reported: Vec<Violation>,
    pub(crate) total: usize,
}

impl Violations {
    /// Creates an empty list of violations.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a single violation of a field outside lists.
    pub fn one(path: impl Into<String>, message: impl Into<String>) -> Self {
        let mut violations = Self::new();
        violations.report(path, |_| message.into());
        violations
    }

    /// Creates the violation for a list at `path` with more than `most` elements.
    pub fn too_many_items(path: &str, most: usize) -> Self {
        Self::one(path, too_many_items(&label(path), most))
    }

    /// Adds a violation with its path and message. `order` is the list item (from 1; 0 outside lists) and the field number.
    pub fn push(&mut self, order: (u32, u32), violation: impl FnOnce() -> (String, String)) {
        self.total += 1;
        if self.reported.len() < MAX_VIOLATIONS {
            let (path, message) = violation();
            self.reported.push(Violation { path, message, order });
        }
    }

    /// Adds a violation of a field outside lists. `message` receives the path's label.
    pub fn report(&mut self, path: impl Into<String>, message: impl FnOnce(&str) -> String) {
        let path = path.into();
        let message = message(&label(&path));
        self.push((0, 0), || (path, message));
    }

    /// Adds the violation for a missing field outside lists.
    pub fn required(&mut self, path: impl Into<String>) {
        self.report(path, |label| format!("The {label} field is required."));
    }

    /// Returns whether a violation is reported at this path.
    pub fn names(&self, path: &str) -> bool {
        self.reported.iter().any(|violation| violation.path == path)
    }

    /// Adds the violations from a second check of the same object.
    ///
    /// Skips paths that already have a violation. The rules treat a value of the wrong type as absent, but it is not missing.
    pub fn merge(&mut self, mut other: Self) {
        let known: HashSet<&str> = self.reported.iter().map(|known| known.path.as_str()).collect();
        let before = other.reported.len();
        other
            .reported
            .retain(|violation| !known.contains(violation.path.as_str()) && !is_within(&known, &violation.path));
        other.total -= before - other.reported.len();
        self.total += other.total;
        self.reported.append(&mut other.reported);
        self.reported.sort_by_key(|violation| violation.order);
        self.reported.truncate(MAX_VIOLATIONS);
    }

    /// Removes the reported violations at this path.
    pub fn forget(&mut self, path: &str) {
        let before = self.reported.len();
        self.reported.retain(|violation| violation.path != path);
        self.total -= before - self.reported.len();
    }

    /// Adds the violations of later items.
    pub fn append(&mut self, mut other: Self) {
        self.total += other.total;
        self.reported.append(&mut other.reported);
        self.reported.truncate(MAX_VIOLATIONS);
    }

    /// Returns the total number of violations.
    pub fn total(&self) -> usize {
        self.total
    }

    /// Returns `<first message> (and N more errors)`, or an empty string for none.
    pub fn summary(&self) -> String {
        let first = self.reported.first().map_or("", |first| &first.message);
        match self.total {
            0 | 1 => first.to_owned(),
            2 => format!("{first} (and 1 more error)"),
            total => format!("{first} (and {} more errors)", total - 1),
        }
    }
}

/// The reported violations, in order.
impl Deref for Violations {
    type Target = [Violation];

    fn deref(&self) -> &[Violation] {
        &self.reported
    }
}

impl IntoIterator for Violations {
    type Item = Violation;
    type IntoIter = std::vec::IntoIter<Violation>;

    fn into_iter(self) -> Self::IntoIter {
        self.reported.into_iter()
    }
}

/// Returns a path's name in messages. Nested paths stay unchanged; top-level paths use spaces instead of underscores.
pub fn label(path: &str) -> String {
    if path.contains('.') { path.to_owned() } else { path.replace('_', " ") }
}

pub(super) fn too_many_items(label: &str, most: usize) -> String {
    format!("The {label} field must not have more than {most} items.")
}

/// Returns whether a path is inside a list element with its own violation.
fn is_within(reported: &HashSet<&str>, path: &str) -> bool {
    path.match_indices('.').map(|(end, _)| &path[..end]).any(|outer| {
        let is_element = outer.rsplit('.').next().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
        is_element && reported.contains(outer)
    })
}

#[cfg(test)]
mod tests {
    use super::{MAX_VIOLATIONS, Violations};

    #[test]
    fn reported_violations_are_capped_but_counted() {
        let mut violations = Violations::new();
        for item in 0..MAX_VIOLATIONS as u32 + 5 {
            violations.push((item + 1, 1), || (format!("a.{item}"), "Wrong.".into()));
        }
        assert_eq!((violations.len(), violations.total()), (MAX_VIOLATIONS, MAX_VIOLATIONS + 5));
        // An earlier violation displaces the last one.
        let mut first = Violations::new();
        first.push((0, 1), || ("top".into(), "First.".into()));
        violations.merge(first);
        assert_eq!((violations.len(), violations.total()), (MAX_VIOLATIONS, MAX_VIOLATIONS + 6));
        assert_eq!(violations.iter().next().unwrap().path, "top");
        assert_eq!(violations.summary(), format!("First. (and {} more errors)", MAX_VIOLATIONS + 5));
    }

    #[test]
    fn summary_counts_messages() {
        let mut violations = Violations::one("a", "First.");
        assert_eq!(violations.summary(), "First.");
        violations.push((0, 1), || ("a".into(), "Second.".into()));
        assert_eq!(violations.summary(), "First. (and 1 more error)");
        violations.push((0, 2), || ("b".into(), "Third.".into()));
        assert_eq!(violations.summary(), "First. (and 2 more errors)");
    }
}
